/** Against vacuity: what a run has to have been through before its silence means anything. */

import { DEEDS, FAULTS } from "./world/faults.ts";

/** How often each fault has to have struck in a thousand histories, at least. */
const LEAST_PER_THOUSAND = 5;

/** The same of what needs others to have happened before, or follows from them. */
const LEAST_OF_SOME = {
  "database reads what was": 1,
  "a build meets a record of the next one": 5,
  "a build meets a record of the one before": 5,
  "next build taken back": 5,
  "quota exhausted": 5,
  "bodies deleted": 5,
  "clock of an isolate": 5,
  "forged delivery: again": 2,
  "forged delivery: gap": 2,
  "forged delivery: fork": 1,
};

/** Fewer histories than this say nothing about what is rare. */
const HISTORIES_MIN = 5_000;

/** Of calls that were answered at all, so many have to be answered for good. */
const FINAL_SHARE = 0.6;

/** What is too rare, in words. */
export function listShortfalls(tally) {
  if (tally.histories < HISTORIES_MIN) return [];
  const least = (tally.histories / 1_000) * LEAST_PER_THOUSAND;
  const found = [...FAULTS, ...DEEDS]
    .filter((mark) => !(mark in LEAST_OF_SOME))
    .filter((mark) => (tally.marks[mark] ?? 0) < least)
    .map((mark) => `${mark}: ${tally.marks[mark] ?? 0} of ${least}`);
  for (const [mark, perThousand] of Object.entries(LEAST_OF_SOME)) {
    const wanted = (tally.histories / 1_000) * perThousand;
    if ((tally.marks[mark] ?? 0) < wanted) found.push(`${mark}: ${tally.marks[mark] ?? 0} of ${wanted}`);
  }
  const share = tally.finals / tally.calls;
  return share >= FINAL_SHARE
    ? found
    : [...found, `calls that were answered for good: ${share.toFixed(2)} of ${FINAL_SHARE}`];
}
