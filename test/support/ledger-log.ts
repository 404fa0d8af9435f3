/** Ledgers as they should be, written without the product's code: for tests of whoever reads one. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export const BUNDLE_LINES = 256;
const STREAM_START = "0".repeat(64);
const MIGRATIONS = join(import.meta.dirname, "../../src/ledger/migrations");
/** Where the log's clock starts. */
const START_MS = 1_790_000_000_000;

export type LogKey = { name: string; private: KeyObject; vkey: string };
export type LogCheckpoint = { size: number; root: Buffer; note: string; at: number };
export type LogEffect = {
  effectId: string;
  stream: string;
  attempt: number;
  capability: string;
  state: string;
  version: number;
  at: number;
};

export type Log = {
  shard: string;
  key: LogKey;
  lines: string[];
  leaves: Buffer[];
  checkpoints: LogCheckpoint[];
  effects: Map<string, LogEffect>;
  /** Entries before this are to be left out of the bundles. */
  prunedUntil: number;
  prunes: { until: number; entry: number }[];
};

export function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** The root over leaves, by the definition of RFC 6962 section 2.1. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha256("");
  if (leaves.length === 1) return only;
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return sha256(Uint8Array.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

/** The audit path of a leaf, by the definition of section 2.1.1. */
export function pathOf(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...pathOf(index, left), rootOf(right)]
    : [...pathOf(index - split, right), rootOf(left)];
}

/** The consistency proof of section 2.1.2. */
export function consistencyOf(from: number, leaves: readonly Buffer[], isWhole = true): Buffer[] {
  if (from === leaves.length) return isWhole ? [] : [rootOf(leaves)];
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return from <= split
    ? [...consistencyOf(from, left, isWhole), rootOf(right)]
    : [...consistencyOf(from - split, right, false), rootOf(left)];
}

export function makeKey(name = "oncegate"): LogKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const point = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const typed = Buffer.concat([Uint8Array.of(1), point]);
  const id = sha256(`${name}\n`, typed).subarray(0, 4);
  return { name, private: privateKey, vkey: `${name}+${id.toString("hex")}+${typed.toString("base64")}` };
}

/** A signed note over a text. */
export function signNote(text: string, key: LogKey): string {
  const id = Buffer.from(key.vkey.split("+")[1] ?? "", "hex");
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), key.private)]);
  return `${text}\n\u2014 ${key.name} ${signature.toString("base64")}\n`;
}

export function signCheckpoint(
  log: Pick<Log, "shard" | "key">,
  size: number,
  root: Buffer,
  key = log.key,
): string {
  return signNote(`${log.key.name}/${log.shard}\n${size}\n${root.toString("base64")}\n`, key);
}

export function emptyLog(shard = "1:0", key = makeKey()): Log {
  return {
    shard,
    key,
    lines: [],
    leaves: [],
    checkpoints: [],
    effects: new Map(),
    prunedUntil: 0,
    prunes: [],
  };
}

/** Members of an entry behind `prev`, in their order. */
export type Told = Record<string, unknown> & { type: string };

const NEW_STREAM = { seq: 0, head: STREAM_START, isInDoubt: false };

export class Writer {
  readonly log: Log;
  readonly streams: Map<string, { seq: number; head: string; isInDoubt: boolean }>;

  /** `streams`: where they are already, in logs that are to go on here. */
  constructor(log: Log, streams: Writer["streams"] = new Map()) {
    this.log = log;
    this.streams = streams;
  }

  /** Adds one entry and returns its index. */
  add(stream: string, { type, ...told }: Told, at = START_MS + this.log.lines.length): number {
    const { lines, shard } = this.log;
    const { seq, head, isInDoubt } = this.streams.get(stream) ?? NEW_STREAM;
    this.#noteEffect(stream, seq + 1, at, type, told);
    const isEnd = type === "settled" || type === "released";
    const isResolved = isEnd && isInDoubt && told.actor === "executor" && !("code" in told);
    const isSure = isEnd || type === "granted";
    const resolved = isResolved ? { code: "resolved" } : {};
    const members = { at, type, stream, seq: seq + 1, prev: head, ...told, ...resolved };
    const text = JSON.stringify({ v: 1, ...members });
    this.streams.set(stream, {
      seq: seq + 1,
      head: sha256(text).toString("hex"),
      isInDoubt: type === "unknown" || (isInDoubt && !isSure),
    });
    return this.#put(JSON.stringify({ v: 1, shard, index: lines.length, ...members }));
  }

