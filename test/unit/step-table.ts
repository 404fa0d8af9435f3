/**
 * The two axes of the state machine's table: every state a key can be in, as a record made by a short history, and
 * every event, as what it is for a given record. The table itself is in `step.test.ts`.
 */
import type { Entry } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import { OUTBOX_ENTRIES_MAX } from "../../src/core/limits.ts";
import {
  ABSENT,
  type Answer,
  type KeyRecord,
  type LiveRecord,
  type Outcome,
  purgeAt,
  type Sealed,
  type Terms,
  type Token,
  tokenOf,
  undelivered,
} from "../../src/core/record.ts";
import { step } from "../../src/core/step.ts";

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
  "settled, in quarantine",
  "settled, end of quarantine",
  "settled, quarantine over, outbox not empty",
  "settled, quarantine over, outbox empty",
  "released",
  "released, quarantine over, outbox not empty",
  "released, quarantine over, outbox empty",
] as const;

export const EVENT_NAMES = [
  "begin",
  "begin, other fingerprint",
  "begin, same nonce",
  "begin, not authorized",
  "renew",
  "renew, old attempt",
  "renew, old life",
  "settle",
  "settle, other answer",
  "settle, old attempt",
  "settle, old life",
  "report",
  "report, old attempt",
  "release",
  "release, old attempt",
  "orphan",
  "probed committed",
  "probed none, sealed",
  "probed none, observed early",
  "probed none, observed late",
  "probed none, asked late enough",
  "probed none, asked too early",
  "probed silent",
  "probed committed, old attempt",
  "resolve, A says committed",
  "resolve, A says not committed",
  "resolve, B says committed",
  "resolve, B says not committed",
  "resolve, B says another answer",
  "resolve, B says committed, three required",
  "resolve, C says committed, three required",
  "resolve, one required",
  "resolve, stale effect",
  "acknowledge some",
  "acknowledge all",
  "acknowledge too much",
  "acknowledge other life",
  "tick",
] as const;

export type StateName = (typeof STATE_NAMES)[number];
export type EventName = (typeof EVENT_NAMES)[number];

export const SECOND = 1_000;
export const START = 1_700_000_000_000;

export const HOLD: Terms = {
  fingerprint: "1",
  executor: "object",
  onCrash: "hold",
  probeDelayMs: 10 * SECOND,
  windowMs: 24 * 3_600 * SECOND,
  quarantineMs: 3_600 * SECOND,
  leaseMs: 30 * SECOND,
  executionMsMax: 300 * SECOND,
};
export const RETRY: Terms = { ...HOLD, onCrash: "retry" };
export const ELSEWHERE: Terms = { ...HOLD, executor: "worker" };
export const UNASKED: Terms = { ...HOLD, probeDelayMs: null };

/** How long the origin takes to answer a slow probe. */
const REPLY_MS = 5 * SECOND;

const sealed: Sealed = {
  key: "k1",
  salt: new Uint8Array([1]),
  head: new Uint8Array([2]),
  isBound: false,
  body: "inline",
};
export const ANSWER: Extract<Answer, { kind: "kept" }> = {
  kind: "kept",
  status: 201,
  size: 2,
  digest: "a".repeat(64),
  sealed,
};
const OTHER_BODY: Answer = { kind: "not-kept", status: 201, size: 3, digest: "b".repeat(64) };
const OTHER_STATUS: Answer = { ...ANSWER, status: 202 };
export const COMMITTED: Outcome = { kind: "committed", answer: ANSWER };
const NOT_COMMITTED: Outcome = { kind: "not-committed" };

/** `k` makes what an event brings along new: incarnation, nonce and effect id. */
type Make = (record: KeyRecord, k: number, terms: Terms) => Event;

const begin = (part: { fp?: "other"; nonce?: "same"; authorized?: false }): Make => {
  return (record, k, terms) => ({
    do: "begin",
    nonce: part.nonce === undefined || record.state === "absent" ? `nonce-${k}` : record.nonce,
    fp: part.fp === undefined ? "fp-a" : "fp-b",
    authorized: part.authorized ?? true,
    fresh: { inc: `life-${k}`, effect: `effect-${k}`, owner: "owner", route: "route", terms },
  });
};

const current = (record: KeyRecord): Token =>
  record.state === "absent" ? { inc: "life-0", n: 1 } : tokenOf(record);
const oldAttempt = (record: KeyRecord): Token => ({ ...current(record), n: current(record).n - 1 });
/** Ids of older attempts are not in the record: an executor that comes late brings the one it was given. */
export const OLD_EFFECT = "effect-of-old";
const oldLife = (record: KeyRecord): Token => ({ inc: "life-of-old", n: current(record).n });

