/** D1 in a simulated world: real SQLite with the product's own migrations, behind a line that loses calls and answers. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Checkpoint, Datum, Pruned } from "../check/history.ts";
import type { Injector } from "./faults.ts";
import type { Random } from "./random.ts";
import { OUTSIDE, type Scheduler } from "./scheduler.ts";

/** A call that its caller has given up may still be made after so long. */
const LATER_MS_MAX = 60_000;

/** A lease that ends later than this was taken by a clock that was ahead, and is nobody's. */
const LEASE_AHEAD_MS = 8 * 60_000;

/** So long what a scan has found may be on its way. */
const STALE_MS_MAX = 15_000;

/** Whether it is the query that looks for open effects. */
function isScan([first]: readonly Statement[]): boolean {
  return first?.sql.startsWith("SELECT effect_id, stream, effects.operation") === true;
}

const MIGRATIONS = join(import.meta.dirname, "../../../src/ledger/migrations");

/** One for all runs of a process: emptied between them, which is cheaper than a new one. */
export class Sqlite {
  readonly #database = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, StatementSync>();
  readonly #tables: readonly string[];
  #isUsed = false;

  constructor() {
    const names = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
    for (const name of names.toSorted()) this.#database.exec(readFileSync(join(MIGRATIONS, name), "utf8"));
    const tables = this.all(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_version'",
      [],
    );
    this.#tables = tables.map(({ name }) => String(name));
  }

