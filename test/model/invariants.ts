/**
 * The invariants that a single key can break, each a pure function over a history. Windows are the reference
 * model's: judged by its own purges, a machine that forgets too early would look right.
 */
import type { Entry } from "../../src/core/entry.ts";
import type { KeyRecord, Token } from "../../src/core/record.ts";
import { type History, type Row, splitByLife } from "./history.ts";
import { ageLife, endOf, type Life } from "./reference.ts";
import { describeAnswer } from "./words.ts";

/** What is broken, in words, or null. */
export type Invariant = (history: History) => string | null;

function windowOf(row: Row): number {
  return row.next.windows;
}

/** The answer that somebody got for good in this event, if anybody did. */
function givenAnswer({ answer, after, event }: Row): string | null {
  if (answer.kind === "replay") return describeAnswer(answer.settled.answer);
  const isStored = event.do === "settle" && answer.kind === "done" && after.state === "settled";
  return isStored ? describeAnswer(after.answer) : null;
}

/** I1: where an attempt runs at most once, a window holds at most one effect. */
function effectsPerWindow({ effects, age }: History): string | null {
  const seen = new Set<number>();
  for (const { window, isHeld, happensAt } of effects) {
    if (!isHeld || happensAt === null || happensAt > age) continue;
    if (seen.has(window)) return `two effects in window ${window}`;
    seen.add(window);
  }
  return null;
}

/** I2: all answers of one window are the same. */
function oneAnswerPerWindow({ rows }: History): string | null {
  const first = new Map<number, string>();
  for (const row of rows) {
    const given = givenAnswer(row);
    if (given === null) continue;
    const known = first.get(windowOf(row)) ?? given;
    if (known !== given) return `${known}, then ${given}`;
    first.set(windowOf(row), known);
  }
  return null;
}

function tokenIn(row: Row): Token | null {
  return "token" in row.event ? row.event.token : null;
}

/** What a token gives a right to change, as text. A lease that is over by itself is nobody's change, nor is one that the clock prolongs. */
function rightsOf(record: Row["before"], aged: Life | null): string {
  if (record.state === "absent") return "absent";
  const { state, inc, n, effect } = record;
  const isLapsed = aged !== null && aged.grant.until <= aged.t;
  if (state === "in-flight")
    return isLapsed
      ? `unknown ${inc} ${n}`
      : `${state} ${inc} ${n} ${aged?.grant.until ?? record.leaseUntil}`;
  if (state === "unknown") return `${state} ${inc} ${n}`;
  const what =
    state === "settled" ? `${record.settledAt} ${describeAnswer(record.answer)}` : record.releasedAt;
  return `${state} ${inc} ${n} ${effect} ${what}`;
}

/** I3: a token that is not the current one changes nothing. */
function staleTokensChangeNothing({ rows }: History): string | null {
  for (const row of rows) {
    const token = tokenIn(row);
    const life = row.expected.life;
    if (token === null || (life !== null && life.inc === token.inc && life.grant.n === token.n)) continue;
    const aged = life === null ? null : ageLife(life, row.now);
    const over = aged !== null && aged.grant.until <= aged.t ? aged : null;
    const [was, is] = [rightsOf(row.before, aged), rightsOf(row.after, over)];
    if (was !== is) return `${row.event.do} with an old token made ${was} into ${is}`;
  }
  return null;
}

/** I5, as far as a key can break it: its outbox holds what it made and the ledger has not acknowledged. */
function outboxOwesTheRest({ rows }: History): string | null {
  const owed = new Map<string, number>();
  const made = new Map<string, number>();
  for (const { event, before, after, entries } of rows) {
    if (after.state === "absent") {
      owed.clear();
      continue;
    }
    for (const [inc, { length }] of splitByLife(before, after, entries)) {
      made.set(inc, (made.get(inc) ?? 0) + length);
      owed.set(inc, (owed.get(inc) ?? 0) + length);
    }
    const count = event.do === "acknowledge" ? (made.get(event.inc) ?? 0) : 0;
    if (event.do === "acknowledge" && event.seq <= count) {
      owed.set(event.inc, Math.min(owed.get(event.inc) ?? 0, count - event.seq));
    }
    for (const [inc, count] of owed) {
      const kept = after.outbox.find((stream) => stream.inc === inc)?.entries.length ?? 0;
      if (kept !== count) return `${inc}: ${count} owed, ${kept} kept`;
    }
  }
  return null;
}

/** I8: a replay goes only to the request that was granted. */
function replaysKeepTheFingerprint({ rows }: History): string | null {
  for (const { event, answer, expected } of rows) {
    if (event.do !== "begin" || answer.kind !== "replay") continue;
    if (expected.life?.fp !== event.fp) return "another request's answer was replayed";
  }
  return null;
}

