/** Every event of the state machine's table, as what it is for a given record. */
import type { Seen } from "../../src/core/audit/observe.ts";
import type { Noted } from "../../src/core/effect/judge.ts";
import type { Grounds } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import {
  type Answer,
  type KeyRecord,
  type Outcome,
  type Sealed,
  type Terms,
  type Token,
  tokenOf,
} from "../../src/core/record.ts";

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
  "probed committed, answer lost",
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
  "tell an effect",
  "tell an effect, old attempt",
  "tell nothing new",
  "tell an effect, attempt to come",
  "observe a replay",
  "observe a twin in flight",
  "observe a doubt",
  "observe a refusal",
  "observe two of all",
  "acknowledge some",
  "acknowledge all",
  "acknowledge too much",
  "acknowledge other life",
  "tick",
] as const;

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
export const REPLY_MS = 5 * SECOND;

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
export const COMMITTED: Outcome = { kind: "committed", word: "word-a", answer: ANSWER };
export const GROUNDS: Grounds = { code: "checked", target: "ticket-1", digest: "e".repeat(64) };
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

const probedCommitted = (tokenFor: (record: KeyRecord) => Token, answer: Answer): Make => {
  return (record) => ({
    do: "probed",
    token: tokenFor(record),
    verdict: { kind: "committed", answer },
    jitter: 0,
  });
};

const probedNone = (sealed: boolean, ageMs: number): Make => {
  return (record) => ({
    do: "probed",
    token: current(record),
    verdict: { kind: "none", sealed, ageMs },
    jitter: 0,
  });
};

const resolve = (operator: string, outcome: Outcome, operatorsRequired = 2): Make => {
  return (record) => ({
    do: "resolve",
    effect: record.state === "absent" ? "effect-0" : record.effect,
    operator,
    grounds: GROUNDS,
    outcome,
    operatorsRequired,
  });
};

const NOTED: Noted = {
  told: {
    id: "charge-1",
    capability: "payments.charge",
    phase: "intent",
    target: null,
    cost: null,
    digest: null,
    code: null,
  },
  isContradiction: false,
};

/** `by`: how far the reporting attempt is from the current one. */
const tell = (by: number, noted: readonly Noted[] = [NOTED]): Make => {
  return (record) => {
    const { n } = current(record);
    const effect = record.state === "absent" || by !== 0 ? OLD_EFFECT : record.effect;
    return { do: "tell", attempt: { n: n + by, effect }, noted };
  };
};

const observe = (...seen: Seen[]): Make => {
  return () => ({ do: "observe", seen });
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
  "probed committed": probedCommitted(current, ANSWER),
  "probed committed, answer lost": probedCommitted(current, { kind: "lost" }),
  // What has been sealed never happens, however long ago it was asked.
  "probed none, sealed": probedNone(true, 3_600 * SECOND),
  "probed none, observed early": probedNone(false, 0),
  "probed none, observed late": probedNone(false, 0),
  "probed none, asked late enough": probedNone(false, REPLY_MS),
  "probed none, asked too early": probedNone(false, REPLY_MS + 1),
  "probed silent": (record) => ({
    do: "probed",
    token: current(record),
    verdict: { kind: "silent" },
    jitter: 0,
  }),
  "probed committed, old attempt": probedCommitted(oldAttempt, ANSWER),
  "resolve, A says committed": resolve("a", COMMITTED),
  "resolve, A says not committed": resolve("a", NOT_COMMITTED),
  "resolve, B says committed": resolve("b", COMMITTED),
  "resolve, B says not committed": resolve("b", NOT_COMMITTED),
  "resolve, B says another answer": resolve("b", {
    kind: "committed",
    word: "word-b",
    answer: OTHER_STATUS,
  }),
  "resolve, B says committed, three required": resolve("b", COMMITTED, 3),
  "resolve, C says committed, three required": resolve("c", COMMITTED, 3),
  "resolve, one required": resolve("b", COMMITTED, 1),
  "resolve, stale effect": () => ({
    do: "resolve",
    effect: "effect-of-another",
    operator: "b",
    grounds: GROUNDS,
    outcome: COMMITTED,
    operatorsRequired: 1,
  }),
  "tell an effect": tell(0),
  "tell an effect, old attempt": tell(-1),
  "tell nothing new": tell(0, []),
  "tell an effect, attempt to come": tell(1),
  "observe a replay": observe("replayed"),
  "observe a twin in flight": observe("in-flight"),
  "observe a doubt": observe("outcome-unknown"),
  "observe a refusal": observe("not-authorized"),
  "observe two of all": observe("key-reused", "store-unavailable"),
  "acknowledge some": acknowledge("some"),
  "acknowledge all": acknowledge("all"),
  "acknowledge too much": acknowledge("too much"),
  "acknowledge other life": () => ({ do: "acknowledge", inc: "life-of-old", seq: 1, head: "c".repeat(64) }),
  tick: () => ({ do: "tick" }),
};
