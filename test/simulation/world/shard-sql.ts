/**
 * The tables of a ledger shard, by the very statements that its store makes. Another statement is an error: this file follows
 * `src/ledger/shard/store.ts`, and a change there has to be made here.
 */
import { underWay } from "./globals.ts";

export type StreamRow = { stream: string; seq: number; hash: string; state: string; last: number };
export type StagedRow = {
  first: number;
  count: number;
  body: string;
  leaves: ArrayBuffer;
  operations: string;
};

export type Tables = { streams: Map<string, StreamRow>; staged: readonly StagedRow[] };

export const NO_TABLES: Tables = { streams: new Map(), staged: [] };

type Values = readonly unknown[];
type Statement = (tables: Tables, values: Values) => { rows: readonly unknown[]; tables?: Tables };

const numberAt = (values: Values, i: number): number => Number(values[i]);
const textAt = (values: Values, i: number): string => String(values[i]);

function readStaged({ staged }: Tables, values: Values): { rows: readonly unknown[] } {
  const [from, to] = [numberAt(values, 0), numberAt(values, 1)];
  const before = staged.filter(({ first }) => first <= from).map(({ first }) => first);
  const begin = before.length > 0 ? Math.max(...before) : from;
  return { rows: staged.filter(({ first }) => first < to && first >= begin) };
}

const STATEMENTS: readonly [beginsWith: string, act: Statement][] = [
  [
    "SELECT * FROM streams WHERE stream = ?",
    ({ streams }, values) => ({ rows: [streams.get(textAt(values, 0))].filter((row) => row !== undefined) }),
  ],
  [
    "INSERT INTO streams VALUES (?, ?, ?, ?, ?)",
    ({ streams, staged }, values) => {
      const [stream, seq, hash, state, last] = values as [string, number, string, string, number];
      return {
        rows: [],
        tables: { staged, streams: new Map(streams).set(stream, { stream, seq, hash, state, last }) },
      };
    },
  ],
  [
    "INSERT INTO staged (first, count, body, leaves, operations) VALUES",
    ({ streams, staged }, values) => {
      const [first, count, body, leaves, operations] = values as [
        number,
        number,
        string,
        ArrayBuffer,
        string,
      ];
      if (staged.some((row) => row.first === first))
        throw new Error("UNIQUE constraint failed: staged.first");
      return {
        rows: [],
        tables: { streams, staged: [...staged, { first, count, body, leaves, operations }] },
      };
    },
  ],
  [
    "SELECT min(first) AS first FROM staged",
    ({ staged }) => ({
      rows: [{ first: staged.length === 0 ? null : Math.min(...staged.map(({ first }) => first)) }],
    }),
  ],
  ["SELECT first, count, body, leaves, operations FROM staged WHERE first < ?2", readStaged],
  [
    "DELETE FROM staged WHERE first + count <= ?",
    ({ streams, staged }, values) => {
      const kept = staged.filter(({ first, count }) => first + count > numberAt(values, 0));
      return { rows: [], tables: { streams, staged: kept } };
    },
  ],
  [
    "DELETE FROM streams WHERE state = 'ended' AND last < ?",
    ({ streams, staged }, values) => {
      const kept = [...streams].filter(([, row]) => row.state !== "ended" || row.last >= numberAt(values, 0));
      return { rows: [], tables: { staged, streams: new Map(kept) } };
    },
  ],
];

export type Cursor = { toArray: () => unknown[]; one: () => unknown };

/** Runs a statement on tables that may not be there yet; gives the rows and the tables afterwards. */
export function runStatement(
  tables: Tables | null,
  sql: string,
  values: Values,
): { cursor: Cursor; tables: Tables | null } {
  if (sql.startsWith("SELECT count(*) AS n FROM sqlite_master")) {
    return { cursor: cursorOf([{ n: tables === null ? 0 : 1 }]), tables };
  }
  if (sql.startsWith("PRAGMA table_info(staged)"))
    return { cursor: cursorOf([{ name: "operations" }]), tables };
  if (sql.startsWith("CREATE TABLE IF NOT EXISTS streams")) {
    return { cursor: cursorOf([]), tables: tables ?? NO_TABLES };
  }
  if (tables === null) throw new Error("no such table");
  const found = STATEMENTS.find(([begin]) => sql.startsWith(begin));
  if (found === undefined) {
    const error = new Error(`a statement that the simulated shard does not know: ${sql}`);
    underWay().escaped(error);
    throw error;
  }
  const made = found[1](tables, values);
  return { cursor: cursorOf(made.rows), tables: made.tables ?? tables };
}

function cursorOf(rows: readonly unknown[]): Cursor {
  return { toArray: () => [...rows], one: () => rows[0] };
}
