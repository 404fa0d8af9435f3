/** Logs of a ledger whose number of shards has grown, written without the product's code. */
import { emptyLog, type Log, type LogKey, makeKey, rootOf, sha256, tell, Writer } from "./ledger-log.ts";

/** One epoch of two shards and one of four. `key` has signed all. */
export type Grown = { key: LogKey; old: [Writer, Writer]; young: [Writer, Writer, Writer, Writer] };

const ownStream = (shard: string): string => sha256(`oncegate shard ${shard}`).toString("hex");

/** A stream of a shard: its first eight digits are a number that leads there, in every epoch of at most 1,024 shards. */
export function streamAt(number: number, mark: number): string {
  const digits = (mark * 1_024 + number).toString(16).padStart(8, "0");
  return `${digits}${sha256(`stream ${number} ${mark}`).toString("hex").slice(8)}`;
}

export function close(writer: Writer, target = "1/2-2/4"): number {
  const { shard } = writer.log;
  return writer.add(ownStream(shard), {
    type: "closed",
    capability: "ledger.epoch",
    target,
    actor: "ledger",
  });
}

/** `before`: the shard's, as it is now. */
export function open(writer: Writer, before: Log, digest = rootOf(before.leaves).toString("hex")): number {
  const told = { type: "opened", capability: "ledger.epoch", target: before.shard, digest, actor: "ledger" };
  return writer.add(ownStream(writer.log.shard), told);
}

/** Has a stream go on in another log, along with the rows of its effects. */
export function goOn(from: Writer, to: Writer, stream: string, type: string): number {
  for (const [id, effect] of from.log.effects) {
    if (effect.stream !== stream) continue;
    from.log.effects.delete(id);
    to.log.effects.set(id, effect);
  }
  return to.add(stream, tell(type, stream, 1));
}

/**
 * Two shards with `count` streams each that are open when they are closed, and four in which all of them go on. With `isCut`, what should close
 * the first shard isn't there.
 */
export function growLogs(count: number, { isCut = false, target = "1/2-2/4" } = {}): Grown {
  const key = makeKey();
  const streams: Writer["streams"] = new Map();
  const writerOf = (shard: string): Writer => new Writer(emptyLog(shard, key), streams);
  const old: Grown["old"] = [writerOf("1:0"), writerOf("1:1")];
  const young: Grown["young"] = [writerOf("2:0"), writerOf("2:1"), writerOf("2:2"), writerOf("2:3")];
  const streamsOf = (number: number): string[] =>
    Array.from({ length: count }, (_, mark) => streamAt(number, mark));
  for (let number = 0; number < 4; number++) {
    const writer = old[number % 2] ?? old[0];
    for (const stream of streamsOf(number)) writer.add(stream, tell("granted", stream, 1));
  }
  for (const writer of old) {
    writer.checkpoint();
    if (isCut && writer === old[0]) continue;
    close(writer, target);
    writer.checkpoint();
  }
  for (const [number, writer] of young.entries()) {
    const before = old[number % 2] ?? old[0];
    open(writer, before.log);
    for (const stream of streamsOf(number)) goOn(before, writer, stream, "settled");
    writer.checkpoint();
  }
  return { key, old, young };
}

export function logsOf({ old, young }: Grown): Log[] {
  return [...old, ...young].map(({ log }) => log);
}
