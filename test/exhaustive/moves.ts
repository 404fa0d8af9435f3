/** All that can happen next at a place: to the key, to executors, at the origin, to the clock. */
import type { Grounds } from "../../src/core/entry.ts";
import type { Event, Verdict } from "../../src/core/event.ts";
import type { KeyRecord, Outcome, Token } from "../../src/core/record.ts";
import type { Step } from "../model/history.ts";
import { makeAnswer } from "../model/world.ts";
import { happen, judgeEffects } from "./judge.ts";
import { type Attempt, type Case, isOut, objectTime, type Place, UNIT } from "./place.ts";

/** `go` gives the next place, or null where nothing has changed or it lies outside of the search. */
export type Move = { name: string; go: () => Place | null };

/**
 * `dispatches`: `late` is an executor that does not mind when its grant reached it. `clock`: the object's clock may step back once, by a
 * little, or by more than a lease, and be set right then.
 */
export type Search = {
  step: Step;
  about: Case;
  attemptsMax: number;
  dispatches: "in-time" | "late";
  clock: "a little back" | "far back";
};

const LOST: Outcome = { kind: "committed", word: "lost", answer: { kind: "lost" } };
const GROUNDS: Grounds = { code: null, target: null, digest: "d".repeat(64) };
const NOT_COMMITTED: Outcome = { kind: "not-committed" };

export function listMoves(search: Search, place: Place): Move[] {
  const moves: Move[] = [];
  const send = (name: string, event: Event): void => {
    moves.push({ name, go: () => sendOne(search, place, event) });
  };
  listBegins(search, place, send);
  for (const [i, attempt] of place.attempts.entries()) {
    listMessages(search.about, place, attempt, i, send);
    listDeeds(search, place, attempt, i, moves);
  }
  for (const { inc, made, acked } of place.told) {
    if (made > acked)
      send(`the ledger has all of ${inc}`, { do: "acknowledge", inc, seq: made, head: "all" });
    if (made > acked + 1)
      send(`the ledger has one more of ${inc}`, { do: "acknowledge", inc, seq: acked + 1, head: "one" });
    if (acked > 0)
      send(`an old word of the ledger on ${inc}`, { do: "acknowledge", inc, seq: 1, head: "old" });
  }
  send("tick", { do: "tick" });
  listTimes(search, place, moves);
  return moves;
}

function sendOne(search: Search, place: Place, event: Event): Place | null {
  const { place: after, row } = happen(search.step, search.about, place, event);
  const next = isMeasured(row.before, after.record) ? { ...after, canBeSetRight: false } : after;
  if (next.attempts.length > search.attemptsMax) return null;
  const { answer } = row;
  if (isSame(place, next)) return null;
  if (event.do === "renew" && answer.kind === "done" && next.record.state === "in-flight") {
    // Its executor may hear of the longer lease.
    const { leaseUntil, t, ahead } = next.record;
    const left = leaseUntil - Math.max(t, objectTime(place) + ahead);
    const at = next.attempts.length - 1;
    return change(next, at, { leaseUntil: place.clock + left }, search.about);
  }
  return next;
}

/** A lease was granted or made longer, or a doubt began, by the clock as it is. */
function isMeasured(before: KeyRecord, after: KeyRecord): boolean {
  if (after.state === "unknown") return before.state === "in-flight" && after.reason !== "lease-over";
  if (after.state !== "in-flight") return false;
  return before.state !== "in-flight" || before.leaseUntil !== after.leaseUntil || before.n !== after.n;
}

function isSame(one: Place, other: Place): boolean {
  const { record, attempts, given, told } = one;
  return (
    record === other.record && attempts === other.attempts && given === other.given && told === other.told
  );
}

type Send = (name: string, event: Event) => void;

/** Two clients; the second also comes with another request under the same key, and once without the right to ask. */
function listBegins({ about }: Search, place: Place, send: Send): void {
  const id = place.attempts.length + 1;
  const call = (client: 0 | 1, fp: string, authorized: boolean): void => {
    const fresh = {
      inc: `l${id}`,
      effect: `e${id}`,
      owner: "o",
      route: "r",
      terms: about.terms[client],
    };
    const nonce = client === 0 ? "a" : "b";
    send(`${nonce} begins ${fp}${authorized ? "" : " without the right"}`, {
      do: "begin",
      nonce,
      fp,
      authorized,
      fresh,
    });
  };
  call(0, "f", true);
  call(1, "f", true);
  call(1, "g", true);
  call(1, "f", false);
}

