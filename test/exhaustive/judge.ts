/** One event on one place: the real machine beside the reference model, and every invariant that this event can break. */
import type { Entry } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import type { KeyRecord } from "../../src/core/record.ts";
import { type Row, type Step, splitByLife } from "../model/history.ts";
import { INVARIANTS, isKnownCommitted } from "../model/invariants.ts";
import { predict } from "../model/reference.ts";
import { describeAnswer } from "../model/words.ts";
import { adoptTime, compare, Violation } from "../model/world.ts";
import { type Attempt, type Case, isOut, objectTime, type Place, type Told } from "./place.ts";

/** Those that one event alone shows; the others are judged below, by what a place remembers. */
const OF_ONE_EVENT = new Set(["I3", "I8", "I9", "I14", "L"]);
const ROW_INVARIANTS = INVARIANTS.filter(([name]) => OF_ONE_EVENT.has(name));

/** Throws a `Violation` where the machine does what the rules forbid. */
export function happen(step: Step, about: Case, place: Place, event: Event): { place: Place; row: Row } {
  const now = objectTime(place);
  const { record: before, reference: expected } = place;
  const isDelivered = place.told.every(({ made, acked }) => made === acked);
  const { next, answers } = predict(expected, event, now, isDelivered);
  const { record: after, answer, entries, alarm } = step(before, event, now);
  const row: Row = { now, event, before, after, answer, entries, alarm, expected, next, isDelivered };
  const history = { rows: [row], effects: [], age: 0 };
  for (const [name, invariant] of ROW_INVARIANTS) {
    const broken = invariant(history);
    if (broken !== null) throw new Violation(name, broken);
  }
  const told = tell(place.told, row);
  judgeOutbox(after, told);
  const given = judgeAnswer(row, next.windows === expected.windows ? place.given : null, place.attempts);
  const attempts = judgeAttempts(row, place, about);
  judgeEntries(row, attempts);
  compare(row, answers);
  const reference = adoptTime(expected, next, after);
  return { place: { ...place, record: after, reference, told, given, attempts }, row };
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

/** I2, I10, I11. Gives the answer that somebody has for good after this event. */
function judgeAnswer(row: Row, given: string | null, attempts: readonly Attempt[]): string | null {
  const { event, answer, after } = row;
  const isEarlier = answer.kind === "run" || answer.kind === "in-flight" || answer.kind === "unknown";
  if (event.do === "begin" && isEarlier && given !== null)
    throw new Violation("I10", `${answer.kind} after an answer`);
  const isStored = event.do === "settle" && answer.kind === "done" && after.state === "settled";
  const settled = answer.kind === "replay" ? answer.settled : isStored ? after : null;
  if (settled === null) return given;
  const said = describeAnswer(settled.answer);
  if (given !== null && given !== said) throw new Violation("I2", `${given}, then ${said}`);
  const source = attempts.find(({ effect }) => effect === settled.effect);
  const isOrigins = settled.answer.kind === "lost" || settled.answer.digest === settled.effect;
  if (answer.kind === "replay" && settled.answer.kind !== "lost" && source?.fate !== "happened")
    throw new Violation("I11", `${settled.effect} has not happened and is replayed`);
  if (!isOrigins) throw new Violation("I11", `the origin never said ${said} of ${settled.effect}`);
  return said;
}

/** I12, I13. A new grant makes an attempt; a release marks the one it frees; a fenced settle has to be told. */
function judgeAttempts(row: Row, place: Place, about: Case): readonly Attempt[] {
  const { answer, after, before, event, next } = row;
  let { attempts } = place;
  if (answer.kind === "run" && !answer.repeated) {
    const { token, effect, leaseMs } = answer.grant;
    const earlier = attempts.filter(({ inc }) => inc === token.inc);
    if (token.n !== earlier.length + 1) throw new Violation("I13", `token ${token.inc}:${token.n}`);
    if (earlier.some(({ window }) => window !== next.windows))
      throw new Violation("I13", `life ${token.inc} came again`);
    if (attempts.some((known) => known.effect === effect)) throw new Violation("I13", `${effect} came again`);
    const fresh = { dispatch: "not-yet", fate: "open", arrivesUntil: 0, happenedAt: 0 } as const;
    const leaseUntil = place.clock + leaseMs;
    const marks = { isFreed: false, isTold: false };
    attempts = [...attempts, { ...token, effect, window: next.windows, leaseUntil, ...fresh, ...marks }];
  }
  const isFreed = after.state === "released" && before.state !== "released";
  const isFenced = event.do === "settle" && answer.kind === "fenced" && after.state !== "absent";
  const isRefused = isFenced && !isKnownCommitted(before, event.token);
  if (!isFreed && !isRefused && row.entries.length === 0) return attempts;
  return attempts.map((attempt) => {
    const isTold = attempt.isTold || row.entries.some((entry) => digestOf(entry) === attempt.effect);
    const isOver = next.life === null || (row.expected.life !== null && isFinished(row));
    if (isRefused && !isTold && !isOver && event.effect === attempt.effect)
      throw new Violation("told", `nobody hears of ${attempt.effect}`);
    if (!isFreed || attempt.inc !== after.inc || attempt.n !== after.n) return { ...attempt, isTold };
    if (!isOut(attempt, place.clock, about)) throw new Violation("I12", `${attempt.effect} may happen`);
    return { ...attempt, isTold, isFreed: true };
  });
}

function digestOf(entry: Entry): string | null {
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
function judgeEntries({ before, after, entries }: Row, attempts: readonly Attempt[]): void {
  let state: string = before.state;
  for (const [inc, part] of splitByLife(before, after, entries)) {
    for (const { type, attempt: n, effect } of part) {
      const leads = LEADS[type];
      if (leads?.from.includes(state) === false) throw new Violation("I15", `${type} in ${state}`);
      state = leads?.to ?? state;
      const own = attempts.find((attempt) => attempt.inc === inc && attempt.n === n);
      const isForeign = own?.effect !== effect && type !== "late";
      const isMisnamed = type === "late" && !attempts.some((one) => one.effect === effect && one.n === n);
      if (isForeign || isMisnamed) throw new Violation("I15", `${type} ${n} says ${effect}`);
    }
  }
  if (state !== after.state) throw new Violation("I15", `entries say ${state}, the record is ${after.state}`);
}

/** I1: where an attempt runs at most once, a window holds at most one effect. And what was freed stays undone. */
export function judgeEffects(attempts: readonly Attempt[], about: Case): void {
  const happened = attempts.filter(({ fate }) => fate === "happened");
  const freed = happened.find(({ isFreed }) => isFreed);
  if (freed !== undefined) throw new Violation("I12", `${freed.effect} was released and happens`);
  if (about.terms[0].onCrash !== "hold") return;
  const windows = new Set(happened.map(({ window }) => window));
  if (windows.size < happened.length) throw new Violation("I1", "two effects in one window");
}
