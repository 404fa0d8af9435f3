import type { Entry } from "../../src/core/entry.ts";
import { OUTBOX_ENTRIES_MAX } from "../../src/core/limits.ts";
import {
  ABSENT,
  type KeyRecord,
  type LiveRecord,
  purgeAt,
  type Terms,
  undelivered,
} from "../../src/core/record.ts";
import { step } from "../../src/core/step.ts";

import {
  ELSEWHERE,
  EVENTS,
  type EventName,
  HOLD,
  OLD_EFFECT,
  REPLY_MS,
  RETRY,
  SECOND,
  START,
  UNASKED,
} from "./step-events.ts";

export {
  ANSWER,
  COMMITTED,
  ELSEWHERE,
  EVENT_NAMES,
  EVENTS,
  type EventName,
  HOLD,
  OLD_EFFECT,
  RETRY,
  SECOND,
  START,
  UNASKED,
} from "./step-events.ts";

export const STATE_NAMES = [
  "absent",
  "in-flight, lease live",
  "in-flight, run elsewhere",
  "in-flight, lease over",
  "unknown, hold",
  "unknown, nobody to ask",
  "unknown, one operator spoke",
  "unknown, two operators spoke",
  "unknown, retry",
  "settled, in window",
  "settled, answer lost",
  "settled, in quarantine",
  "settled, end of quarantine",
  "settled, quarantine over, outbox not empty",
  "settled, quarantine over, outbox empty",
  "released",
  "released, quarantine over, outbox not empty",
  "released, quarantine over, outbox empty",
] as const;

export type StateName = (typeof STATE_NAMES)[number];

/** A record, the time it is looked at, and the first time at which "not seen" means "never". */
export type Scene = { record: KeyRecord; now: number; late: number };

/** When an event of the table happens in a scene. */
export function timeOf(event: EventName, { now, late }: Scene): number {
  if (event === "probed none, observed late") return late;
  const isSlow = event === "probed none, asked late enough" || event === "probed none, asked too early";
  return isSlow ? late + REPLY_MS : now;
}

type Move = readonly [at: number, name: EventName];

/** Second attempt of a life; the first one was released. */
const SECOND_ATTEMPT: readonly Move[] = [
  [0, "begin"],
  [1 * SECOND, "release"],
  [2 * SECOND, "begin"],
];
const CLOSED_AT = 3 * SECOND;
const WINDOW_END = CLOSED_AT + HOLD.windowMs;
const QUARANTINE_END = WINDOW_END + HOLD.quarantineMs;

function play(moves: readonly Move[], nowAt: number, terms: Terms = HOLD): Scene {
  let record: KeyRecord = ABSENT;
  for (const [k, [at, name]] of moves.entries()) {
    record = step(record, EVENTS[name](record, k, terms), START + at).record;
  }
  const now = START + nowAt;
  const late = doubtBegins(record, now) + (terms.probeDelayMs ?? 0);
  return { record, now, late: Math.max(now, late) };
}

/** When the outcome became unknown; for a live lease, when it would have if grants were what counts. */
function doubtBegins(record: KeyRecord, now: number): number {
  if (record.state === "unknown") return record.since;
  if (record.state !== "in-flight") return now;
  return record.leaseUntil <= now ? record.leaseUntil : record.dispatchedAt;
}

function closed(name: EventName, nowAt: number, terms: Terms = HOLD, ...more: Move[]): Scene {
  return play([...SECOND_ATTEMPT, [CLOSED_AT, name], ...more], nowAt, terms);
}

const A_SPOKE: Move[] = [[4 * SECOND, "resolve, A says committed"]];
const B_SPOKE: Move[] = [[4 * SECOND, "resolve, B says committed, three required"]];

/** Every state at the first or last millisecond it holds. */
export const SCENES: Record<StateName, Scene> = {
  absent: play([], 0),
  "in-flight, lease live": play(SECOND_ATTEMPT, CLOSED_AT),
  "in-flight, run elsewhere": play(SECOND_ATTEMPT, CLOSED_AT, ELSEWHERE),
  "in-flight, lease over": play(SECOND_ATTEMPT, 2 * SECOND + HOLD.leaseMs),
  "unknown, hold": closed("report", 4 * SECOND),
  "unknown, nobody to ask": closed("report", 4 * SECOND, UNASKED),
  "unknown, one operator spoke": closed("report", 5 * SECOND, HOLD, ...A_SPOKE),
  "unknown, two operators spoke": closed("report", 5 * SECOND, HOLD, ...A_SPOKE, ...B_SPOKE),
  "unknown, retry": closed("report", 4 * SECOND, RETRY),
  "settled, in window": closed("settle", WINDOW_END - 1),
  "settled, answer lost": closed("report", 5 * SECOND, HOLD, [4 * SECOND, "probed committed, answer lost"]),
  "settled, in quarantine": closed("settle", WINDOW_END),
  "settled, end of quarantine": closed("settle", QUARANTINE_END - 1),
  "settled, quarantine over, outbox not empty": closed("settle", QUARANTINE_END),
  "settled, quarantine over, outbox empty": closed("settle", QUARANTINE_END, HOLD, [
    4 * SECOND,
    "acknowledge all",
  ]),
  released: closed("release", QUARANTINE_END - 1),
  "released, quarantine over, outbox not empty": closed("release", QUARANTINE_END),
  "released, quarantine over, outbox empty": closed("release", QUARANTINE_END, HOLD, [
    4 * SECOND,
    "acknowledge all",
  ]),
};

/** The record of a scene that has one. */
export function live(state: StateName): LiveRecord {
  const { record } = SCENES[state];
  if (record.state === "absent") throw new Error(`${state} has no record`);
  return record;
}

/** What an event makes of a record at a time. */
export const apply = (record: KeyRecord, event: EventName, now: number) =>
  step(record, EVENTS[event](record, 99, HOLD), now);

/** `record` with as many undelivered entries as one key may hold. */
export function fill(record: LiveRecord): LiveRecord {
  const entry: Entry = { type: "late", answerDigest: null, at: record.t, effect: OLD_EFFECT, attempt: 1 };
  const more = new Array<Entry>(OUTBOX_ENTRIES_MAX - undelivered(record)).fill(entry);
  return {
    ...record,
    outbox: record.outbox.map((stream) => ({ ...stream, entries: [...stream.entries, ...more] })),
  };
}

/** The last entry of a life: of its due time, so that it is the same whenever it is written. */
export const lastOf = (record: LiveRecord): Entry => ({
  type: "purged",
  at: Math.max(purgeAt(record) ?? Number.NaN, record.t),
  effect: record.effect,
  attempt: record.n,
});
