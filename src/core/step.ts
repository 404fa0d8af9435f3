/**
 * The key's state machine: one pure, total function over state × event. The Durable Object is a shell around it:
 * load → step → store, in one transaction. Transition numbers are those of the table in `src/README.md`.
 *
 * `now` is milliseconds by the caller's clock, read once for the transaction, and `t` the record's time by it: a record that has seen a later
 * time is judged by that one. A new life begins by the clock as it is.
 */
import { observe } from "./audit/observe.ts";
import { acknowledge, probed, release, reportUnknown, resolve, settle } from "./close.ts";
import { charsOf, reportedChars, reportedEntry } from "./effect/told.ts";
import type { Entry } from "./entry.ts";
import { type Decision, type Event, type Grant, type StepAnswer, stay } from "./event.ts";
import { FLUSH_AFTER_MS, OUTBOX_ENTRIES_MAX, PROBE_PAUSE_MS_MAX, REPORTED_CHARS_MAX } from "./limits.ts";
import { pausedUntil } from "./pause.ts";
import {
  ABSENT,
  type InFlight,
  isExpired,
  isPurgeable,
  isSameToken,
  type KeyRecord,
  type LiveRecord,
  purgeAt,
  type Token,
  timeOf,
  tokenOf,
  type Unknown,
  undelivered,
} from "./record.ts";
import { attemptOf, leaseEnd, nextAttempt, note, startLife, toTold, toUnknown } from "./transition.ts";

export type Step = {
  record: KeyRecord;
  answer: StepAnswer;
  /** Entries this step added, oldest first. When `record` is absent they are in no outbox: deliver, then wipe. */
  entries: readonly Entry[];
  /** When the object has to wake up next; null: no need. */
  alarm: number | null;
};

export function step(before: KeyRecord, event: Event, now: number): Step {
  const found = followClock(before, now);
  const t = timeOf(found, now);
  // What is acknowledged was written before, and what is observed was seen before: a lapse in this very step comes after it.
  const isOfBefore = event.do === "acknowledge" || event.do === "observe";
  const current = isOfBefore ? found : lapse(found, t, event, now);
  const { record, answer, last } = decide(current, event, t, now);
  return { record, answer, entries: [...entriesAdded(before, record), ...last], alarm: alarmOf(record, now) };
}

/**
 * A clock that has gone back by more than a lease would have one last until it has caught up. Once it has, the record goes by it again: what
 * it was behind by is no time that has passed, and its executor may have a whole lease, counted while it was behind.
 */
export function followClock(record: KeyRecord, now: number): KeyRecord {
  if (record.state !== "in-flight") return record;
  const { t, ahead, leaseUntil, terms } = record;
  if (ahead > 0 && now >= t) {
    return { ...record, t: now, ahead: 0, leaseUntil: Math.max(leaseUntil, leaseEnd(record, now)) };
  }
  return t - (now + ahead) > terms.leaseMs ? { ...record, ahead: t - now } : record;
}

function decide(record: KeyRecord, event: Event, t: number, now: number): Decision {
  switch (event.do) {
    case "begin":
      return begin(record, event, t, now);
    case "renew":
      return renew(record, event.token, t);
    case "settle":
      return settle(record, event, t);
    case "report":
      return reportUnknown(record, event.token, event.reason, t, now);
    case "release":
      return release(record, event.token, event.evidence, t);
    case "orphan":
      return orphan(record, t, now);
    case "probed":
      return probed(record, event, t, now);
    case "resolve":
      return resolve(record, event, t);
    case "tell":
      return tell(record, event, t);
    case "acknowledge":
      return stay(lapse(acknowledge(record, event, t), t, event, now), { kind: "done" });
    case "observe": {
      const { record: told, answer } = observe(record, event.seen, t);
      return stay(lapse(told, t, event, now), answer);
    }
    case "tick":
      return tick(record, t);
  }
}

/** T7: a lease that is over only tells others that the outcome is unknown. It is never permission to run again. */
function lapse(record: KeyRecord, t: number, event: Event, now: number): KeyRecord {
  if (record.state !== "in-flight" || record.leaseUntil > t) return record;
  const isTruth = (event.do === "settle" || event.do === "release") && isSameToken(event.token, record);
  return isTruth ? record : toUnknown(record, "lease-over", t, now);
}

type Begin = Extract<Event, { do: "begin" }>;

function begin(record: KeyRecord, event: Begin, t: number, now: number): Decision {
  const { fresh, nonce, fp } = event;
  if (record.state === "absent") return run(startLife(fresh, fp, nonce, [], t), t);
  const isFull = undelivered(record) >= OUTBOX_ENTRIES_MAX;
  // T22: quarantine over, storage not yet wiped. A new life begins, with its own time; what the old one has to tell travels with it.
  if (isPurgeable(record, t)) {
    if (isFull) return stay(record, { kind: "full" });
    const carried = note(record.outbox, record.inc, purgedEntry(record));
    return run(startLife(fresh, fp, nonce, carried, now), now);
  }
  if (record.fp !== fp) {
    const isComparable = record.terms.fingerprint === fresh.terms.fingerprint;
    return stay(record, { kind: isComparable ? "mismatch" : "incomparable" });
  }
  if (record.state === "in-flight" && record.nonce === nonce) return repeat(record, t);
  // T3, T13: the last attempt had no effect, or its origin drops repeats by a key that stays the same.
  if (record.state === "released" || (record.state === "unknown" && record.terms.onCrash === "retry")) {
    return isFull ? stay(record, { kind: "full" }) : run(nextAttempt(record, fresh, nonce, t, now), t);
  }
  if (!event.authorized) return stay(record, { kind: "authorize" });
  switch (record.state) {
    case "in-flight":
      return stay(record, { kind: "in-flight" });
    case "unknown":
      return stay(record, { kind: "unknown", unknown: record });
    case "settled":
      return stay(record, isExpired(record, t) ? { kind: "expired" } : { kind: "replay", settled: record });
  }
}

