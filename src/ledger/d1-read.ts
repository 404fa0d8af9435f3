/** What is read of D1, from its primary: a copy that lags would look like a ledger that has lost its tail. */
import { LOOKED_AT_MAX } from "./bounds.ts";
import type { EffectRow } from "./d1.ts";

export type StoredBundle = { first: number; count: number; body: string };

/** The bundles that have entries from `from` on, at most `limit` of them. */
export async function readBundles(
  database: D1Database,
  shard: string,
  from: number,
  limit: number,
): Promise<StoredBundle[]> {
  const { results } = await primary(database)
    .prepare(
      `SELECT first, count, body FROM bundles WHERE shard = ?1 AND first + count > ?2
       AND first >= coalesce((SELECT max(first) FROM bundles WHERE shard = ?1 AND first <= ?2), 0) ORDER BY first LIMIT ?3`,
    )
    .bind(shard, from, limit)
    .all<StoredBundle>();
  return results;
}

/** Size of the newest checkpoint, 0 where there is none. */
export async function readSize(database: D1Database, shard: string): Promise<number> {
  const size = await primary(database)
    .prepare("SELECT max(size) AS size FROM checkpoints WHERE shard = ?")
    .bind(shard)
    .first<number>("size");
  return size ?? 0;
}

/** Roots of the full bundles whose first entry is in a range, in order. */
export async function readRoots(
  database: D1Database,
  shard: string,
  from: number,
  to: number,
): Promise<{ first: number; root: string }[]> {
  const { results } = await primary(database)
    .prepare("SELECT first, root FROM hashes WHERE shard = ? AND first >= ? AND first < ? ORDER BY first")
    .bind(shard, from, to)
    .all<{ first: number; root: string }>();
  return results;
}

/** Leaf hashes of a full bundle in hex, one behind the other; null: it is not there. */
export async function readLeaves(database: D1Database, shard: string, first: number): Promise<string | null> {
  return primary(database)
    .prepare("SELECT leaves FROM hashes WHERE shard = ? AND first = ?")
    .bind(shard, first)
    .first<string>("leaves");
}

/** A row of the effects table, less the name of its key object. */
export type StoredEffect = Omit<EffectRow, "must" | "operation"> & { shard: string };

/** Where a page of effects begins: behind this row. */
export type EffectPlace = Pick<StoredEffect, "changed_at" | "effect_id" | "stream" | "reported">;

/** Open ones have an index of their own, so that few of them are found among millions; the others come in the order of the table. */
export type EffectOrder = "by change" | "by id";

/** Null: whatever it is. */
export type EffectFilter = { state: string | null; capability: string | null };

const EFFECT_COLUMNS = `effect_id, stream, reported, shard, attempt, capability, state, target, cost, digest, code, intent_at,
  changed_at, flagged, version`;

/** `next`: the row that the next page begins behind, which need not be on this one; null: this is the last page. */
export type Rows<Row> = { rows: Row[]; next: Row | null };

type Looked<Row> = Row & { nth: number; is_match: 0 | 1 };

/** Of the rows of a range, in its order, those that match, and the last one that was looked at. Stops at the limit. */
function lookThrough(columns: string, range: string, order: string, match: string, limit: string): string {
  return `SELECT *, (${match}) AS is_match FROM (SELECT *, row_number() OVER () AS nth
      FROM (SELECT ${columns} FROM effects WHERE ${range} ORDER BY ${order} LIMIT ${LOOKED_AT_MAX}))
    WHERE is_match OR nth = ${LOOKED_AT_MAX} LIMIT ${limit} + 1`;
}

function pageOf<Row>(looked: readonly Looked<Row>[], limit: number): Rows<Row> {
  const matching = looked.filter((row) => row.is_match === 1);
  const rows = matching.slice(0, limit);
  const last = matching.length > limit ? rows.at(-1) : looked.find((row) => row.nth === LOOKED_AT_MAX);
  return { rows: rows.map(withoutMarks), next: last === undefined ? null : withoutMarks(last) };
}

function withoutMarks<Row>({ nth: _nth, is_match: _match, ...row }: Looked<Row>): Row {
  return row as unknown as Row;
}

const EFFECT_MATCH = "(?1 IS NULL OR state = ?1) AND (?2 IS NULL OR capability = ?2)";

const READ_EFFECTS: Record<EffectOrder, string> = {
  "by change": lookThrough(
    EFFECT_COLUMNS,
    "state IN ('intent', 'unknown') AND (changed_at, effect_id, stream, reported) > (?3, ?4, ?5, ?6)",
    "changed_at, effect_id, stream, reported",
    EFFECT_MATCH,
    "?7",
  ),
  "by id": lookThrough(
    EFFECT_COLUMNS,
    "?3 IS NOT NULL AND (effect_id, stream, reported) > (?4, ?5, ?6)",
    "effect_id, stream, reported",
    EFFECT_MATCH,
    "?7",
  ),
};

/** Effects behind a place, at most `limit` of them, among as many as one page looks at. */
export async function readEffects(
  database: D1Database,
  order: EffectOrder,
  { state, capability }: EffectFilter,
  after: EffectPlace,
  limit: number,
): Promise<Rows<StoredEffect>> {
  const { changed_at, effect_id, stream, reported } = after;
  const { results } = await primary(database)
    .prepare(READ_EFFECTS[order])
    .bind(state, capability, changed_at, effect_id, stream, reported, limit)
    .all<Looked<StoredEffect>>();
  return pageOf(results, limit);
}

/** A dispatch of the gateway's own whose outcome is open. */
export type OpenDispatch = Pick<StoredEffect, "changed_at" | "effect_id" | "stream" | "attempt" | "code"> & {
  operation: string | null;
};

const READ_OPEN = lookThrough(
  "changed_at, effect_id, stream, operation, attempt, code, state",
  "state IN ('intent', 'unknown') AND reported = 0 AND (changed_at, effect_id, stream) > (?2, ?3, ?4)",
  "changed_at, effect_id, stream",
  "state = ?1",
  "?5",
);

/** Those in one state behind a place, oldest change first, at most `limit` of them, among as many as one page looks at. */
export async function readOpenDispatches(
  database: D1Database,
  state: "intent" | "unknown",
  after: { changedAt: number; effectId: string; stream: string },
  limit: number,
): Promise<Rows<OpenDispatch>> {
  const { results } = await primary(database)
    .prepare(READ_OPEN)
    .bind(state, after.changedAt, after.effectId, after.stream, limit)
    .all<Looked<OpenDispatch>>();
  return pageOf(results, limit);
}

function primary(database: D1Database): D1DatabaseSession {
  return database.withSession("first-primary");
}