  empty(): void {
    if (!this.#isUsed) return;
    this.#isUsed = false;
    for (const name of this.#tables) this.all(`DELETE FROM ${name}`, []);
  }

  all(sql: string, values: readonly unknown[]): Record<string, unknown>[] {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement.all(...(values as SQLInputValue[])) as Record<string, unknown>[];
  }

  batch(statements: readonly { sql: string; values: readonly unknown[] }[]): Record<string, unknown>[][] {
    this.#isUsed = true;
    this.all("BEGIN", []);
    try {
      const results = statements.map(({ sql, values }) => this.all(sql, values));
      this.all("COMMIT", []);
      return results;
    } catch (error) {
      this.all("ROLLBACK", []);
      throw error;
    }
  }
}

type Parts = {
  scheduler: Scheduler;
  random: Random;
  injector: Injector;
  isDown: () => boolean;
  note: (row: Datum) => void;
};

class Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly #line: SimDatabase;

  constructor(line: SimDatabase, sql: string, values: readonly unknown[]) {
    this.#line = line;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: readonly unknown[]): Statement {
    return new Statement(this.#line, this.sql, values);
  }

  async all(): Promise<{ results: Record<string, unknown>[] }> {
    const [results = []] = await this.#line.run([this]);
    return { results };
  }

  async first(column: string): Promise<unknown> {
    const [results = []] = await this.#line.run([this]);
    const row = results[0];
    return row === undefined ? null : row[column];
  }
}

export class SimDatabase {
  readonly #sqlite: Sqlite;
  readonly #parts: Parts;

  constructor(sqlite: Sqlite, parts: Parts) {
    this.#sqlite = sqlite;
    this.#parts = parts;
  }

  prepare(sql: string): Statement {
    return new Statement(this, sql, []);
  }

  withSession(): this {
    return this;
  }

  async batch(statements: readonly Statement[]): Promise<{ results: Record<string, unknown>[] }[]> {
    return (await this.run(statements)).map((results) => ({ results }));
  }

  /** Everything in one transaction. A call can be lost on its way there and on its way back. */
  run(statements: readonly Statement[]): Promise<Record<string, unknown>[][]> {
    const { scheduler, random, injector, isDown } = this.#parts;
    const caller = scheduler.current;
    return new Promise((resolve, reject) => {
      caller.emit(() => {
        const delay = injector.strikes("database is slow") ? random.below(40_000) : random.below(60);
        scheduler.after(delay, OUTSIDE, "database", () => {
          const fail = (): unknown =>
            scheduler.after(random.below(60), caller, "database failed", () => reject(new Error("D1_ERROR")));
          if (isDown() || injector.strikes("database fails before")) return fail();
          if (injector.strikes("database does it later")) {
            scheduler.after(random.below(LATER_MS_MAX), OUTSIDE, "database late", () =>
              this.#runLate(statements),
            );
            return fail();
          }
          try {
            const results = this.#runNoted(statements);
            if (injector.strikes("database fails after")) return fail();
            // What was read may not be true any more when it comes.
            const isStale = isScan(statements) && injector.strikes("database reads what was");
            const wait = random.below(isStale ? STALE_MS_MAX : 60);
            return scheduler.after(wait, caller, "database answered", () => resolve(results));
          } catch (error) {
            return scheduler.after(0, caller, "database refused", () => reject(error));
          }
        });
      });
    });
  }

  /** Of a call that its caller has given up nobody hears any more. */
  #runLate(statements: readonly Statement[]): void {
    try {
      this.#runNoted(statements);
    } catch {
      // Refused, as it would have been in time.
    }
  }

  /** Notes what a holder of a lease, or one who was it, has changed of everything that a lease protects. */
  #runNoted(statements: readonly Statement[]): Record<string, unknown>[][] {
    const first = statements[0];
    if (first?.sql.startsWith("DELETE FROM bundles") === true) {
      const [shard, until] = first.values;
      this.#parts.note({ do: "pruned", shard: String(shard), until: Number(until) });
    }
    if (first === undefined || !/ (leases|runs|findings)\b/.test(first.sql))
      return this.#sqlite.batch(statements);
    const before = this.#readLease();
    const results = this.#sqlite.batch(statements);
    const after = this.#readLease();
    const token = String(first.values[1]);
    const leftMs = before.until - Number(first.values[4]);
    const isTaking = first.sql.startsWith("INSERT INTO leases");
    this.#parts.note({
      do: "lease",
      isTaking,
      isHeld: before.token === token,
      // One that ends so late was taken by a clock that was ahead.
      isEarly: isTaking && leftMs > 0 && leftMs <= LEASE_AHEAD_MS,
      isChanged: before.text !== after.text,
    });
    return results;
  }

  #readLease(): { token: string; until: number; text: string } {
    const rows = ["leases", "runs", "findings"].map((table) =>
      this.#sqlite.all(`SELECT * FROM ${table}`, []),
    );
    const { token = "", until = 0 } = rows[0]?.[0] ?? {};
    return { token: String(token), until: Number(until), text: JSON.stringify(rows) };
  }

  /** What is in it, for the observer of the ledger. */
  readLines(shard: string): { first: number; texts: string[] } {
    const rows = this.#sqlite.all("SELECT first, body FROM bundles WHERE shard = ? ORDER BY first", [shard]);
    const texts = rows.flatMap(({ body }) => String(body).split("\n").slice(0, -1));
    const pruned = this.readPrunes().filter((prune) => prune.shard === shard);
    return { first: Number(rows[0]?.first ?? Math.max(0, ...pruned.map(({ until }) => until))), texts };
  }

  /** Index behind the last line of a shard. */
  readEnd(shard: string): number {
    const [row] = this.#sqlite.all(
      `SELECT max(coalesce((SELECT max(first + count) FROM bundles WHERE shard = ?1), 0),
         coalesce((SELECT max(until) FROM prunes WHERE shard = ?1), 0)) AS last`,
      [shard],
    );
    return Number(row?.last);
  }

  readPrunes(): Pruned[] {
    const rows = this.#sqlite.all("SELECT shard, until, entry, at FROM prunes ORDER BY until", []);
    return rows.map(({ shard, until, entry, at }) => ({
      shard: String(shard),
      until: Number(until),
      entry: Number(entry),
      at: Number(at),
    }));
  }

  readCheckpoints(shard: string): Checkpoint[] {
    const rows = this.#sqlite.all("SELECT size, root, at FROM checkpoints WHERE shard = ? ORDER BY size", [
      shard,
    ]);
    return rows.map(({ size, root, at }) => ({
      shard,
      size: Number(size),
      root: String(root),
      at: Number(at),
    }));
  }

  readEffects(): Record<string, unknown>[] {
    return this.#sqlite.all("SELECT effect_id, stream, state, flagged, version, reported FROM effects", []);
  }
}
