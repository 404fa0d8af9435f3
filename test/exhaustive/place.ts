/**
 * One place in the search: a key's record beside what is true outside of it. Messages are not listed one by one: what has once been
 * sent may arrive at any later time, any number of times, or never, so what can arrive follows from what has happened. That holds
 * every loss, delay, repetition and change of order. A crash of somebody is a path on which he does nothing more.
 */
import type { Entry } from "../../src/core/entry.ts";
import { ABSENT, type KeyRecord, type Outbox, type Terms } from "../../src/core/record.ts";
import { NOTHING, type Reference } from "../model/reference.ts";
import { describeAnswer } from "../model/words.ts";

/** What one search is about. `terms` are those of the first and of the second client's calls. */
export type Case = { name: string; probe: "none" | "seal" | "observe"; terms: readonly [Terms, Terms] };

/** One granted attempt, its executor and its effect at the origin. Times are true ones. */
export type Attempt = {
  inc: string;
  n: number;
  effect: string;
  /** The life it belongs to, as the reference model counts them. */
  window: number;
  /** `never`: the executor died before it, or gave up. */
  dispatch: "not-yet" | "sent" | "never";
  /** `none`: the origin has refused it, and says so. `void`: sealed. */
  fate: "open" | "happened" | "none" | "void";
  /** The executor dispatches before this, by its own clock. */
  leaseUntil: number;
  /** Where an unsealed probe is believed, a request arrives before this or never. */
  arrivesUntil: number;
  happenedAt: number;
  isFreed: boolean;
  isTold: boolean;
};

/** Entries made and acknowledged, by stream. */
export type Told = { inc: string; made: number; acked: number };

export type Place = {
  record: KeyRecord;
  reference: Reference;
  /** True time. The object's own clock is behind by `behind`. */
  clock: number;
  behind: number;
  /**
   * Nothing was measured by the clock since it stepped back. If it is set right later that is a leap, and a belief in what time proves
   * does not outlast a leap, wherever the machine stands.
   */
  canBeSetRight: boolean;
  attempts: readonly Attempt[];
  told: readonly Told[];
  /** The answer that somebody has got for good in the present window. */
  given: string | null;
};

/** Durations in steps of the clock: each short enough to be over within the search, and no two rules end at the same step by chance. */
export const UNIT = {
  lease: 2,
  execution: 3,
  delay: 2,
  window: 2,
  quarantine: 2,
  behind: 1,
  farBehind: 4,
} as const;
/** No rule looks further back than this. */
const PAST_MAX = 6;
const START = 1_000_000_000_000;

export const BEGINNING: Place = {
  record: ABSENT,
  reference: NOTHING,
  clock: START,
  behind: 0,
  canBeSetRight: false,
  attempts: [],
  told: [],
  given: null,
};

export function objectTime({ clock, behind }: Place): number {
  return clock - behind;
}

/** True when an attempt's effect can't come about any more. */
export function isOut(attempt: Attempt, clock: number, { probe }: Case): boolean {
  const { dispatch, fate, leaseUntil, arrivesUntil } = attempt;
  if (fate !== "open") return fate !== "happened";
  if (dispatch === "never") return true;
  if (dispatch === "not-yet") return clock >= leaseUntil;
  return probe === "observe" && clock >= arrivesUntil;
}

/** Two places with the same name have the same future: times count from now, and what no rule asks for is left out. */
export function nameOf(place: Place, { probe }: Case): string {
  const { record, clock, behind, canBeSetRight, attempts, given } = place;
  const ago = (time: number): number => Math.max(time - clock, -PAST_MAX);
  const others = attempts.map(({ window, dispatch, fate, leaseUntil, arrivesUntil, ...rest }) => {
    const isWaiting = dispatch === "not-yet";
    const isOnItsWay = dispatch === "sent" && fate === "open" && probe === "observe";
    const isDated = fate === "happened" && probe === "observe";
    const time = isWaiting
      ? Math.max(0, leaseUntil - clock)
      : isOnItsWay
        ? Math.max(0, arrivesUntil - clock)
        : isDated
          ? ago(rest.happenedAt)
          : "";
    return `${window}${dispatch[0]}${fate[0]}${time}${rest.isFreed ? "f" : ""}${rest.isTold ? "t" : ""}`;
  });
  return `${nameRecord(record, ago, clock - behind)}/${behind}${canBeSetRight ? "r" : ""}/${given ?? ""}/${others.join()}`;
}

export function nameRecord(record: KeyRecord, ago: (time: number) => number, now: number): string {
  if (record.state === "absent") return "";
  const { inc, n, nonce, effect, fp, terms, t, outbox } = record;
  const ahead = t > now ? t - now : "";
  const life = `${inc},${n},${nonce},${effect},${fp},${terms.executor},${terms.windowMs},${ahead}`;
  return `${life},${nameState(record, ago)},${nameOutbox(outbox)}`;
}

function nameState(record: Exclude<KeyRecord, { state: "absent" }>, ago: (time: number) => number): string {
  switch (record.state) {
    case "in-flight":
      return `i${ago(record.leaseUntil)},${ago(record.executionUntil)},${record.ahead}`;
    case "unknown": {
      const { proposal } = record;
      const said =
        proposal.by === "nobody"
          ? ""
          : `${proposal.operators.join("+")}:${"word" in proposal.outcome ? proposal.outcome.word : "none"}`;
      return `u${ago(record.since)},${record.reason},${said}`;
    }
    case "settled":
      return `s${ago(record.settledAt)},${record.actor},${describeAnswer(record.answer)}`;
    case "released":
      return `r${ago(record.releasedAt)},${record.evidence}`;
  }
}

/** Of undelivered entries, rules look at the last one, and at whether there is one, or more. */
const ENTRIES_TOLD_APART = 2;
const lastNames = new WeakMap<Entry, string>();

function nameOutbox(outbox: Outbox): string {
  return outbox
    .map(({ inc, entries }) => {
      const last = entries.at(-1);
      return `${inc}*${Math.min(entries.length, ENTRIES_TOLD_APART)}${last === undefined ? "" : nameEntry(last)}`;
    })
    .join("&");
}

function nameEntry(entry: Entry): string {
  const known = lastNames.get(entry);
  if (known !== undefined) return known;
  const name = JSON.stringify({ ...entry, at: 0 });
  lastNames.set(entry, name);
  return name;
}
