/** Dispatches whose outcome is open, page by page, from the effects table. */
import { readOpenDispatches } from "../d1-read.ts";

type Place = { changedAt: number; effectId: string; stream: string };
type Row = Place & { operation: string | null; attempt: number | null; code: string | null };

/** The state that the table has for a key's. */
const STORED = { "in-flight": "intent", unknown: "unknown" } as const;

/** Behind a place, oldest change first. `next`: where the next page begins; null on the last one. */
export async function listOpenKeys(
  database: D1Database,
  { state, after, limit }: { state: keyof typeof STORED; after: Place; limit: number },
): Promise<{ rows: Row[]; next: Place | null }> {
  const stored = await readOpenDispatches(database, STORED[state], after, limit + 1);
  const rows = stored.slice(0, limit).map(
    ({ changed_at: changedAt, effect_id: effectId, stream, operation, attempt, code }): Row => ({
      changedAt,
      effectId,
      stream,
      operation,
      attempt,
      code,
    }),
  );
  return { rows, next: stored.length > limit ? (rows.at(-1) ?? null) : null };
}