/** I9: a record leaves storage only when its quarantine is over, and takes no undelivered entry with it. */
function recordsLeaveLast({ rows }: History): string | null {
  for (const { before, after, expected, now, isDelivered, entries } of rows) {
    if (before.state === "absent") continue;
    if (after.state !== "absent" && after.inc === before.inc) continue;
    const end = expected.life === null ? null : endOf(expected.life);
    if (end === null || end > Math.max(before.t, now)) return `${before.state} left storage before its end`;
    const kept = after.state === "absent" ? [] : after.outbox;
    const isKept = before.outbox.every((stream) => {
      const copy = kept.find(({ inc }) => inc === stream.inc);
      return stream.entries.length === 0 || (copy?.entries.length ?? 0) >= stream.entries.length;
    });
    if (after.state === "absent" ? !isDelivered : !isKept) return "undelivered entries were forgotten";
    const last = splitByLife(before, after, entries)[0]?.[1].at(-1);
    if (last?.type !== "purged") return "a record left storage without a word";
  }
  return null;
}

/** I10: once somebody has the answer, nobody in that window is told anything earlier. */
function answersStayGiven({ rows }: History): string | null {
  const answered = new Set<number>();
  for (const row of rows) {
    const { event, answer } = row;
    const isEarlier = answer.kind === "run" || answer.kind === "in-flight" || answer.kind === "unknown";
    if (event.do === "begin" && isEarlier && answered.has(windowOf(row)))
      return `${answer.kind} after an answer`;
    if (givenAnswer(row) !== null) answered.add(windowOf(row));
  }
  return null;
}

/** I11: what is replayed is what the origin said of that very effect. */
function replaysAreTheOrigins({ rows, effects }: History): string | null {
  for (const { answer } of rows) {
    if (answer.kind !== "replay" || answer.settled.answer.kind === "lost") continue;
    const said = describeAnswer(answer.settled.answer);
    const source = effects.find(({ effect }) => effect === answer.settled.effect);
    const isSaid = source?.answers.some((one) => describeAnswer(one) === said) ?? false;
    if (!isSaid) return `the origin never said ${said} of ${answer.settled.effect}`;
  }
  return null;
}

/** I12: a released attempt has no effect, now or later. */
function releasedMeansNothingHappened({ rows, effects }: History): string | null {
  for (const { after } of rows) {
    if (after.state !== "released") continue;
    const source = effects.find(({ effect }) => effect === after.effect);
    if (source === undefined || source.happensAt !== null) return `${after.effect} was released and happens`;
  }
  return null;
}

/** I13: tokens grow within a life and never come again in another; so do the ids of effects. */
function tokensNeverRepeat({ rows }: History): string | null {
  const highest = new Map<string, number>();
  const granted = new Set<string>();
  const lastWindow = new Map<string, number>();
  for (const row of rows) {
    if (row.answer.kind !== "run" || row.answer.repeated) continue;
    const { token, effect } = row.answer.grant;
    if (token.n !== (highest.get(token.inc) ?? 0) + 1) return `token ${token.inc}:${token.n} out of order`;
    if ((lastWindow.get(token.inc) ?? windowOf(row)) !== windowOf(row)) return `life ${token.inc} came again`;
    if (granted.has(effect)) return `effect ${effect} was granted twice`;
    highest.set(token.inc, token.n);
    lastWindow.set(token.inc, windowOf(row));
    granted.add(effect);
  }
  return null;
}

/** I14: the time of a life never runs backwards. A new one begins by the clock as it is. */
function timeNeverFalls({ rows }: History): string | null {
  for (const { before, after, entries } of rows) {
    const isNew = before.state === "absent" || (after.state !== "absent" && after.inc !== before.inc);
    const from = isNew ? Number.NEGATIVE_INFINITY : before.t;
    if (after.state !== "absent" && after.t < from) return `from ${from} to ${after.t}`;
    if (entries.some(({ at }) => at < from)) return "an entry is older than its record";
  }
  return null;
}

type Place = { state: string; attempt: number };
const START: Place = { state: "start", attempt: 0 };

/** Where an entry leads from a state of the machine; null where it has no business there. */
function follow({ state, attempt }: Place, entry: Entry): Place | null {
  const isOpen = state === "in-flight" || state === "unknown";
  switch (entry.type) {
    case "granted":
      if (state !== "fenced" && state !== "released" && state !== "start") return null;
      return entry.attempt === attempt + 1 ? { state: "in-flight", attempt: entry.attempt } : null;
    case "settled":
    case "released":
      return isOpen && entry.attempt === attempt ? { state: entry.type, attempt } : null;
    case "unknown":
      return state === "in-flight" && entry.attempt === attempt ? { state: "unknown", attempt } : null;
    case "fenced":
      return state === "unknown" && entry.attempt === attempt ? { state: "fenced", attempt } : null;
    case "proposed":
      return state === "unknown" && entry.attempt === attempt ? { state, attempt } : null;
    case "purged":
      return state === "settled" || state === "released" ? { state: "absent", attempt } : null;
    case "observed":
      return isSeenIn(state, entry.code) && entry.attempt === attempt ? { state, attempt } : null;
    case "effect":
    case "effect-contradiction":
      return entry.attempt <= attempt ? { state, attempt } : null;
    case "late":
    case "contradiction":
      return { state, attempt };
  }
}

