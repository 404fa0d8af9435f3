/** What is written down of one run, for the invariants to be judged by. */
import type { Entry } from "../../src/core/entry.ts";
import type { Event, StepAnswer } from "../../src/core/event.ts";
import type { Answer, KeyRecord, LiveRecord } from "../../src/core/record.ts";
import type { step } from "../../src/core/step.ts";
import type { Reference } from "./reference.ts";

export type Step = typeof step;

/** One event: what the machine made of it, beside what the reference model held before and after. */
export type Row = {
  now: number;
  event: Event;
  before: KeyRecord;
  after: KeyRecord;
  answer: StepAnswer;
  entries: readonly Entry[];
  alarm: number | null;
  expected: Reference;
  next: Reference;
  /** Every entry made before this event had been acknowledged. */
  isDelivered: boolean;
};

/** One dispatch as the origin knows it. */
export type Effect = {
  effect: string;
  window: number;
  /** The route runs an attempt at most once. */
  isHeld: boolean;
  /** On the true time line: when the effect comes about; null where it never does. */
  happensAt: number | null;
  /** All that the origin ever answered for this effect. */
  answers: Answer[];
};

export type History = { rows: Row[]; effects: Effect[]; age: number };

/**
 * Which stream each entry of one event belongs to. Where a begin ends one life and starts the next, the old
 * stream's last entries are found in the outbox, and `entries` may or may not repeat them.
 */
export function splitByLife(
  before: KeyRecord,
  after: KeyRecord,
  entries: readonly Entry[],
): readonly (readonly [string, readonly Entry[]])[] {
  if (after.state === "absent") return before.state === "absent" ? [] : [[before.inc, entries]];
  if (before.state === "absent" || before.inc === after.inc) return [[after.inc, entries]];
  const pending = (record: LiveRecord) => record.outbox.find(({ inc }) => inc === before.inc)?.entries ?? [];
  const last = pending(after).slice(pending(before).length);
  return [
    [before.inc, last],
    [after.inc, entries.filter((entry) => !last.includes(entry))],
  ];
}
