/** One key, its clients, origin and ledger, an event at a time: the machine beside the reference model. */

import type { Entry } from "../../src/core/entry.ts";
import type { Event, StepAnswer, Verdict } from "../../src/core/event.ts";
import {
  ABSENT,
  type Answer,
  type KeyRecord,
  type Sealed,
  type Terms,
  type Token,
} from "../../src/core/record.ts";
import { probeDueOf } from "../../src/core/step.ts";
import { type Effect, type History, type Row, type Step, splitByLife } from "./history.ts";
import { INVARIANTS } from "./invariants.ts";
import { NOTHING, predict, type Reference, stateOf } from "./reference.ts";
import { describeAnswer } from "./words.ts";

export const SECOND = 1_000;
const START = 1_000_000_000_000;

/** A grant that somebody holds, and the effect it may have. */
export type Held = { token: Token; effect: Effect };

/** How the origin takes a dispatch: at once, after a while, or never. */
export type Fate = "now" | "later" | "never";

/** All invariants, then the model; or one invariant alone, so that each can show that it sees something. */
export type Judging = { by: "all" } | { by: "invariant"; name: string };

/** What the machine did wrong. `by` names the invariant, or `model` for the reference model. */
export class Violation extends Error {
  readonly by: string;
  constructor(by: string, what: string) {
    super(`${by}: ${what}`);
    this.by = by;
  }
}

function describe(answer: StepAnswer): string {
  if (answer.kind === "replay") return `replay ${describeAnswer(answer.settled.answer)}`;
  if (answer.kind !== "run") return answer.kind;
  const { token, effect, leaseMs, executionMs } = answer.grant;
  const grant = `run ${token.inc} ${token.n} ${effect} ${leaseMs} ${executionMs}`;
  return answer.repeated ? `${grant} again` : grant;
}

function answerIn(record: KeyRecord): string {
  return record.state === "settled" ? describeAnswer(record.answer) : "";
}

/** An answer of the origin. Variant 0 is the true one; the others differ in digest, status or kind. */
export function makeAnswer(effect: string, variant: number): Answer {
  const status = variant === 2 ? 500 : 201;
  const digest = variant === 1 ? `${effect}-other` : effect;
  if (variant === 3) return { kind: "not-kept", status, size: 9, digest };
  const sealed: Sealed = {
    key: "k1",
    salt: new Uint8Array(1),
    head: new Uint8Array(1),
    isBound: false,
    body: "inline",
  };
  return { kind: "kept", status, size: 9, digest, sealed };
}

export class World {
  record: KeyRecord = ABSENT;
  reference: Reference = NOTHING;
  clock = START;
  readonly held: Held[] = [];
  readonly history: History = { rows: [], effects: [], age: 0 };
  /** Entries made and acknowledged, by stream. */
  readonly streams = new Map<string, { made: number; acked: number }>();
  readonly step: Step;
  readonly judging: Judging;
  #ids = 0;

  constructor(step: Step, judging: Judging) {
    this.step = step;
    this.judging = judging;
  }

  isDelivered(): boolean {
    return [...this.streams.values()].every(({ made, acked }) => made === acked);
  }

  advance(ms: number): void {
    this.clock += ms;
    this.history.age += Math.max(0, ms);
  }

  send(event: Event): StepAnswer {
    const { clock: now, record: before, reference: expected } = this;
    const isDelivered = this.isDelivered();
    const { next, answers } = predict(expected, event, now, isDelivered);
    const { record: after, answer, entries, alarm } = this.step(before, event, now);
    this.record = after;
    this.reference = adoptTime(expected, next, after);
    this.#count(event, before, after, entries);
    const row: Row = { now, event, before, after, answer, entries, alarm, expected, next, isDelivered };
    this.history.rows.push(row);
    this.judge();
    if (this.judging.by === "all") compare(row, answers);
    return answer;
  }

  /** `fate`: how the origin takes it if this is a new grant. */
  begin(nonce: string, fp: string, authorized: boolean, terms: Terms, fate: Fate): void {
    this.#ids += 1;
    const id = this.#ids;
    const fresh = { inc: `life${id}`, effect: `effect${id}`, owner: "owner", route: "route", terms };
    const answer = this.send({ do: "begin", nonce, fp, authorized, fresh });
    if (answer.kind !== "run" || answer.repeated) return;
    const { token, effect } = answer.grant;
    const life = this.reference.life;
    const delay = life?.terms.probeDelayMs ?? 30 * SECOND;
    const wait = fate === "later" ? delay - 1 : 0;
    const happensAt = fate === "never" ? null : this.history.age + wait;
    const isHeld = (life?.terms.onCrash ?? "hold") === "hold";
    const made = { effect, window: this.reference.windows, isHeld, happensAt, answers: [] };
    this.history.effects.push(made);
    this.held.push({ token, effect: made });
    this.judge();
  }

