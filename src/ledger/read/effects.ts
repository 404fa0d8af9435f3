/** The effects table, page by page. */
import { readPageQuery, writeCursor } from "../../core/operator/page.ts";
import { type EffectFilter, type EffectPlace, readEffects, type StoredEffect } from "../d1-effects.ts";

const STATES = ["intent", "unknown", "fenced", "committed", "failed", "compensated"];
/** States that the table's partial index has. */
const OPEN = ["intent", "unknown"];
const START: EffectPlace = { changed_at: -1, effect_id: "", stream: "", reported: 0 };

export type EffectsQuery = { filter: EffectFilter; after: EffectPlace; limit: number };

/** Null: a parameter is unknown, given twice or not what it has to be. */
export function readEffectsQuery({ searchParams }: URL): EffectsQuery | null {
  const page = readPageQuery(searchParams, ["state", "capability"]);
  if (page === null) return null;
  const state = searchParams.get("state");
  const capability = searchParams.get("capability");
  const after = page.after === null ? START : readPlace(page.after);
  if (after === null || (state !== null && !STATES.includes(state))) return null;
  if (capability !== null && !/^[a-z0-9._-]{1,128}$/.test(capability)) return null;
  return { filter: { state, capability }, after, limit: page.limit };
}

/** `next` is the cursor of the next page; the last one has none. Null: the query is refused. Rejects where D1 does not answer. */
export async function listEffects(database: D1Database, url: URL): Promise<Record<string, unknown> | null> {
  const query = readEffectsQuery(url);
  if (query === null) return null;
  const { filter, after, limit } = query;
  const order = filter.state !== null && OPEN.includes(filter.state) ? "by change" : "by id";
  const { rows, next } = await readEffects(database, order, filter, after, limit);
  const items = rows.map(describe);
  if (next === null) return { items };
  return { items, next: writeCursor([next.changed_at, next.effect_id, next.stream, next.reported]) };
}

function describe(row: StoredEffect): Record<string, unknown> {
  const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  const members = {
    ...row,
    reported: row.reported === 1,
    cost: row.cost === null ? null : JSON.parse(row.cost),
    intent_at: time(row.intent_at),
    changed_at: time(row.changed_at),
    flagged: row.flagged === 1,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

function readPlace(place: readonly unknown[]): EffectPlace | null {
  const [changed_at, effect_id, stream, reported] = place;
  if (place.length !== 4) return null;
  if (typeof changed_at !== "number" || !Number.isSafeInteger(changed_at)) return null;
  if (typeof effect_id !== "string" || typeof stream !== "string") return null;
  if (reported !== 0 && reported !== 1) return null;
  return { changed_at, effect_id, stream, reported };
}
