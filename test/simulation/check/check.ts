/** Judges a history by everything that has to be true of one. */
import type { History } from "./history.ts";
import { LEDGER } from "./ledger.ts";
import { LEFTOVERS } from "./leftovers.ts";
import { LINEAR } from "./linear.ts";
import { LIVENESS } from "./liveness.ts";
import { REACH } from "./reach.ts";
import { RETENTION } from "./retention.ts";
import { type Invariant, SAFETY } from "./safety.ts";
import { viewOf } from "./view.ts";

export type Violation = { invariant: string; text: string };

export const INVARIANTS: readonly (readonly [name: string, check: Invariant])[] = Object.entries({
  ...SAFETY,
  ...REACH,
  ...LEDGER,
  ...RETENTION,
  ...LINEAR,
  ...LIVENESS,
  ...LEFTOVERS,
});

/** A clock that is turned back keeps a machine from what is due for so long: only safety is asked of it then. */
const BACK_MS_MAX = 60_000;
const NEEDS_TIME = new Set(["I4", "I5 whole", "I6", "L1", "L2", "L3", "L4", "L5", "L6"]);

/** The first thing that is wrong; null: nothing is. */
export function checkHistory(history: History): Violation | null {
  const view = viewOf(history);
  for (const [invariant, check] of INVARIANTS) {
    if (NEEDS_TIME.has(invariant) && history.clocks.backMs > BACK_MS_MAX) continue;
    const text = check(view);
    if (text !== null) return { invariant, text };
  }
  return null;
}
