/** A ledger that begins again for every test, and senders that believe in different numbers of shards. */
import { evictDurableObject, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { type Entry, STREAM_START } from "../../../src/core/entry.ts";
import type { Acknowledged, LedgerPort } from "../../../src/core/ports.ts";
import type { Stream } from "../../../src/core/record.ts";
import { listShards } from "../../../src/ledger/epochs.ts";
import { openLedger } from "../../../src/ledger/port.ts";
import { report } from "../../../src/report.ts";
import { advanceClock, MINUTE } from "./clock.ts";
import { type Line, ledgerObject, readLines, runRound } from "./ledger.ts";

const TABLES = ["bundles", "hashes", "checkpoints", "effects", "prunes"];

/** Forgets the whole ledger: what its objects store and hold in memory, and its rows. The clock has to run. */
export async function beginAgain(): Promise<void> {
  for (const id of await listDurableObjectIds(env.LEDGERS)) {
    const stub = env.LEDGERS.get(id);
    await runInDurableObject(stub, async (_object, { storage }) => {
      await storage.deleteAlarm();
      await storage.deleteAll();
    });
    await evictDurableObject(stub);
  }
  for (const table of TABLES) await env.DB.prepare(`DELETE FROM ${table}`).run();
}

/** Ends every ledger object in memory. */
export async function evictAll(): Promise<void> {
  const now = Date.now();
  vi.useRealTimers();
  for (const id of await listDurableObjectIds(env.LEDGERS)) await evictDurableObject(env.LEDGERS.get(id));
  vi.useFakeTimers({ toFake: ["Date"], now });
}

/** The ledger as an isolate sees it whose settings say so many shards. */
export function isolateWith(shards: number): LedgerPort {
  const keyring = { stream: (name: string, inc: string) => sha256Hex(encodeUtf8(`${name} ${inc}`)) };
  return openLedger({ objects: env.LEDGERS, shards, keyring, report });
}

let keysMade = 0;

/** A key object's outbox. */
export class Sender {
  readonly name: string;
  readonly stream: Promise<string>;
  #outbox: Stream = { inc: "life", acked: 0, head: STREAM_START, entries: [] };

  constructor() {
    keysMade += 1;
    this.name = `key ${keysMade}`;
    this.stream = sha256Hex(encodeUtf8(`${this.name} life`));
  }

  grant(): this {
    return this.#add({ type: "granted", fp: "f".repeat(64), ...this.#attempt() });
  }

  settle(): this {
    return this.#add({
      type: "settled",
      status: 201,
      answerDigest: null,
      actor: "executor",
      code: null,
      ...this.#attempt(),
    });
  }

  #attempt(): { at: number; effect: string; attempt: number } {
    return { at: Date.now(), effect: `effect of ${this.name}`.replaceAll(" ", "-"), attempt: 1 };
  }

  #add(entry: Entry): this {
    this.#outbox = { ...this.#outbox, entries: [...this.#outbox.entries, entry] };
    return this;
  }

  /** Sends all that is not acknowledged. */
  async send(ledger: LedgerPort): Promise<Acknowledged["kind"]> {
    const answer = await this.sendUnheard(ledger);
    if (answer.kind === "held") {
      const { inc, acked, entries } = this.#outbox;
      this.#outbox = {
        inc,
        acked: answer.seq,
        head: answer.head,
        entries: entries.slice(answer.seq - acked),
      };
    }
    return answer.kind;
  }

  /** Sends it, and never hears what became of it. */
  sendUnheard(ledger: LedgerPort): Promise<Acknowledged> {
    return ledger.append(this.name, this.#outbox);
  }

  /** Entries that it has told so far. */
  get size(): number {
    return this.#outbox.acked + this.#outbox.entries.length;
  }

  /** True when all of them have been acknowledged. */
  get isHeard(): boolean {
    return this.#outbox.entries.length === 0;
  }

  /** The same key with another history of it. */
  fork(): Sender {
    const other = new Sender();
    Object.assign(other, { name: this.name, stream: this.stream });
    return other;
  }
}

/** The epochs, as the first shard has them. */
export async function readEpochs(): Promise<readonly number[]> {
  return ledgerObject("1:0").epochs();
}

/** Runs the alarms of every shard until all is opened, closed and published. */
export async function runAll(): Promise<void> {
  for (let rounds = 0; rounds < 4; rounds++) {
    for (const shard of listShards(await readEpochs())) await runRound(ledgerObject(shard));
    advanceClock(2 * MINUTE);
  }
}

/** All lines, the oldest epoch first. */
export async function readEveryLine(): Promise<Line[]> {
  const shards = listShards(await readEpochs());
  return (await Promise.all(shards.map(readLines))).flat();
}

/** Where a stream's entries are: shard and type, in the order of their numbers. Fails where one is missing, twice or not behind the one before it. */
export async function historyOf(sender: Sender): Promise<string[]> {
  const stream = await sender.stream;
  const lines = (await readEveryLine()).filter((line) => line.stream === stream);
  let prev = STREAM_START;
  for (const [i, line] of lines.entries()) {
    expect(line).toMatchObject({ seq: i + 1, prev });
    const { shard: _shard, index: _index, ...text } = line;
    prev = await sha256Hex(encodeUtf8(JSON.stringify(text)));
  }
  return lines.map(({ shard, type }) => `${shard.split(":")[0]} ${type}`);
}

/** Every shard of every epoch but the newest ends with an entry that says so, and every later one begins with one. */
export async function expectEpochsWhole(): Promise<void> {
  const epochs = await readEpochs();
  for (const shard of listShards(epochs)) {
    const lines = await readLines(shard);
    const epoch = Number(shard.split(":")[0]);
    expect(lines.map(({ index }) => index)).toEqual(lines.map((_, i) => i));
    const types = lines.map(({ type }) => type);
    const opened = types.filter((type) => type === "opened").length;
    const closed = types.filter((type) => type === "closed").length;
    expect([shard, opened, closed]).toEqual([shard, epoch > 1 ? 1 : 0, epoch < epochs.length ? 1 : 0]);
    if (epoch > 1) expect(types[0]).toBe("opened");
    if (epoch < epochs.length) expect(types.at(-1)).toBe("closed");
  }
}