const settle = (tokenFor: (record: KeyRecord) => Token, answer: Answer): Make => {
  return (record) => {
    const effect = record.state === "absent" || tokenFor !== current ? OLD_EFFECT : record.effect;
    return { do: "settle", token: tokenFor(record), effect, answer };
  };
};

const probedNone = (sealed: boolean, ageMs: number): Make => {
  return (record) => ({ do: "probed", token: current(record), verdict: { kind: "none", sealed, ageMs } });
};

const resolve = (operator: string, outcome: Outcome, operatorsRequired = 2): Make => {
  return (record) => ({
    do: "resolve",
    effect: record.state === "absent" ? "effect-0" : record.effect,
    operator,
    outcome,
    operatorsRequired,
  });
};

/** Acknowledges the first entry, if there is one, all of them, or more than there are, of the record's own stream. */
const acknowledge = (part: "some" | "all" | "too much"): Make => {
  return (record) => {
    const stream = record.state === "absent" ? undefined : record.outbox.at(-1);
    const { inc, acked, entries } = stream ?? { inc: "life-0", acked: 0, entries: [] };
    const seq =
      acked +
      { some: Math.min(1, entries.length), all: entries.length, "too much": entries.length + 100 }[part];
    return { do: "acknowledge", inc, seq, head: "c".repeat(64) };
  };
};

export const EVENTS: Record<EventName, Make> = {
  begin: begin({}),
  "begin, other fingerprint": begin({ fp: "other" }),
  "begin, same nonce": begin({ nonce: "same" }),
  "begin, not authorized": begin({ authorized: false }),
  renew: (record) => ({ do: "renew", token: current(record) }),
  "renew, old attempt": (record) => ({ do: "renew", token: oldAttempt(record) }),
  "renew, old life": (record) => ({ do: "renew", token: oldLife(record) }),
  settle: settle(current, ANSWER),
  "settle, other answer": settle(current, OTHER_BODY),
  "settle, old attempt": settle(oldAttempt, ANSWER),
  "settle, old life": settle(oldLife, ANSWER),
  report: (record) => ({ do: "report", token: current(record), reason: "timeout" }),
  "report, old attempt": (record) => ({ do: "report", token: oldAttempt(record), reason: "timeout" }),
  release: (record) => ({ do: "release", token: current(record), evidence: "signed-none" }),
  "release, old attempt": (record) => ({
    do: "release",
    token: oldAttempt(record),
    evidence: "signed-none",
  }),
  orphan: () => ({ do: "orphan" }),
  "probed committed": (record) => ({
    do: "probed",
    token: current(record),
    verdict: { kind: "committed", answer: ANSWER },
  }),
  // What has been sealed never happens, however long ago it was asked.
  "probed none, sealed": probedNone(true, 3_600 * SECOND),
  "probed none, observed early": probedNone(false, 0),
  "probed none, observed late": probedNone(false, 0),
  "probed none, asked late enough": probedNone(false, REPLY_MS),
  "probed none, asked too early": probedNone(false, REPLY_MS + 1),
  "probed silent": (record) => ({ do: "probed", token: current(record), verdict: { kind: "silent" } }),
  "probed committed, old attempt": (record) => ({
    do: "probed",
    token: oldAttempt(record),
    verdict: { kind: "committed", answer: ANSWER },
  }),
  "resolve, A says committed": resolve("a", COMMITTED),
  "resolve, A says not committed": resolve("a", NOT_COMMITTED),
  "resolve, B says committed": resolve("b", COMMITTED),
  "resolve, B says not committed": resolve("b", NOT_COMMITTED),
  "resolve, B says another answer": resolve("b", { kind: "committed", answer: OTHER_STATUS }),
  "resolve, B says committed, three required": resolve("b", COMMITTED, 3),
  "resolve, C says committed, three required": resolve("c", COMMITTED, 3),
  "resolve, one required": resolve("b", COMMITTED, 1),
  "resolve, stale effect": () => ({
    do: "resolve",
    effect: "effect-of-another",
    operator: "b",
    outcome: COMMITTED,
    operatorsRequired: 1,
  }),
  "acknowledge some": acknowledge("some"),
  "acknowledge all": acknowledge("all"),
  "acknowledge too much": acknowledge("too much"),
  "acknowledge other life": () => ({ do: "acknowledge", inc: "life-of-old", seq: 1, head: "c".repeat(64) }),
  tick: () => ({ do: "tick" }),
};

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
