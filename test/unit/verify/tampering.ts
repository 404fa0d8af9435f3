/** What somebody who can write the database can do to a ledger in it. */
import type { DatabaseSync } from "node:sqlite";
import {
  BUNDLE_LINES,
  emptyLog,
  type Log,
  type LogKey,
  makeLog,
  pruneLog,
  rootOf,
  sha256,
  storeLogs,
  Writer,
} from "../../support/ledger-log.ts";

/** Entries 0 to 599, a checkpoint after every 100; two full bundles and one of 88 entries. */
export const ENTRIES = 600;
export const EVERY = 100;

type Row = Record<string, string | number>;

export class Ledger {
  readonly log: Log;
  readonly database: DatabaseSync;

  constructor(log: Log = makeLog(ENTRIES, EVERY)) {
    this.log = log;
    this.database = storeLogs([log]);
  }

  /** The same log with its first 256 entries pruned as they should be; 602 entries. */
  static pruned(): Ledger {
    const log = makeLog(ENTRIES, EVERY);
    const writer = new Writer(log);
    pruneLog(writer, BUNDLE_LINES);
    writer.checkpoint();
    return new Ledger(log);
  }

  /** Runs a statement that has to change something. */
  run(sql: string, ...values: (string | number)[]): void {
    const { changes } = this.database.prepare(sql).run(...values);
    if (Number(changes) === 0) throw new Error(`nothing was changed by ${sql}`);
  }

  get(sql: string, ...values: (string | number)[]): Row {
    const row = this.database.prepare(sql).get(...values);
    if (row === undefined) throw new Error(`no row for ${sql}`);
    return row as Row;
  }

  linesFrom(first: number): string[] {
    return String(this.get("SELECT body FROM bundles WHERE first = ?", first).body).split("\n").slice(0, -1);
  }

  /** Replaces the entries of a bundle and leaves all that is said of them elsewhere. */
  writeLines(first: number, lines: readonly string[]): void {
    this.run("UPDATE bundles SET body = ? WHERE first = ?", lines.map((line) => `${line}\n`).join(""), first);
  }

  /** Changes the entries of one bundle and nothing else. */
  editLines(first: number, edit: (lines: string[]) => string[]): void {
    this.writeLines(first, edit(this.linesFrom(first)));
  }

  /** Changes one entry and nothing else. */
  editEntry(index: number, edit: (line: string) => string): void {
    const first = index - (index % BUNDLE_LINES);
    this.editLines(first, (lines) => lines.with(index - first, edit(lines[index - first] ?? "")));
  }

  /** Makes count, digest and hashes of every bundle fit its entries again. */
  recompute(): void {
    for (const { first } of this.database.prepare("SELECT first FROM bundles").all() as Row[]) {
      const lines = this.linesFrom(Number(first));
      const leaves = lines.map((line) => sha256(Uint8Array.of(0), line));
      const digest = sha256(lines.map((line) => `${line}\n`).join("")).toString("hex");
      this.run(
        "UPDATE bundles SET count = ?, digest = ? WHERE first = ?",
        lines.length,
        digest,
        Number(first),
      );
      const hashes = Buffer.concat(leaves).toString("hex");
      const root = rootOf(leaves).toString("hex");
      this.database
        .prepare("UPDATE hashes SET leaves = ?, root = ? WHERE first = ?")
        .run(hashes, root, Number(first));
    }
  }

  /** Takes away the newest rows, with everything that is said of them. `size`: where a checkpoint stands. */
  cutTo(size: number): void {
    const first = size - (size % BUNDLE_LINES);
    this.database.prepare("DELETE FROM bundles WHERE first >= ?").run(size);
    this.database.prepare(`DELETE FROM hashes WHERE first + ${BUNDLE_LINES} > ?`).run(size);
    if (first < size) this.editLines(first, (lines) => lines.slice(0, size - first));
    this.recompute();
    this.run("DELETE FROM checkpoints WHERE size > ?", size);
    this.replaceTable("effects", makeLog(size, EVERY, emptyLog(this.log.shard, this.log.key)));
  }

  /** Another history in the place of this one, as consistent in itself, signed by whoever has the key. */
  rebuild(key: LogKey, firstStream: number): void {
    const other = makeLog(ENTRIES, EVERY, emptyLog(this.log.shard, key), firstStream);
    for (const table of ["bundles", "hashes", "checkpoints", "effects"]) this.replaceTable(table, other);
  }

  /** Fills a table with what it would hold of another log. */
  replaceTable(table: string, log: Log): void {
    this.database.exec(`DELETE FROM ${table}`);
    const other = storeLogs([log]);
    for (const row of other.prepare(`SELECT * FROM ${table}`).all() as Row[]) {
      const names = Object.keys(row);
      const marks = names.map(() => "?").join(", ");
      this.run(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`, ...Object.values(row));
    }
    other.close();
  }
}