  /** The origin voids an effect that has not come about. */
  seal(effect: Effect): void {
    if (effect.happensAt !== null && effect.happensAt > this.history.age) effect.happensAt = null;
  }

  hasHappened(effect: Effect): boolean {
    return effect.happensAt !== null && effect.happensAt <= this.history.age;
  }

  /** What the origin says of an effect that has happened, noted as said. */
  say(effect: Effect, variant: number): Answer {
    const answer = makeAnswer(effect.effect, variant);
    effect.answers.push(answer);
    return answer;
  }

  /**
   * Faults end: the ledger acknowledges, the origin answers and seals, the object wakes when it has to.
   * All that the machine may leave behind then is an outcome that nobody can be asked about.
   */
  heal(): void {
    for (let turn = 0; turn < 20; turn += 1) {
      for (const [inc, { made }] of [...this.streams]) {
        this.send({ do: "acknowledge", inc, seq: made, head: `head${made}` });
      }
      const alarm = this.history.rows.at(-1)?.alarm ?? null;
      if (alarm === null) break;
      this.advance(Math.max(0, alarm - this.clock));
      this.send({ do: "tick" });
      const last = this.held.at(-1);
      if (last === undefined || this.record.state !== "unknown") continue;
      const due = probeDueOf(this.record, this.clock);
      if (due === null || due > this.clock) continue;
      this.seal(last.effect);
      const verdict: Verdict = this.hasHappened(last.effect)
        ? { kind: "committed", answer: this.say(last.effect, 0) }
        : { kind: "none", sealed: true, ageMs: 0 };
      this.send({ do: "probed", token: last.token, verdict, jitter: 0 });
    }
    const { record } = this;
    const isLeft = record.state === "unknown" && record.terms.probeDelayMs === null;
    if (record.state !== "absent" && !isLeft) throw new Violation("L", `${record.state} stays for ever`);
  }

  judge(): void {
    for (const [name, invariant] of INVARIANTS) {
      if (this.judging.by === "invariant" && this.judging.name !== name) continue;
      const broken = invariant(this.history);
      if (broken !== null) throw new Violation(name, broken);
    }
  }

  #count(event: Event, before: KeyRecord, after: KeyRecord, entries: readonly Entry[]): void {
    if (event.do === "acknowledge") {
      const stream = this.streams.get(event.inc);
      if (stream !== undefined && event.seq <= stream.made) stream.acked = Math.max(stream.acked, event.seq);
    }
    if (after.state === "absent") {
      this.streams.clear();
      return;
    }
    for (const [inc, made] of splitByLife(before, after, entries)) {
      const stream = this.streams.get(inc) ?? { made: 0, acked: 0 };
      stream.made += made.length;
      this.streams.set(inc, stream);
    }
  }
}

/**
 * A record's time is stored with its writes, and a mere look writes nothing: its word is taken for a time
 * between the last one and this one.
 */
export function adoptTime(before: Reference, next: Reference, record: KeyRecord): Reference {
  if (next.life === null || before.life === null || record.state === "absent") return next;
  const isBetween = record.t >= before.life.t && record.t <= next.life.t && next.windows === before.windows;
  return isBetween ? { ...next, life: { ...next.life, t: record.t } } : next;
}

export function compare({ event, after, answer, next }: Row, answers: readonly string[]): void {
  const said = describe(answer);
  if (!answers.includes(said))
    throw new Violation("model", `${event.do}: ${said} instead of ${answers.join(" or ")}`);
  const state = stateOf(next);
  if (after.state !== state) throw new Violation("model", `${event.do}: ${after.state} instead of ${state}`);
  const { life } = next;
  if (life === null || after.state === "absent") return;
  const is = `${after.inc} ${after.n} ${after.effect} ${after.fp} ${answerIn(after)}`;
  const ought = `${life.inc} ${life.grant.n} ${life.grant.effect} ${life.fp} ${life.said}`;
  if (is !== ought) throw new Violation("model", `${event.do}: ${is} instead of ${ought}`);
  if (after.state === "in-flight" && after.leaseUntil !== life.grant.until) {
    throw new Violation("model", `${event.do}: lease to ${after.leaseUntil} instead of ${life.grant.until}`);
  }
}