function run(record: InFlight, t: number): Decision {
  return stay(record, { kind: "run", grant: grantOf(record, t), repeated: false });
}

/** T2: the reply to a grant was lost and the call came again. */
function repeat(record: InFlight, t: number): Decision {
  return stay(record, { kind: "run", grant: grantOf(record, t), repeated: true });
}

function grantOf(record: InFlight, t: number): Grant {
  return {
    token: tokenOf(record),
    effect: record.effect,
    leaseMs: record.leaseUntil - t,
    executionMs: record.executionUntil - t,
  };
}

/** Only the object runs attempts that its own restart ends; an executor elsewhere goes on, and settles late. */
function orphan(record: KeyRecord, t: number, now: number): Decision {
  const isOrphan = record.state === "in-flight" && record.terms.executor === "object";
  return stay(isOrphan ? toUnknown(record, "object-restarted", t, now) : record, { kind: "done" });
}

/** Its time follows from the record alone: a tick that is repeated after a crash makes the same entry again. */
function purgedEntry(record: LiveRecord): Entry {
  return { type: "purged", ...attemptOf(record, Math.max(purgeAt(record) ?? 0, record.t)) };
}

/** T14. A lease that is over stays over: others have been told that the outcome is unknown. */
function renew(record: KeyRecord, token: Token, t: number): Decision {
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  if (record.state === "unknown") return stay(record, { kind: "lapsed" });
  if (record.state !== "in-flight") return stay(record, { kind: "fenced" });
  const leaseUntil = leaseEnd(record, t);
  if (leaseUntil <= record.leaseUntil) return stay(record, { kind: "done" });
  return stay({ ...record, t, leaseUntil }, { kind: "done" });
}

/** T26. Of a life that may end nothing more is told: its last entry may be on its way under the next number. */
function tell(record: KeyRecord, event: Extract<Event, { do: "tell" }>, t: number): Decision {
  const { attempt, noted } = event;
  if (record.state === "absent" || isPurgeable(record, t) || attempt.n > record.n) {
    return stay(record, { kind: "fenced" });
  }
  if (noted.length === 0) return stay(record, { kind: "done" });
  const entries = noted.map((one) => reportedEntry(one, attempt.n, t));
  const isFull = reportedChars(record) + charsOf(entries) > REPORTED_CHARS_MAX;
  return isFull ? stay(record, { kind: "full" }) : stay(toTold(record, entries, t), { kind: "done" });
}

/** T20, T22: only a finished record leaves, after its quarantine, with nothing left to tell. */
function tick(record: KeyRecord, t: number): Decision {
  if (record.state === "absent" || !isPurgeable(record, t) || undelivered(record) > 0) {
    return stay(record, { kind: "done" });
  }
  return { record: ABSENT, answer: { kind: "done" }, last: [purgedEntry(record)] };
}

/**
 * When a record's object has to wake up next, by its clock: the earliest of all due times, since one alarm serves them all. Observations have
 * none: whoever writes them delivers them at once, and `redeliveryOf` says when again.
 */
export function alarmOf(record: KeyRecord, now: number): number | null {
  if (record.state === "absent") return null;
  const dues = [stateDue(record, now), flushDue(record, now)].filter((due) => due !== null);
  return dues.length === 0 ? null : Math.min(...dues);
}

function stateDue(record: LiveRecord, now: number): number | null {
  switch (record.state) {
    case "in-flight":
      return record.leaseUntil - record.ahead;
    case "unknown":
      return probeDueOf(record, now);
    case "settled":
    case "released":
      return purgeAt(record);
  }
}

/** When the origin is asked next; null: never. */
export function probeDueOf({ probeDue, terms }: Unknown, now: number): number | null {
  if (probeDue === null) return null;
  return pausedUntil(probeDue, now, Math.max(PROBE_PAUSE_MS_MAX, terms.probeDelayMs ?? 0));
}

function flushDue(record: LiveRecord, now: number): number | null {
  for (const { entries } of record.outbox) {
    const oldest = entries.find(({ type }) => type !== "observed");
    if (oldest !== undefined) return dueOf(oldest, now);
  }
  return null;
}

/** When anything that is undelivered, observed or not, is to be sent again; null: there is nothing. */
export function redeliveryOf(record: KeyRecord, now: number): number | null {
  if (record.state === "absent") return null;
  return dueOf(record.outbox.find(({ entries }) => entries.length > 0)?.entries[0], now);
}

/** An entry may be of a time that the clock has not reached, or not again. */
function dueOf(oldest: Entry | undefined, now: number): number | null {
  return oldest === undefined ? null : Math.min(oldest.at, now) + FLUSH_AFTER_MS;
}

function entriesAdded(before: KeyRecord, after: KeyRecord): readonly Entry[] {
  if (after.state === "absent") return [];
  const earlier = before.state === "absent" ? [] : before.outbox;
  return after.outbox.flatMap((stream) => {
    const same = earlier.find((candidate) => candidate.inc === stream.inc);
    const known = same === undefined ? 0 : same.acked + same.entries.length;
    return stream.entries.slice(Math.max(0, known - stream.acked));
  });
}
