/** Against vacuity: what a run has to have been through before its silence means anything. */

import { DEEDS, FAULTS } from "./world/faults.ts";

/** How often each fault has to have struck in a thousand histories, at least. */
const LEAST_PER_THOUSAND = 5;

/** Fewer histories than this say nothing about what is rare. */
const HISTORIES_MIN = 5_000;

/** Of calls that were answered at all, so many have to be answered for good. */
const FINAL_SHARE = 0.6;

/** What is too rare, in words. */
export function listShortfalls(tally) {
  if (tally.histories < HISTORIES_MIN) return [];
  const least = (tally.histories / 1_000) * LEAST_PER_THOUSAND;
  const found = [...FAULTS, ...DEEDS]
    .filter((mark) => (tally.marks[mark] ?? 0) < least)
    .map((mark) => `${mark}: ${tally.marks[mark] ?? 0} of ${least}`);
  const share = tally.finals / tally.calls;
  return share >= FINAL_SHARE
    ? found
    : [...found, `calls that were answered for good: ${share.toFixed(2)} of ${FINAL_SHARE}`];
}
