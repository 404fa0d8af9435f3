/** One event on a key: the real machine beside the reference model, and every invariant that this event can break. */
import type { Entry } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import { type KeyRecord, timeOf } from "../../src/core/record.ts";
import { type Row, type Step, splitByLife } from "../model/history.ts";
import { INVARIANTS, isKnownCommitted } from "../model/invariants.ts";
import { predict } from "../model/reference.ts";
import { describeAnswer } from "../model/words.ts";
import { adoptTime, compare, Violation } from "../model/world.ts";
import { type Granted, type Key, placeOf, type Told } from "./place.ts";

/** What an event on the key means for the attempts outside of it; each by its place in the list, -1 where there is none. */
export type Facts = {
  /** A new attempt, with this lease. */
  granted: number | null;
  /** The last attempt's lease goes on for this long. */
  renewed: number | null;
  /** Its answer was replayed. */
  replayed: number;
  /** It is taken to have no effect. */
  freed: number;
  /** A lease was granted, made longer or said to run, or a doubt began, by the clock as it is. */
  isMeasured: boolean;
  /** The object that runs it has restarted. */
  orphaned: number;
  /** What they said stands in an entry. */
  told: readonly number[];
  /** Its answer was refused and is in no entry, unless in an earlier one. */
  unheard: number;
};

/** Those that one event alone shows; the others are judged below, by what a key remembers, and in `follow.ts`. */
const OF_ONE_EVENT = new Set(["I3", "I8", "I9", "I14", "L"]);
const ROW_INVARIANTS = INVARIANTS.filter(([name]) => OF_ONE_EVENT.has(name));

/** Throws a `Violation` where the machine does what the rules forbid. */
export function happen(step: Step, key: Key, event: Event): { key: Key; row: Row; facts: Facts } {
  const { record: before, reference: expected, now } = key;
  const isDelivered = key.told.every(({ made, acked }) => made === acked);
  const { next, answers } = predict(expected, event, now, isDelivered);
  const { record: after, answer, entries, alarm } = step(before, event, now);
  const row: Row = { now, event, before, after, answer, entries, alarm, expected, next, isDelivered };
  const history = { rows: [row], effects: [], age: 0 };
  for (const [name, invariant] of ROW_INVARIANTS) {
    const broken = invariant(history);
    if (broken !== null) throw new Violation(name, broken);
  }
  const told = tell(key.told, row);
  judgeOutbox(after, told);
  const given = judgeAnswer(row, next.windows === expected.windows ? key.given : null);
  const attempts = judgeGrant(row, key.attempts);
  judgeEntries(row, attempts);
  compare(row, answers);
  const reference = adoptTime(expected, next, after);
  const facts = factsOf(row, key.attempts, attempts);
  return { key: { record: after, reference, told, given, attempts, now }, row, facts };
}

function tell(told: readonly Told[], { event, before, after, entries }: Row): readonly Told[] {
  if (after.state === "absent") return [];
  const acked =
    event.do === "acknowledge"
      ? told.map((one) =>
          one.inc === event.inc && event.seq <= one.made && event.seq > one.acked
            ? { ...one, acked: event.seq }
            : one,
        )
      : told;
  if (entries.length === 0 && before.state !== "absent" && before.inc === after.inc) return acked;
  const counts = new Map(acked.map((one) => [one.inc, one]));
  for (const [inc, { length }] of splitByLife(before, after, entries)) {
    const one = counts.get(inc) ?? { inc, made: 0, acked: 0 };
    counts.set(inc, { ...one, made: one.made + length });
  }
  return [...counts.values()].filter((one) => one.inc === after.inc || one.made > one.acked);
}

/** I5, as far as a key can break it. */
function judgeOutbox(after: KeyRecord, told: readonly Told[]): void {
  if (after.state === "absent") return;
  for (const { inc, made, acked } of told) {
    const kept = after.outbox.find((stream) => stream.inc === inc)?.entries.length ?? 0;
    if (kept !== made - acked) throw new Violation("I5", `${inc}: ${made - acked} owed, ${kept} kept`);
  }
}

/** I2, I10, and half of I11. Gives the answer that somebody has for good after this event. */
function judgeAnswer({ event, answer, after }: Row, given: string | null): string | null {
  const isEarlier = answer.kind === "run" || answer.kind === "in-flight" || answer.kind === "unknown";
  if (event.do === "begin" && isEarlier && given !== null)
    throw new Violation("I10", `${answer.kind} after an answer`);
  const isStored = event.do === "settle" && answer.kind === "done" && after.state === "settled";
  const settled = answer.kind === "replay" ? answer.settled : isStored ? after : null;
  if (settled === null) return given;
  const said = describeAnswer(settled.answer);
  if (given !== null && given !== said) throw new Violation("I2", `${given}, then ${said}`);
  const isOrigins = settled.answer.kind === "lost" || settled.answer.digest === settled.effect;
  if (!isOrigins) throw new Violation("I11", `the origin never said ${said} of ${settled.effect}`);
  return said;
}