  #noteEffect(
    stream: string,
    version: number,
    at: number,
    type: string,
    told: Record<string, unknown>,
  ): void {
    const { effect_id, attempt, phase, capability } = told;
    if (typeof effect_id !== "string" || ["purged", "observed"].includes(type)) return;
    const id = `${stream} ${effect_id}`;
    const known = this.log.effects.get(id)?.state ?? "intent";
    const state = typeof phase === "string" ? phase : (STATE_BY_TYPE[type] ?? known);
    const row = {
      effectId: effect_id,
      stream,
      attempt: Number(attempt),
      capability: String(capability),
      state,
      version,
      at,
    };
    this.log.effects.set(id, row);
  }

  #put(line: string): number {
    this.log.leaves.push(sha256(Uint8Array.of(0), line));
    return this.log.lines.push(line) - 1;
  }

  checkpoint(): LogCheckpoint {
    const size = this.log.lines.length;
    const root = rootOf(this.log.leaves);
    const checkpoint = { size, root, note: signCheckpoint(this.log, size, root), at: START_MS + size };
    this.log.checkpoints.push(checkpoint);
    return checkpoint;
  }
}

const FP = sha256("a request").toString("hex");
const DIGEST = sha256("an answer").toString("hex");

/**
 * Says that entries before `until` are pruned, has a checkpoint cover that, and leaves them out of what `storeLogs` writes.
 * `until`: a multiple of 256.
 */
export function pruneLog(writer: Writer, until: number): number {
  const { log } = writer;
  const entry = writer.add(sha256(`oncegate shard ${log.shard}`).toString("hex"), {
    type: "prune",
    capability: "ledger.prune",
    target: String(until),
    digest: rootOf(log.leaves.slice(0, until)).toString("hex"),
    actor: "ledger",
  });
  log.prunes.push({ until, entry });
  log.prunedUntil = until;
  return entry;
}

/** What an entry without a phase says of its effect. */
const STATE_BY_TYPE: Readonly<Record<string, string>> = {
  unknown: "unknown",
  fenced: "fenced",
  late: "committed",
};

/** What a key can go through, as `[type, attempt]`. */
const LIVES: [type: string, attempt: number][][] = [
  [
    ["granted", 1],
    ["settled", 1],
    ["purged", 1],
  ],
  [
    ["granted", 1],
    ["unknown", 1],
    ["settled", 1],
  ],
  [
    ["granted", 1],
    ["released", 1],
    ["granted", 2],
    ["late", 1],
    ["settled", 2],
    ["contradiction", 2],
  ],
  [
    ["granted", 1],
    ["unknown", 1],
    ["proposed", 1],
    ["resolved", 1],
    ["purged", 1],
  ],
];

/** What an entry of one type says of an attempt of a stream. */
export function tell(type: string, stream: string, attempt: number): Told {
  const effect = `${stream.slice(0, 20)}-${attempt}`;
  const head = { effect_id: effect, attempt, capability: "origin.request" };
  switch (type) {
    case "granted":
      return { type, ...head, phase: "intent", fp: FP };
    case "settled":
      return { type, ...head, phase: "committed", status: 2, answer_digest: DIGEST, actor: "executor" };
    case "released":
      return { type, ...head, phase: "failed", evidence: "status-list", actor: "executor" };
    case "resolved":
      return { type: "released", ...head, phase: "failed", evidence: "operator", actor: "operator:op2" };
    case "unknown":
      return { type, ...head, code: "timeout" };
    case "proposed":
      return { type, ...head, actor: "operator:op1" };
    case "late":
    case "contradiction":
      return { type, ...head, answer_digest: DIGEST };
    default:
      return { type, ...head };
  }
}

