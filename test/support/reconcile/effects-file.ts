/** A SQLite file with the product's migrations and open effects in it, and a database over it that has the shape of D1. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

const MIGRATIONS = join(import.meta.dirname, "../../../src/ledger/migrations");

/** `count` open dispatches, three to a moment of change, all of them long ago. */
const FILL = `INSERT INTO effects (effect_id, stream, reported, operation, shard, attempt, capability, state, changed_at, version)
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
  SELECT printf('e%07d', i), printf('%064d', i), 0, 'op' || i, '1:0', 1, 'origin.request',
    CASE i % 2 WHEN 0 THEN 'intent' ELSE 'unknown' END, 1000 + i / 3, 1 FROM n`;

export function fillFile(file: string, count: number): void {
  const sqlite = openSqlite(file);
  const names = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
  for (const name of names.toSorted()) sqlite.exec(readFileSync(join(MIGRATIONS, name), "utf8"));
  sqlite.prepare(FILL).run(count);
  sqlite.close();
}

export function openSqlite(file: string): DatabaseSync {
  const sqlite = new DatabaseSync(file);
  sqlite.exec("PRAGMA journal_mode = WAL");
  return sqlite;
}

/** Calls by what they are: single reads, transactions of several statements, and those of one (a lease is renewed by one). */
export type Counts = { queries: number; batches: number; renewals: number };

type Row = Record<string, unknown>;
type Statement = { sql: string; values: readonly SQLInputValue[] };

/** `beforeCommit` is called in every transaction of several statements, when all of them are made. */
export function openDatabase(
  file: string,
  beforeCommit: () => void,
): { database: D1Database; counts: Counts } {
  const sqlite = openSqlite(file);
  const counts = { queries: 0, batches: 0, renewals: 0 };
  const prepared = new Map<string, StatementSync>();
  const run = ({ sql, values }: Statement): { results: Row[] } => {
    const statement = prepared.get(sql) ?? sqlite.prepare(sql);
    prepared.set(sql, statement);
    return { results: statement.all(...values) };
  };
  const prepare = (sql: string) => ({
    bind: (...values: SQLInputValue[]) => ({
      sql,
      values,
      async all() {
        counts.queries += 1;
        return run({ sql, values });
      },
    }),
  });
  const batch = async (statements: readonly Statement[]): Promise<{ results: Row[] }[]> => {
    const isRenewal = statements.length === 1;
    counts[isRenewal ? "renewals" : "batches"] += 1;
    sqlite.exec("BEGIN IMMEDIATE");
    try {
      const results = statements.map(run);
      if (!isRenewal) beforeCommit();
      sqlite.exec("COMMIT");
      return results;
    } catch (error) {
      sqlite.exec("ROLLBACK");
      throw error;
    }
  };
  const shape = { prepare, batch, withSession: () => shape };
  // Of D1 there is what a reconciliation calls.
  return { database: shape as unknown as D1Database, counts };
}
