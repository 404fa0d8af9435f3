/**
 * Deliveries to a shard that no key object would make now: an old one again, one that leaves something out, and one that tells another history.
 * The last is told only of streams that have come to their end, of keys that are gone: the shard takes nothing more of such a stream.
 */
import { hash } from "node:crypto";
import type { Host } from "./host.ts";
import type { Random } from "./random.ts";
import type { StagedRow, StreamRow } from "./shard-sql.ts";

export type ForgeryParts = {
  random: Random;
  keys: ReadonlyMap<string, Host>;
  mark: (name: string) => void;
};

/** More entries than a key has, so that none that comes meanwhile can close it. */
const GAP = 1_000;

type Told = { text: string; operation: string };

export function forgeDelivery(shard: Host, { random, keys, mark }: ForgeryParts): void {
  const { kv, tables } = shard.durable;
  const place = kv.get("place");
  if (place === undefined || tables === null) return;
  const told = [...tables.streams.values()].map((stream) => ({
    stream,
    last: lastOf(stream, tables.staged),
  }));
  const over = told.filter(
    ({ stream, last }) =>
      stream.state === "ended" && keys.get(last?.operation ?? "")?.durable.kv.has("record") === false,
  );
  const isFork = over.length > 0 && random.chance(0.5);
  const { stream, last } = (isFork ? over : told)[random.below(isFork ? over.length : told.length)] ?? {};
  if (stream === undefined) return;
  const how = isFork ? "fork" : last && random.chance(0.5) ? "again" : "gap";
  mark(`forged delivery: ${how}`);
  const seq = stream.seq + { again: 0, gap: GAP, fork: 1 }[how];
  const changes = how === "again" ? {} : { prev: "f".repeat(64) };
  const delivery = deliveryOf(stream, seq, last?.text ?? "{}", changes);
  shard.call("append", [place, delivery], () => undefined);
}

/** The newest line of a stream, as its key object wrote it. */
function lastOf({ stream }: StreamRow, staged: readonly StagedRow[]): Told | null {
  const lines = staged.flatMap(({ body, operations }) => {
    const names = operations.split("\n");
    return body
      .split("\n")
      .slice(0, -1)
      .map((line, i) => ({ line, operation: names[i] ?? "" }));
  });
  const found = lines.findLast(({ line }) => line.includes(`"stream":"${stream}"`));
  if (found === undefined) return null;
  return {
    text: found.line.replace(/"shard":"[^"]*","index":\d+,/, ""),
    operation: found.operation,
  };
}

function deliveryOf({ stream }: StreamRow, seq: number, text: string, changes: { prev?: string }): unknown {
  const entry = { v: 1, ...JSON.parse(text), stream, seq, ...changes };
  const told = JSON.stringify(entry);
  const line = { text: told, hash: hash("sha256", told, "hex") };
  return { stream, operation: null, first: seq, prev: entry.prev ?? "", lines: [line], ends: false };
}
