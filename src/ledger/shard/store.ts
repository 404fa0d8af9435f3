/**
 * What a shard has stored: its log's head, what each stream is at, the lines that not every sink has, and how far each sink is. The only home
 * of the ledger objects' storage keys and tables. Every change is one transaction.
 */
import { EMPTY_FRONTIER, type Frontier, type Hash } from "../../core/log/tree.ts";
import type { Epochs, ShardPlace } from "../epochs.ts";

/** What the log knows of a stream. `last` is the index of its newest entry. A frozen stream takes nothing more. */
export type StreamRow = {
  stream: string;
  seq: number;
  hash: string;
  state: "live" | "ended" | "frozen";
  last: number;
};

/** `operation`: name of the key object that the line is about; null: none is known. */
export type PlacedLine = { line: string; leaf: Hash; operation: string | null };

/** A signed checkpoint. `root` in hex. */
export type Checkpoint = { size: number; root: string; note: string; at: number };

/** A delivery of lines to a receiver: `to` is fixed before the first try, so that a repeated one has the same bytes. */
export type Push = {
  cursor: number;
  to: number;
  sequence: number;
  previous: string;
  tries: number;
  notBefore: number;
};

/** `until`: entries before it go. `entry`: index of the entry that says so. */
export type Prune = { done: number; pending: { until: number; entry: number } | null; checkAt: number };

/** `operations` has a member for every line. */
export type StagedLines = {
  first: number;
  lines: readonly string[];
  leaves: readonly Hash[];
  operations: readonly (string | null)[];
};

/** How a log ended. `index` of the entry that says so, `root` over everything up to it, in hex. */
export type Closed = { index: number; root: string };

/** `opened`: so many shards of the newest epoch have been opened. */
export type KeptEpochs = { shards: Epochs; opened: number };

/** What is stored along with a batch. */
export type BatchMark =
  | { kind: "none" }
  | { kind: "opens"; place: ShardPlace; before: ShardPlace }
  | { kind: "closes"; closed: Closed };

/** One commit of the log. */
export type Batch = {
  from: Frontier;
  to: Frontier;
  placed: readonly PlacedLine[];
  streams: readonly StreamRow[];
  mark: BatchMark;
};

const LOG = "log";
const HASH_BYTES = 32;

/** Version of the stored head of a log. */
export const LOG_VERSION = 1;

type StoredLog = { v: typeof LOG_VERSION; size: number; hashes: readonly Hash[] };

