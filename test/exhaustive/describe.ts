/** Places and events in words: all that callers, operators, the ledger and the rules can tell apart, and nothing of how a search names them. */
import { isPurgeable, type KeyRecord, purgeAt, timeOf, undelivered } from "../../src/core/record.ts";
import type { Row } from "../model/history.ts";
import { type Case, currentOf, isOut, type Place } from "./place.ts";

/** Is shown each place and each event. */
export type Watch = { place: (place: Place, about: Case) => void; row: (row: Row) => void };

export const IGNORE: Watch = { place: () => {}, row: () => {} };

/** Keeps what it is shown, in words. */
export function watchInto(seen: Set<string>): Watch {
  return {
    place: (place, about) => seen.add(describePlace(place, about)),
    row: (row) => seen.add(describeRow(row)),
  };
}

function describePlace({ key, outside }: Place, about: Case): string {
  const { record, given, attempts, now } = key;
  const doings = outside.doings.map((doing, place) => {
    const fate = doing.fate === "happened" ? "happened" : isOut(doing, about) ? "out" : "open";
    return `${attempts[place]?.window} ${fate}`;
  });
  const isGiven = given !== null && record.state !== "absent";
  return `${describeRecord(record, now)}, attempt ${currentOf(key) + 1}, ${isGiven ? "given" : ""}: ${doings.join()}`;
}

function describeRow({ event, answer, before, after, entries, now }: Row): string {
  const told = entries.map((entry) => {
    const by = "actor" in entry ? ` by ${entry.actor}` : "";
    const code = "code" in entry ? ` ${entry.code}` : "evidence" in entry ? ` ${entry.evidence}` : "";
    return `${entry.type} ${entry.attempt}${by}${code}`;
  });
  const kind = answer.kind === "run" && answer.repeated ? "run again" : answer.kind;
  return `${describeRecord(before, now)}; ${describeEvent(event, before, now)}: ${kind}, ${after.state}, ${told.join()}`;
}

function describeEvent(event: Row["event"], before: KeyRecord, now: number): string {
  switch (event.do) {
    case "begin": {
      const isOver = before.state === "absent" || isPurgeable(before, Math.max(before.t, now));
      if (!isOver && before.fp !== event.fp) return "begin with another request";
      return `begin ${event.nonce}${event.authorized ? "" : " without the right"}`;
    }
    case "resolve":
      return `${event.operator} says ${event.outcome.kind} of ${event.effect}`;
    case "probed":
      return `probed ${event.verdict.kind} of ${event.token.n}`;
    case "observe":
      return `observe ${event.seen.join()}`;
    default:
      return "token" in event ? `${event.do} ${event.token.n}` : event.do;
  }
}

function describeRecord(record: KeyRecord, now: number): string {
  if (record.state === "absent") return "absent";
  const t = timeOf(record, now);
  const last = record.outbox.at(-1)?.entries.at(-1);
  const canWait = record.outbox.every(({ entries }) => entries.every(({ type }) => type === "observed"));
  const words = [
    t > now ? `${t - now} ahead` : "",
    undelivered(record) === 0 ? "" : canWait ? "to be told some day" : "to be told",
    record.outbox.length > 1 ? "of earlier lives, too" : "",
    last?.type === "late" || last?.type === "contradiction"
      ? `last ${JSON.stringify({ ...last, at: 0 })}`
      : "",
    ...describeState(record, t),
  ];
  return `${record.state} ${record.terms.windowMs} ${words.filter((word) => word !== "").join(", ")}`;
}

function describeState(record: Exclude<KeyRecord, { state: "absent" }>, t: number): string[] {
  switch (record.state) {
    case "in-flight": {
      const { leaseUntil, executionUntil, nonce, terms } = record;
      if (leaseUntil <= t) return ["its lease is over", terms.executor];
      return [nonce, terms.executor, `${leaseUntil - t} of ${executionUntil - t}`];
    }
    case "unknown": {
      const { proposal } = record;
      return proposal.by === "nobody" ? [] : [...proposal.operators, proposal.outcome.kind];
    }
    case "settled":
    case "released": {
      const left = isPurgeable(record, t) ? 0 : (purgeAt(record) ?? 0) - t;
      const by = record.state === "settled" ? record.actor : record.evidence;
      const kind = record.state === "settled" ? record.answer.kind : "";
      return [kind, by.startsWith("operator") ? "by operators" : "", `${left} left`];
    }
  }
}