/** What may arrive about one attempt: all that can have been said of it. */
function listMessages(about: Case, place: Place, attempt: Attempt, i: number, send: Send): void {
  const token: Token = { inc: attempt.inc, n: attempt.n };
  const { effect, dispatch, fate } = attempt;
  const who = `${i + 1}`;
  const answer = makeAnswer(effect, 0);
  send(`renew ${who}`, { do: "renew", token });
  if (fate === "happened") send(`settle ${who}`, { do: "settle", token, effect, answer });
  if (dispatch === "sent") send(`report ${who}`, { do: "report", token, reason: "timeout" });
  if (fate === "none") send(`release ${who}`, { do: "release", token, evidence: "signed-none" });
  if (dispatch === "never")
    send(`release ${who} unsent`, { do: "release", token, evidence: "never-dispatched" });
  const probed = (what: string, verdict: Verdict): void =>
    send(`probe of ${who} says ${what}`, { do: "probed", token, verdict, jitter: 0 });
  if (about.probe !== "none") {
    probed("nothing", { kind: "silent" });
    if (fate === "happened") {
      probed("committed", { kind: "committed", answer });
      probed("committed, answer lost", { kind: "committed", answer: { kind: "lost" } });
    }
    if (fate === "void") probed("void", { kind: "none", sealed: true, ageMs: 0 });
  }
  if (about.probe === "observe") {
    // The youngest question that can have met no effect yet.
    const ageMs = fate === "happened" ? place.clock - attempt.happenedAt + 1 : 0;
    probed("none", { kind: "none", sealed: false, ageMs });
  }
  listWords(about, place, attempt, who, send);
}

/** Operator x says anything, operator y the truth, once it is known. Two have to agree. */
function listWords(about: Case, place: Place, attempt: Attempt, who: string, send: Send): void {
  const { effect, fate } = attempt;
  const resolve = (operator: string, outcome: Outcome): void =>
    send(`${operator} says ${outcome.kind} of ${who}`, {
      do: "resolve",
      effect,
      operator,
      grounds: GROUNDS,
      outcome,
      operatorsRequired: 2,
    });
  resolve("x", LOST);
  resolve("x", NOT_COMMITTED);
  if (fate === "happened") resolve("y", LOST);
  if (isOut(attempt, place.clock, about)) resolve("y", NOT_COMMITTED);
}

/** What executors and the origin do by themselves. */
function listDeeds(search: Search, place: Place, attempt: Attempt, i: number, moves: Move[]): void {
  const { about } = search;
  const who = `${i + 1}`;
  const deed = (name: string, what: Partial<Attempt>): void => {
    moves.push({ name, go: () => change(place, i, what, about) });
  };
  const { clock } = place;
  if (attempt.dispatch === "not-yet") {
    if (clock < attempt.leaseUntil || search.dispatches === "late")
      deed(`dispatch ${who}`, { dispatch: "sent", arrivesUntil: clock + UNIT.delay });
    deed(`the executor of ${who} dies before dispatch`, { dispatch: "never" });
  }
  if (attempt.dispatch === "sent" && !isOut(attempt, clock, about) && attempt.fate === "open") {
    deed(`effect ${who}`, { fate: "happened", happenedAt: clock });
    deed(`the origin refuses ${who}`, { fate: "none" });
  }
  if (about.probe === "seal" && (attempt.fate === "open" || attempt.fate === "none"))
    deed(`seal ${who}`, { fate: "void" });
  if (i === place.attempts.length - 1 && place.record.state === "in-flight")
    moves.push({ name: "the object restarts", go: () => restart(search, place, i) });
}

/** An object that restarts has lost the attempt it ran; one that runs elsewhere goes on. */
function restart(search: Search, place: Place, i: number): Place | null {
  const next = sendOne(search, place, { do: "orphan" });
  const runsHere = place.record.state === "in-flight" && place.record.terms.executor === "object";
  if (next === null || !runsHere || place.attempts[i]?.dispatch !== "not-yet") return next;
  return change(next, i, { dispatch: "never" }, search.about);
}

function change(place: Place, i: number, what: Partial<Attempt>, about: Case): Place {
  const attempts = place.attempts.map((attempt, at) => (at === i ? { ...attempt, ...what } : attempt));
  judgeEffects(attempts, about);
  return { ...place, attempts };
}

/** Any moment may be the next one at which something happens. */
function listTimes({ clock }: Search, place: Place, moves: Move[]): void {
  moves.push({ name: "time passes", go: () => ({ ...place, clock: place.clock + 1 }) });
  const setTo = (name: string, behind: number, canBeSetRight: boolean): void => {
    moves.push({ name, go: () => ({ ...place, behind, canBeSetRight }) });
  };
  if (place.canBeSetRight) setTo("the object's clock is set right", 0, false);
  if (place.behind > 0) return;
  if (clock === "far back") setTo("the object's clock steps far back", UNIT.farBehind, true);
  else setTo("the object's clock steps back", UNIT.behind, false);
}
