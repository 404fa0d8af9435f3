/** Dispatches whose outcome is open, page by page, from the effects table. */
import { type OpenDispatch, readOpenDispatches } from "../d1-effects.ts";

type OpenPlace = { changedAt: number; effectId: string; stream: string };
type Row = OpenPlace & { operation: string | null; attempt: number | null; code: string | null };

/** The state that the table has for a key's. */
const STORED = { "in-flight": "intent", unknown: "unknown" } as const;

/** Behind a place, oldest change first. `next`: where the next page begins; null on the last one. */
export async function listOpenKeys(
  database: D1Database,
  { state, after, limit }: { state: keyof typeof STORED; after: OpenPlace; limit: number },
): Promise<{ rows: Row[]; next: OpenPlace | null }> {
  const { rows, next } = await readOpenDispatches(database, STORED[state], after, limit);
  return { rows: rows.map(describe), next: next === null ? null : describe(next) };
}

function describe({ changed_at, effect_id, stream, operation, attempt, code }: OpenDispatch): Row {
  return { changedAt: changed_at, effectId: effect_id, stream, operation, attempt, code };
}
