/** Judges a history by everything that has to be true of one. */
import type { History } from "./history.ts";
import { LEDGER } from "./ledger.ts";
import { LEFTOVERS } from "./leftovers.ts";
import { LINEAR } from "./linear.ts";
import { isTurnedBack, LIVENESS } from "./liveness.ts";
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

/**
 * Not asked where a clock was turned back: when shards publish, when a window ends, what the very last call is told, and a stream whose last entry
 * was told by an object that ended before it wiped.
 */
const NEEDS_TIME = new Set(["I4", "I5 whole", "I6", "L3", "L4", "L5", "L6"]);

/** The first thing that is wrong; null: nothing is. */
export function checkHistory(history: History): Violation | null {
  const view = viewOf(history);
  for (const [invariant, check] of INVARIANTS) {
    if (NEEDS_TIME.has(invariant) && isTurnedBack(history)) continue;
    const text = check(view);
    if (text !== null) return { invariant, text };
  }
  return null;
}
