/**
 * Names of keys, and forms of attempts, without what no rule asks for any more. Each line that leaves something out says why that
 * loses nothing; `exhaustive.test.ts` compares what is reached with and without all of it.
 */
import type { Entry } from "../../../src/core/entry.ts";
import type { LiveRecord, Proposal } from "../../../src/core/record.ts";
import { purgeAt, timeOf } from "../../../src/core/record.ts";
import { describeAnswer } from "../../model/words.ts";
import { BACK, type Case, currentOf, type Doing, FRESH, isOut, type Key, UNIT } from "../place.ts";
import type { Search } from "../search.ts";

/**
 * Times count from the latest one that the record knows of, by which it is judged. Ids follow from the windows of the attempts, since they
 * are made in order, and the reference model's state follows from the record, beside which it is compared after each event.
 */
export function nameKey(key: Key, search: Search): string {
  const { record, now, given, attempts } = key;
  const back = BACK[search.clock];
  const windows = attempts.map(({ window }) => window).join("");
  if (record.state === "absent") return windows;
  // The clock may step back yet: it finds the record's time where it is, and what is over by less than a step is to come again.
  const ahead = Math.max(-back, record.t - now);
  const rest = `${nameState(record, now, search.about, back)},${nameOutbox(record)}`;
  return `${windows}:${currentOf(key)},${record.fp},${record.terms.windowMs},${ahead},${given === null ? "" : "given"},${rest}`;
}

function nameState(record: LiveRecord, now: number, { probe }: Case, back: number): string {
  const t = timeOf(record, now);
  const since = (time: number): number => sinceOf(t - time, probe, back);
  switch (record.state) {
    case "in-flight": {
      const { ahead, terms, nonce, leaseUntil, executionUntil } = record;
      if (ahead > 0)
        return `a${ahead},${leftOf(leaseUntil, now)},${leftOf(executionUntil, now)},${nonce},${terms.executor}`;
      // A lease that is over ends with the next event, whatever that is, and its end is all that is left of it; unless the clock steps back.
      if (leaseUntil - t <= -back) return `over ${since(leaseUntil)},${terms.executor}`;
      return `i${leaseUntil - t},${executionUntil - t},${nonce},${terms.executor}`;
    }
    case "unknown":
      return `u${since(record.since)},${nameProposal(record.proposal)}`;
    case "settled":
      return `s${untilPurge(record, t, back)},${record.actor.startsWith("operator")},${describeAnswer(record.answer)}`;
    case "released":
      return `r${untilPurge(record, t, back)},${record.evidence === "operator"}`;
  }
}

/** Longer ago than any rule asks for, however the clock steps. */
const LONG_OVER = 2 * BACK["far back"] + UNIT.delay + UNIT.execution;

/** Of a record that is ahead of its clock it is not known yet which of its times will count. Those that are long over are alike. */
function leftOf(until: number, now: number): number {
  return Math.max(-LONG_OVER, until - now);
}

/** The origin's delay is the only time that counts from here, and only where a probe is believed that has merely seen nothing. */
function sinceOf(ago: number, probe: Case["probe"], back: number): number {
  return probe === "observe" ? Math.min(ago, UNIT.delay + back) : 0;
}

function untilPurge(record: LiveRecord, t: number, back: number): number {
  return Math.max(-back, (purgeAt(record) ?? 0) - t);
}

function nameProposal(proposal: Proposal): string {
  if (proposal.by === "nobody") return "";
  const { operators, outcome } = proposal;
  return `${operators.join("+")}:${"word" in outcome ? outcome.word : "none"}`;
}

/**
 * Rules ask whether anything is undelivered, whether that may wait for ever, and whether a remark repeats the stream's last entry. The ledger
 * may take all of a stream, or all but the last.
 */
function nameOutbox({ inc, outbox }: LiveRecord): string {
  const waiting = outbox.filter(({ entries }) => entries.length > 0);
  const counts = waiting.map(
    (stream) => `${stream.inc === inc ? "own" : ""}${Math.min(stream.entries.length, 2)}`,
  );
  const canWait = waiting.every(({ entries }) => entries.every(({ type }) => type === "observed"));
  const last = waiting.find((stream) => stream.inc === inc)?.entries.at(-1);
  return `${counts.join("+")}${canWait ? "" : "!"}${last === undefined ? "" : nameLast(last)}`;
}

const lastNames = new WeakMap<Entry, string>();

function nameLast(entry: Entry): string {
  if (entry.type === "observed") return "o";
  if (entry.type !== "late" && entry.type !== "contradiction") return "*";
  const known = lastNames.get(entry);
  if (known !== undefined) return known;
  const name = JSON.stringify({ ...entry, at: 0 });
  lastNames.set(entry, name);
  return name;
}

const OUT: Doing = { ...FRESH, dispatch: "sent", fate: "out", leaseLeft: 0 };
export const HAPPENED: Doing = { ...FRESH, dispatch: "sent", fate: "happened", leaseLeft: 0 };

/**
 * An attempt whose effect can't come about any more is like any other such: whoever knows it may say so. One whose effect has come
 * about is like any other such: that it was not freed has been judged. That somebody has heard of its answer is known from the
 * outbox, where it is the last entry, or else is told once more.
 */
export function reduceDoing(doing: Doing, isInFlight: boolean, { about, dispatches }: Search): Doing {
  if (doing.fate === "happened") return HAPPENED;
  // An executor that is out of time may still be given more, as long as its attempt is in flight; or it does not mind.
  const isWaiting = doing.fate === "open" && doing.dispatch === "not-yet";
  const isOver = isOut(doing, about) && !(isWaiting && (isInFlight || dispatches === "late"));
  if (isOver) return OUT;
  const { isFreed } = doing;
  if (isWaiting) return { ...FRESH, leaseLeft: doing.leaseLeft, isFreed };
  const arrivesLeft = about.probe === "observe" ? doing.arrivesLeft : 0;
  return { ...FRESH, dispatch: "sent", leaseLeft: 0, arrivesLeft, isFreed };
}

/** Of an attempt in its reduced form. */
export function nameDoing({ dispatch, fate, leaseLeft, arrivesLeft, isFreed }: Doing): string {
  if (fate !== "open") return fate;
  return `${dispatch} ${dispatch === "sent" ? arrivesLeft : leaseLeft}${isFreed ? " freed" : ""}`;
}
