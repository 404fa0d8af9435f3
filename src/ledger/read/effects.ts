/** `GET /operator/effects`: the effects table, page by page. */
import { decodeUtf8, encodeUtf8, fromBase64Url, toBase64Url } from "../../core/bytes.ts";
import { type EffectFilter, type EffectPlace, readEffects, type StoredEffect } from "../d1-read.ts";

const LIMIT = 100;
const LIMIT_MAX = 1_000;
const STATES = ["intent", "unknown", "fenced", "committed", "failed", "compensated"];
/** States that the table's partial index has. */
const OPEN = ["intent", "unknown"];
const PARAMETERS = ["state", "capability", "after", "limit"];
const START: EffectPlace = { changed_at: -1, effect_id: "", stream: "", reported: 0 };

export type EffectsQuery = { filter: EffectFilter; after: EffectPlace; limit: number };

/** Null: a parameter is unknown, given twice or not what it has to be. */
export function readEffectsQuery({ searchParams }: URL): EffectsQuery | null {
  const names = [...searchParams.keys()];
  if (new Set(names).size < names.length || !names.every((name) => PARAMETERS.includes(name))) return null;
  const state = searchParams.get("state");
  const capability = searchParams.get("capability");
  const limit = searchParams.get("limit") ?? String(LIMIT);
  const cursor = searchParams.get("after");
  const after = cursor === null ? START : readCursor(cursor);
  if (after === null || !/^[1-9][0-9]{0,5}$/.test(limit)) return null;
  if (state !== null && !STATES.includes(state)) return null;
  if (capability !== null && !/^[a-z0-9._-]{1,128}$/.test(capability)) return null;
  return { filter: { state, capability }, after, limit: Math.min(Number(limit), LIMIT_MAX) };
}

/** `next` is the cursor of the next page; the last one has none. */
export async function listEffects(
  database: D1Database,
  { filter, after, limit }: EffectsQuery,
): Promise<Record<string, unknown>> {
  const order = filter.state !== null && OPEN.includes(filter.state) ? "by change" : "by id";
  const rows = await readEffects(database, order, filter, after, limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const items = page.map(describe);
  return rows.length > limit && last !== undefined ? { items, next: writeCursor(last) } : { items };
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

function writeCursor({ changed_at, effect_id, stream, reported }: EffectPlace): string {
  return toBase64Url(encodeUtf8(JSON.stringify([changed_at, effect_id, stream, reported])));
}

function readCursor(cursor: string): EffectPlace | null {
  try {
    const bytes = fromBase64Url(cursor);
    const place: unknown = JSON.parse((bytes === null ? null : decodeUtf8(bytes)) ?? "null");
    if (!Array.isArray(place)) return null;
    const [changed_at, effect_id, stream, reported] = place as unknown[];
    if (typeof effect_id !== "string" || typeof stream !== "string") return null;
    if (!Number.isSafeInteger(changed_at) || (reported !== 0 && reported !== 1)) return null;
    return { changed_at: Number(changed_at), effect_id, stream, reported };
  } catch {
    return null;
  }
}
