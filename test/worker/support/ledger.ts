/** Looks into ledger objects and the database, and stands in for what they are given. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { STREAM_START } from "../../../src/core/entry.ts";
import type { Env } from "../../../src/env.ts";
import { LedgerObjectShell } from "../../../src/ledger/shard/ledger-object.ts";
import type { LedgerParts } from "../../../src/ledger/shard/parts.ts";
import type { Delivery } from "../../../src/ledger/shard/sequencer.ts";
import { wire } from "../../../src/wiring.ts";
import type { LedgerObject } from "../../../src/worker.ts";
import { until } from "./clock.ts";
import { keyObject, keyring, readRecord } from "./object.ts";

export const SHARDS = ["1:0", "1:1", "1:2", "1:3"];

export type LedgerStub = DurableObjectStub<LedgerObject>;

export function ledgerObject(shard: string): LedgerStub {
  return env.LEDGERS.getByName(shard);
}

/** Runs the alarm of every shard now, due or not. */
export async function runRounds(): Promise<void> {
  for (const shard of SHARDS) await runRound(ledgerObject(shard));
}

export function runRound(stub: LedgerStub): Promise<void> {
  return runInDurableObject(stub, (object: LedgerObject) => object.alarm());
}

/** All that these operations have told is with the shards, and from there in the database. A grant is told along with its outcome. */
export async function publish(...operations: readonly string[]): Promise<void> {
  for (const operation of operations) await untilDelivered(operation);
  await runRounds();
}

/** Asks the object: what the ledger has acknowledged is not stored for its own sake. */
export function untilDelivered(operation: string): Promise<void> {
  return until(async () => {
    const inspection = await keyObject(operation).inspect(null);
    if (inspection.kind !== "found") return inspection.kind === "none";
    const { state, ledger } = inspection.status;
    return state === "in-flight" || ledger === null || ledger.delivered === ledger.seq;
  });
}

/** The lines of an operation's present life, once they are published. */
export async function readPublished(operation: string): Promise<Line[]> {
  await publish(operation);
  const { inc } = await readRecord(keyObject(operation));
  const stream = await keyring.stream(operation.split(".")[0] ?? "", inc);
  return (await readAllLines()).filter((line) => line.stream === stream);
}

export type Line = Record<string, unknown> & {
  shard: string;
  index: number;
  stream: string;
  seq: number;
  type: string;
};

/** The stored lines of a shard, as texts. */
export async function readTexts(shard: string): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT body FROM bundles WHERE shard = ? ORDER BY first")
    .bind(shard)
    .all<{ body: string }>();
  return results.flatMap(({ body }) => body.split("\n").slice(0, -1));
}

export async function readLines(shard: string): Promise<Line[]> {
  return (await readTexts(shard)).map((text) => JSON.parse(text));
}

/** The lines of all shards, streams in order within each. */
export async function readAllLines(): Promise<Line[]> {
  return (await Promise.all(SHARDS.map(readLines))).flat();
}

/** Types of the entries of each stream, in the order of their numbers; fails where a stream's numbers have a gap or a repeat. */
export function typesByStream(lines: readonly Line[]): Map<string, string[]> {
  const streams = new Map<string, string[]>();
  for (const { stream, seq, type } of lines) {
    const types = streams.get(stream) ?? [];
    if (seq !== types.length + 1) throw new Error(`number ${seq} behind ${types.length}`);
    streams.set(stream, [...types, type]);
  }
  return streams;
}

let streamsMade = 0;

/** The first `count` entries of a new stream. `mark` makes two of them differ. */
export async function makeDelivery(count: number, mark = "", stream = newStream()): Promise<Delivery> {
  const lines: { text: string; hash: string }[] = [];
  let prev = STREAM_START;
  for (let seq = 1; seq <= count; seq++) {
    const effect_id = `ef${seq}${mark}`;
    const members = {
      v: 1,
      at: seq,
      type: "granted",
      stream,
      seq,
      prev,
      effect_id,
      capability: "origin.request",
    };
    const text = JSON.stringify({ ...members, phase: "intent" });
    prev = await sha256Hex(encodeUtf8(text));
    lines.push({ text, hash: prev });
  }
  return { stream, operation: null, first: 1, prev: STREAM_START, lines, ends: false };
}

function newStream(): string {
  streamsMade += 1;
  return String(streamsMade).padStart(64, "0");
}

/** The same entries from number `seq` on. */
export function from(seq: number, delivery: Delivery): Delivery {
  const prev = delivery.lines[seq - 2]?.hash ?? STREAM_START;
  return { ...delivery, first: seq, prev, lines: delivery.lines.slice(seq - 1) };
}

export function upTo(seq: number, delivery: Delivery): Delivery {
  return { ...delivery, lines: delivery.lines.slice(0, seq) };
}

/** Runs `act` with a ledger object of the product's own kind in place of the real one, with some of its parts changed. */
export async function withLedgerParts<Result>(
  stub: LedgerStub,
  changes: Partial<LedgerParts>,
  act: (object: LedgerObjectShell<Env>, storage: DurableObjectStorage) => Promise<Result>,
): Promise<Result> {
  const wiring = await wire(env);
  if (wiring.kind === "misconfigured") throw new Error("misconfigured");
  const parts = { ...wiring.ledgerParts, ...changes };
  class ChangedObject extends LedgerObjectShell<Env> {
    protected override async parts(): Promise<LedgerParts> {
      return parts;
    }
  }
  return runInDurableObject(stub, (_object, state) => act(new ChangedObject(state, env), state.storage));
}

/** A database whose batches go wrong as `fault` says: it is given the real call and may make it. */
export function faultyDatabase(fault: (call: () => Promise<unknown>) => Promise<unknown>): D1Database {
  const batch = (statements: D1PreparedStatement[]) => fault(() => env.DB.batch(statements));
  return new Proxy(env.DB, {
    get(target, name) {
      if (name === "batch") return batch;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