export class ShardStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  #isReady = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  /** Throws where the log was written by a newer version: then nothing may be added to it. */
  readLog(): Frontier {
    const stored = this.#storage.kv.get<StoredLog>(LOG);
    if (stored === undefined) return EMPTY_FRONTIER;
    if (stored.v !== LOG_VERSION) throw new Error("the log is of another version");
    return { size: stored.size, hashes: stored.hashes };
  }

  readStream(stream: string): StreamRow | null {
    if (!this.#hasTables()) return null;
    return this.#sql.exec<StreamRow>("SELECT * FROM streams WHERE stream = ?", stream).toArray()[0] ?? null;
  }

  /**
   * Puts a batch behind the log: lines, head, streams and mark in one transaction. Stopping before it leaves nothing of the batch,
   * stopping behind it leaves all; a sender that hears nothing sends again, and is told from `streams` what is held.
   */
  commit({ from, to, placed, streams, mark }: Batch): void {
    this.#storage.transactionSync(() => {
      if (this.readLog().size !== from.size) throw new Error("the log has moved");
      this.#makeTables();
      for (const row of streams) this.#writeStream(row);
      this.#writeMark(mark);
      if (placed.length === 0) return;
      const body = placed.map(({ line }) => `${line}\n`).join("");
      const leaves = new Uint8Array(placed.length * HASH_BYTES);
      placed.forEach(({ leaf }, i) => void leaves.set(leaf, i * HASH_BYTES));
      this.#sql.exec(
        "INSERT INTO staged (first, count, body, leaves, operations) VALUES (?, ?, ?, ?, ?)",
        from.size,
        placed.length,
        body,
        leaves.buffer,
        placed.map(({ operation }) => operation ?? "").join("\n"),
      );
      this.#storage.kv.put<StoredLog>(LOG, { v: LOG_VERSION, size: to.size, hashes: to.hashes });
    });
  }

  #writeMark(mark: BatchMark): void {
    if (mark.kind === "closes") this.write("closed", mark.closed);
    if (mark.kind !== "opens") return;
    this.write("before", mark.before);
    this.write("place", mark.place);
  }

  #writeStream({ stream, seq, hash, state, last }: StreamRow): void {
    this.#sql.exec(
      "INSERT INTO streams VALUES (?, ?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, state = excluded.state, last = excluded.last",
      stream,
      seq,
      hash,
      state,
      last,
    );
  }

  /** Index of the oldest line that is still here; null: none is. */
  firstStaged(): number | null {
    if (!this.#hasTables()) return null;
    return this.#sql.exec<{ first: number | null }>("SELECT min(first) AS first FROM staged").one().first;
  }

  /** The lines from `from` up to `to`, as far as they are still here. */
  readStaged(from: number, to: number): StagedLines {
    const rows = this.#sql
      .exec<{ first: number; count: number; body: string; leaves: ArrayBuffer; operations: string | null }>(
        "SELECT first, count, body, leaves, operations FROM staged WHERE first < ?2 AND first >= coalesce((SELECT max(first) FROM staged WHERE first <= ?1), ?1) ORDER BY first",
        from,
        to,
      )
      .toArray();
    const begin = rows[0]?.first ?? from;
    const lines = rows.flatMap(({ body }) => body.split("\n").slice(0, -1));
    const leaves = rows.flatMap((row) => splitHashes(new Uint8Array(row.leaves)));
    const operations = rows.flatMap((row) => splitOperations(row.operations, row.count));
    const first = Math.max(begin, from);
    return {
      first,
      lines: lines.slice(first - begin, to - begin),
      leaves: leaves.slice(first - begin, to - begin),
      operations: operations.slice(first - begin, to - begin),
    };
  }

  /** Lets go of rows of lines that all come before `index`. */
  dropStaged(index: number): void {
    if (this.#hasTables()) this.#sql.exec("DELETE FROM staged WHERE first + count <= ?", index);
  }

  /** Forgets ended streams whose last entry comes before `index`: their key objects have been told long ago. */
  dropEnded(index: number): void {
    if (this.#hasTables()) this.#sql.exec("DELETE FROM streams WHERE state = 'ended' AND last < ?", index);
  }

  read<Name extends keyof Values>(name: Name): Values[Name] | null {
    return this.#storage.kv.get<Values[Name]>(name) ?? null;
  }

  write<Name extends keyof Values>(name: Name, value: Values[Name]): void {
    this.#storage.kv.put<Values[Name]>(name, value);
  }

  readAlarm(): Promise<number | null> {
    return this.#storage.getAlarm();
  }

  setAlarm(at: number): Promise<void> {
    return this.#storage.setAlarm(at);
  }

  #hasTables(): boolean {
    this.#isReady ||= this.#findTables() && this.#addColumns();
    return this.#isReady;
  }

  /** Rows that an earlier version has staged say no operations, and one that comes back names the columns it writes. */
  #addColumns(): true {
    const columns = this.#sql.exec<{ name: string }>("PRAGMA table_info(staged)").toArray();
    if (!columns.some(({ name }) => name === "operations"))
      this.#sql.exec("ALTER TABLE staged ADD COLUMN operations TEXT");
    return true;
  }

  #findTables(): boolean {
    const found = this.#sql.exec<{ n: number }>(
      "SELECT count(*) AS n FROM sqlite_master WHERE name = 'staged'",
    );
    return found.one().n > 0;
  }

  #makeTables(): void {
    if (this.#hasTables()) return;
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS streams (stream TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL,
        state TEXT NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS staged (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, body TEXT NOT NULL, leaves BLOB NOT NULL,
        operations TEXT);`);
  }
}

/** Single values, by name. */
type Values = {
  /** Which shard this is. There as soon as it takes entries. */
  place: ShardPlace;
  /** The shard whose streams go on in this one; none in the first epoch. */
  before: ShardPlace;
  /** There once no key's entry is taken any more. */
  closed: Closed;
  /** In the first shard only. */
  epochs: KeptEpochs;
  /** The private key the ledger made for itself, in PKCS #8; in one shard only. */
  signing: Uint8Array;
  /** The newest signed checkpoint. */
  signed: Checkpoint;
  /** The newest checkpoint that every entry before it is published under. */
  published: Checkpoint;
  /** Entries that D1 has. */
  d1: number;
  /** Entries that were printed. */
  stdout: number;
  webhook: Push;
  prune: Prune;
};

function splitOperations(text: string | null, count: number): (string | null)[] {
  const names = text?.split("\n") ?? [];
  return Array.from({ length: count }, (_, i) => names[i] || null);
}

function splitHashes(bytes: Uint8Array): Hash[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, i) =>
    bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
}