/** I13. A new grant makes an attempt. */
function judgeGrant({ answer, next }: Row, attempts: readonly Granted[]): readonly Granted[] {
  if (answer.kind !== "run" || answer.repeated) return attempts;
  const { token, effect } = answer.grant;
  const earlier = attempts.filter(({ inc }) => inc === token.inc);
  if (token.n !== earlier.length + 1) throw new Violation("I13", `token ${token.inc}:${token.n}`);
  if (earlier.some(({ window }) => window !== next.windows))
    throw new Violation("I13", `life ${token.inc} came again`);
  if (attempts.some((known) => known.effect === effect)) throw new Violation("I13", `${effect} came again`);
  return [...attempts, { ...token, effect, window: next.windows }];
}

function factsOf(row: Row, earlier: readonly Granted[], attempts: readonly Granted[]): Facts {
  const { answer, before, after, event, entries } = row;
  const isGrant = answer.kind === "run" && attempts !== earlier;
  const isReplay = answer.kind === "replay" && answer.settled.answer.kind !== "lost";
  const isFreed = after.state === "released" && before.state !== "released";
  const runsHere = before.state === "in-flight" && before.terms.executor === "object";
  const isRenewed = event.do === "renew" && answer.kind === "done" && after.state === "in-flight";
  const tells = (place: number) =>
    entries.some((entry) => saidIn(entry) !== null && saidIn(entry) === attempts[place]?.effect);
  return {
    granted: isGrant ? answer.grant.leaseMs : null,
    renewed: isRenewed ? after.leaseUntil - timeOf(after, row.now) : null,
    replayed: isReplay ? attempts.findIndex(({ effect }) => effect === answer.settled.effect) : -1,
    freed: isFreed ? placeOf(attempts, after) : -1,
    isMeasured: isRenewed || isMeasured(before, after),
    orphaned: event.do === "orphan" && runsHere ? placeOf(attempts, before) : -1,
    told: entries.length === 0 ? [] : [...attempts.keys()].filter(tells),
    unheard: unheardIn(row, attempts, tells),
  };
}

function isMeasured(before: KeyRecord, after: KeyRecord): boolean {
  if (after.state === "unknown") return before.state === "in-flight" && after.reason !== "lease-over";
  if (after.state !== "in-flight") return false;
  return before.state !== "in-flight" || before.leaseUntil !== after.leaseUntil || before.n !== after.n;
}

/** A refused answer has to be told, once at least, as long as the record has not come to its end. */
function unheardIn(row: Row, attempts: readonly Granted[], tells: (place: number) => boolean): number {
  const { event, answer, before, after, next, expected } = row;
  if (event.do !== "settle" || answer.kind !== "fenced" || after.state === "absent") return -1;
  if (next.life === null || (expected.life !== null && isFinished(row))) return -1;
  if (isKnownCommitted(before, event.token)) return -1;
  const place = attempts.findIndex(({ effect }) => effect === event.effect);
  const last = before.state === "absent" ? undefined : before.outbox.at(-1)?.entries.at(-1);
  const isLast = last !== undefined && saidIn(last) === event.effect;
  return isLast || tells(place) ? -1 : place;
}

function saidIn(entry: Entry): string | null {
  return "answerDigest" in entry ? entry.answerDigest : null;
}

function isFinished({ before, now }: Row): boolean {
  if (before.state !== "settled" && before.state !== "released") return false;
  const closedAt = before.state === "settled" ? before.settledAt : before.releasedAt;
  return closedAt + before.terms.windowMs + before.terms.quarantineMs <= Math.max(before.t, now);
}

/** Where each entry leads, by the states it may be written in. */
const LEADS: Readonly<Partial<Record<Entry["type"], { from: readonly string[]; to: string }>>> = {
  granted: { from: ["absent", "fenced", "released"], to: "in-flight" },
  settled: { from: ["in-flight", "unknown"], to: "settled" },
  released: { from: ["in-flight", "unknown"], to: "released" },
  unknown: { from: ["in-flight"], to: "unknown" },
  fenced: { from: ["unknown"], to: "fenced" },
  proposed: { from: ["unknown"], to: "unknown" },
  purged: { from: ["settled", "released"], to: "absent" },
};

/** I15: entries lead from the state before to the state after, and each names its attempt's own effect. */
function judgeEntries({ before, after, entries }: Row, attempts: readonly Granted[]): void {
  let state: string = before.state;
  for (const [inc, part] of splitByLife(before, after, entries)) {
    for (const { type, attempt: n, effect } of part) {
      const leads = LEADS[type];
      if (leads?.from.includes(state) === false) throw new Violation("I15", `${type} in ${state}`);
      state = leads?.to ?? state;
      const own = attempts[placeOf(attempts, { inc, n })];
      const isForeign = own?.effect !== effect && type !== "late";
      const isMisnamed = type === "late" && !attempts.some((one) => one.effect === effect && one.n === n);
      if (isForeign || isMisnamed) throw new Violation("I15", `${type} ${n} says ${effect}`);
    }
  }
  if (state !== after.state) throw new Violation("I15", `entries say ${state}, the record is ${after.state}`);
}