/** The name of a test's stream. */
export function streamName(number: number): string {
  return sha256(`stream ${number}`).toString("hex");
}

/**
 * A sound log of `count` entries: streams of every kind of life, four open at a time and interleaved, with a checkpoint after every
 * `every` entries and one at the end. Another `firstStream` makes another history.
 */
export function makeLog(count: number, every: number, log = emptyLog(), firstStream = 0): Log {
  const writer = new Writer(log);
  const open: { stream: string; left: [string, number][] }[] = [];
  for (let i = 0, number = firstStream; i < count; i += 1) {
    if (open.length < 4) {
      const stream = streamName(number);
      open.push({ stream, left: [...(LIVES[number % LIVES.length] ?? [])] });
      number += 1;
    }
    const life = open[i % open.length];
    const step = life?.left.shift();
    if (life === undefined || step === undefined) throw new Error("no life is open");
    writer.add(life.stream, tell(step[0], life.stream, step[1]));
    if (life.left.length === 0) open.splice(open.indexOf(life), 1);
    if ((i + 1) % every === 0 && i + 1 < count) writer.checkpoint();
  }
  writer.checkpoint();
  return log;
}

/** The entries of a bundle as its row has them. */
export function bundleBody(log: Log, first: number): string {
  return log.lines
    .slice(first, first + BUNDLE_LINES)
    .map((line) => `${line}\n`)
    .join("");
}

/** Writes logs into a SQLite file (or memory) as D1 keeps them. The caller closes it. */
export function storeLogs(logs: readonly Log[], file = ":memory:"): DatabaseSync {
  const database = new DatabaseSync(file);
  for (const name of readdirSync(MIGRATIONS).sort())
    database.exec(readFileSync(join(MIGRATIONS, name), "utf8"));
  for (const log of logs) storeLog(database, log);
  return database;
}

function storeLog(database: DatabaseSync, log: Log): void {
  const bundles = database.prepare(
    "INSERT INTO bundles (shard, first, count, body, digest) VALUES (?, ?, ?, ?, ?)",
  );
  const hashes = database.prepare("INSERT INTO hashes (shard, first, leaves, root) VALUES (?, ?, ?, ?)");
  database.exec("BEGIN");
  for (let first = 0; first < log.lines.length; first += BUNDLE_LINES) {
    const leaves = log.leaves.slice(first, first + BUNDLE_LINES);
    const body = bundleBody(log, first);
    if (first + BUNDLE_LINES > log.prunedUntil) {
      bundles.run(log.shard, first, leaves.length, body, sha256(body).toString("hex"));
    }
    if (leaves.length < BUNDLE_LINES) continue;
    hashes.run(log.shard, first, Buffer.concat(leaves).toString("hex"), rootOf(leaves).toString("hex"));
  }
  const checkpoints = database.prepare(
    "INSERT INTO checkpoints (shard, size, root, note, at) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { size, root, note, at } of log.checkpoints) {
    checkpoints.run(log.shard, size, root.toString("hex"), note, at);
  }
  const effects =
    database.prepare(`INSERT INTO effects (effect_id, stream, shard, attempt, capability, state, changed_at, version)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { effectId, stream, attempt, capability, state, at, version } of log.effects.values()) {
    effects.run(effectId, stream, log.shard, attempt, capability, state, at, version);
  }
  const prunes = database.prepare(
    "INSERT INTO prunes (shard, until, entry, bundles, at) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { until, entry } of log.prunes)
    prunes.run(log.shard, until, entry, until / BUNDLE_LINES, START_MS);
  database.exec("COMMIT");
}

/** The file of the database with the ledger's tables, below a gateway's store. */
export function findDatabaseFile(persist: string): string {
  const names = readdirSync(join(persist, "d1"), { recursive: true, encoding: "utf8" });
  const file = names.find((name) => /[0-9a-f]{64}\.sqlite$/.test(name));
  if (file === undefined) throw new Error("the gateway has no database");
  return join(persist, "d1", file);
}