/** A caller is replayed or refused by what is true: the code says what that was. */
function isSeenIn(state: string, code: string): boolean {
  if (["replayed", "answer-not-kept", "key-expired"].includes(code)) return state === "settled";
  if (code === "in-flight") return state === "in-flight";
  if (code === "outcome-unknown") return state === "unknown";
  return state !== "start" && state !== "absent";
}

/** I15: entries are a path through the machine to where the record is, and each names its own effect. */
function entriesArePaths({ rows }: History): string | null {
  let place: Place = START;
  let stream = "";
  let effects = new Map<number, string>();
  for (const { event, entries, before, after } of rows) {
    for (const [inc, part] of splitByLife(before, after, entries)) {
      if (inc !== stream) [place, effects] = [START, new Map()];
      stream = inc;
      for (const entry of part) {
        const next = follow(place, entry);
        if (next === null) return `${entry.type} ${entry.attempt} in ${place.state} ${place.attempt}`;
        place = next;
        const own = effects.get(entry.attempt) ?? entry.effect;
        const isLate = entry.type === "late" && event.do === "settle" && event.token.n === entry.attempt;
        const effect = isLate ? event.effect : own;
        if (effect !== entry.effect)
          return `${entry.type} ${entry.attempt} says ${entry.effect}, not ${effect}`;
        if (entry.type === "granted") effects.set(entry.attempt, effect);
      }
    }
    const end = place.state === "start" ? "absent" : place.state;
    if (end !== after.state) return `entries say ${end}, the record is ${after.state}`;
  }
  return null;
}

/** told: what a fenced settle said is kept, once at least, as long as the record has not come to its end, and unless that is known. */
function fencedAnswersAreTold({ rows }: History): string | null {
  const told = new Set<string | null>();
  for (const { now, event, answer, before, after, entries } of rows) {
    for (const entry of entries) if ("answerDigest" in entry) told.add(entry.answerDigest);
    if (event.do !== "settle" || answer.kind !== "fenced" || after.state === "absent" || isOver(before, now))
      continue;
    const digest = event.answer.kind === "lost" ? null : event.answer.digest;
    if (!told.has(digest) && !isKnownCommitted(before, event.token)) return `nobody hears of ${digest}`;
  }
  return null;
}

/** It was closed as committed by somebody who had no answer. */
export function isKnownCommitted(record: KeyRecord, { inc, n }: Token): boolean {
  return record.state === "settled" && record.answer.kind === "lost" && record.inc === inc && record.n === n;
}

function isOver(record: KeyRecord, now: number): boolean {
  if (record.state !== "settled" && record.state !== "released") return false;
  const closedAt = record.state === "settled" ? record.settledAt : record.releasedAt;
  return closedAt + record.terms.windowMs + record.terms.quarantineMs <= Math.max(record.t, now);
}

/** L: whatever time or the ledger has still to do with a record, an alarm stands for it. Observations wait for no alarm. */
function alarmsStand({ rows }: History): string | null {
  for (const { after, alarm } of rows) {
    if (after.state === "absent") {
      if (alarm !== null) return "an alarm stands for nothing";
      continue;
    }
    const isDelivered = after.outbox.every(({ entries }) => entries.every(({ type }) => type === "observed"));
    const at = alarm ?? Number.POSITIVE_INFINITY;
    const canWait = isDelivered && after.state === "unknown" && after.terms.probeDelayMs === null;
    if (alarm === null && !canWait) return `nothing wakes ${after.state}`;
    if (after.state === "in-flight" && at > after.leaseUntil) return "the alarm comes after the lease's end";
    const { windowMs, quarantineMs } = after.terms;
    const closedAt =
      after.state === "settled" ? after.settledAt : after.state === "released" ? after.releasedAt : null;
    const isOver = closedAt !== null && at > closedAt + windowMs + quarantineMs && isDelivered;
    if (isOver) return "the alarm comes after the quarantine's end";
  }
  return null;
}

export const INVARIANTS: readonly (readonly [string, Invariant])[] = [
  ["I1", effectsPerWindow],
  ["I2", oneAnswerPerWindow],
  ["I3", staleTokensChangeNothing],
  ["I5", outboxOwesTheRest],
  ["I8", replaysKeepTheFingerprint],
  ["I9", recordsLeaveLast],
  ["I10", answersStayGiven],
  ["I11", replaysAreTheOrigins],
  ["I12", releasedMeansNothingHappened],
  ["I13", tokensNeverRepeat],
  ["I14", timeNeverFalls],
  ["I15", entriesArePaths],
  ["told", fencedAnswersAreTold],
  ["L", alarmsStand],
];
