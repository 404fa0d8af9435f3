/** One event, and what goes along with it: an attempt that nobody runs is attended to first, and what callers are told is noted. Pure. */
import { observe, type Seen } from "../../core/audit/observe.ts";
import type { Event } from "../../core/event.ts";
import { type KeyRecord, type Token, timeOf, tokenOf } from "../../core/record.ts";
import { type Step, step } from "../../core/step.ts";
import { withoutEntries, withoutUntold } from "../../core/transition.ts";

/** What a step has to know of the object around the record. */
export type Around = {
  /** Whether this object runs an attempt right now. */
  isRunning: (token: Token) => boolean;
  /** Whether there is a ledger to tell. */
  keepsEntries: boolean;
  /** What was seen of the record as it is, and is not written yet. */
  waiting: readonly Seen[];
};

/** What waits to be noted was seen of the record as it was: it comes first, in a row that is written anyway. */
export function advance(
  before: KeyRecord,
  event: Event,
  { isRunning, waiting }: Around,
  now: number,
): { moved: Step; isMoved: boolean; hasNoted: boolean } {
  if (event.do === "observe") {
    const moved = step(before, event, now);
    return { moved, isMoved: moved.record.state !== before.state, hasNoted: false };
  }
  const alone = stepAttended(before, event, isRunning, now);
  const isMoved = alone.record !== before;
  if (!isMoved || waiting.length === 0) return { moved: alone, isMoved, hasNoted: false };
  const noted = observe(before, waiting, timeOf(before, now));
  if (noted.answer.kind !== "done") return { moved: alone, isMoved, hasNoted: false };
  return { moved: stepAttended(noted.record, event, isRunning, now), isMoved, hasNoted: true };
}

export function stepAttended(
  record: KeyRecord,
  event: Event,
  isRunning: Around["isRunning"],
  now: number,
): Step {
  const attended = isOrphaned(record, isRunning) ? step(record, { do: "orphan" }, now).record : record;
  return step(attended, event, now);
}

/** Adds what its caller is told of a decision; where there is no room for that, the decision is not told either. */
export function noteSeen(stepped: Step, seen: Seen | null, now: number): Step {
  if (seen === null) return stepped;
  const { record, answer } = observe(stepped.record, [seen], timeOf(stepped.record, now));
  return answer.kind === "done" ? { ...stepped, record } : { ...stepped, answer };
}

/** What of a record's entries the ledger is to be told. */
export function told(record: KeyRecord, keepsEntries: boolean): KeyRecord {
  if (record.state === "absent") return record;
  return keepsEntries ? withoutUntold(record) : withoutEntries(record);
}

/** The object restarted while it ran this attempt: nobody will ever settle it. */
function isOrphaned(record: KeyRecord, isRunning: (token: Token) => boolean): boolean {
  return record.state === "in-flight" && record.terms.executor === "object" && !isRunning(tokenOf(record));
}
