/** The effects table: what lines of a log say of an effect, how that gets into its one row, and how pages of rows are read. */
import { DISPATCH_CAPABILITY } from "../core/entry.ts";
import { LOOKED_AT_MAX } from "./bounds.ts";
import { primary } from "./d1-read.ts";

/** What entries say of one effect; `version` is the sequence of the newest of them. Null: they don't say it. */
export type EffectRow = {
  effect_id: string;
  stream: string;
  reported: 0 | 1;
  /** Name of the key object. */
  operation: string | null;
  attempt: number | null;
  capability: string | null;
  state: string | null;
  target: string | null;
  cost: string | null;
  digest: string | null;
  code: string | null;
  intent_at: number | null;
  changed_at: number;
  flagged: 0 | 1;
  version: number;
  must: 0 | 1;
};

/** Types of entries that contradict what is known. */
const FLAGS: readonly string[] = ["late", "contradiction", "effect-contradiction"];

/** Types of entries that tell nothing of their effect: no row is touched for them. */
const SILENT: readonly string[] = ["purged", "observed"];

/** The members of a line. */
type Line = Readonly<Record<string, unknown>>;

/**
 * `all`: false where finished dispatches get no row of their own. Lines in the order of the log; `operations` are the names of the key
 * objects that each of them is about, as far as they are known.
 */
export function effectsOf(
  lines: readonly string[],
  operations: readonly (string | null)[],
  all: boolean,
): EffectRow[] {
  const rows = new Map<string, EffectRow>();
  for (const [i, line] of lines.entries()) {
    const told: Line = JSON.parse(line);
    const { effect_id, stream, capability, type } = told;
    if (typeof effect_id !== "string" || typeof capability !== "string" || SILENT.includes(String(type)))
      continue;
    const id = `${String(stream)} ${isReport(told) ? 1 : 0} ${effect_id}`;
    const earlier = rows.get(id);
    const operation = operations[i] ?? earlier?.operation ?? null;
    rows.set(id, { ...merge(earlier, told, all), operation });
  }
  return [...rows.values()];
}

function merge(earlier: EffectRow | undefined, told: Line, all: boolean): Omit<EffectRow, "operation"> {
  const state = stateOf(told);
  const isFlag = FLAGS.includes(String(told.type));
  // An operator's grounds have members of the same names; they are not the effect's own.
  const news = isFlag || !isReport(told) ? {} : told;
  const isOpenOnly = !all && told.capability === DISPATCH_CAPABILITY && state !== "unknown";
  return {
    effect_id: String(told.effect_id),
    stream: String(told.stream),
    reported: isReport(told) ? 1 : 0,
    attempt: earlier?.attempt ?? (typeof told.attempt === "number" ? told.attempt : null),
    capability: earlier?.capability ?? String(told.capability),
    state: state ?? earlier?.state ?? null,
    target: textOf(news.target) ?? earlier?.target ?? null,
    cost: news.cost === undefined ? (earlier?.cost ?? null) : JSON.stringify(news.cost),
    digest: textOf(news.digest) ?? earlier?.digest ?? null,
    code: state === null ? (earlier?.code ?? null) : textOf(told.code),
    intent_at: state === "intent" ? Number(told.at) : (earlier?.intent_at ?? null),
    changed_at: Number(told.at),
    flagged: isFlag || earlier?.flagged === 1 ? 1 : 0,
    version: Number(told.seq),
    // A line that tells no state opens no row: a late word on an earlier life's effect is told in the stream of the present one.
    must: (isOpenOnly || state === null) && earlier?.must !== 1 ? 0 : 1,
  };
}

function isReport({ type }: Line): boolean {
  return type === "effect" || type === "effect-contradiction";
}

/** States that a line tells by its type. Of an attempt that is late no record says anything any more, so its answer is what is true of it. */
const TOLD_BY_TYPE: ReadonlyMap<unknown, string> = new Map([
  ["unknown", "unknown"],
  ["fenced", "fenced"],
  ["late", "committed"],
]);

/** Null: the line tells no state. What contradicts an earlier truth says a phase and changes none. */
function stateOf({ phase, type }: Line): string | null {
  if (type === "effect-contradiction") return null;
  return textOf(phase) ?? TOLD_BY_TYPE.get(type) ?? null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

const SAME_EFFECT = `FROM effects WHERE effect_id = value ->> 'effect_id' AND stream = value ->> 'stream'
  AND reported = value ->> 'reported'`;

/** State and code are those of the newest entry that tells a state. `must`: 0 where only a row that is there already is kept up to date. */
const WRITE_EFFECTS = `INSERT INTO effects (effect_id, stream, reported, operation, shard, attempt, capability, state, target, cost,
    digest, code, intent_at, changed_at, flagged, version)
  SELECT value ->> 'effect_id', value ->> 'stream', value ->> 'reported', value ->> 'operation', ?1, value ->> 'attempt', value ->> 'capability',
    coalesce(value ->> 'state', (SELECT state ${SAME_EFFECT}), 'intent'),
    value ->> 'target', value ->> 'cost', value ->> 'digest',
    CASE WHEN value ->> 'state' IS NULL THEN (SELECT code ${SAME_EFFECT}) ELSE value ->> 'code' END,
    value ->> 'intent_at', value ->> 'changed_at', value ->> 'flagged', value ->> 'version'
  FROM json_each(?2) WHERE value ->> 'must' = 1 OR EXISTS (SELECT 1 ${SAME_EFFECT})
  ON CONFLICT (effect_id, stream, reported) DO UPDATE SET operation = coalesce(operation, excluded.operation), shard = excluded.shard,
    state = excluded.state, target = coalesce(excluded.target, target),
    cost = coalesce(excluded.cost, cost), digest = coalesce(excluded.digest, digest), code = excluded.code,
    intent_at = coalesce(intent_at, excluded.intent_at), changed_at = excluded.changed_at,
    flagged = max(flagged, excluded.flagged), version = excluded.version
  WHERE excluded.version > version`;

export function writeEffects(
  database: D1Database,
  shard: string,
  rows: readonly EffectRow[],
): D1PreparedStatement {
  return database.prepare(WRITE_EFFECTS).bind(shard, JSON.stringify(rows));
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
