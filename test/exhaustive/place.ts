/**
 * One place in the search: a key's record, and what is true outside of it. Messages are not listed one by one: what has once been
 * sent may arrive at any later time, any number of times, or never, so what can arrive follows from what has happened. That holds
 * every loss, delay, repetition and change of order. A crash of somebody is a path on which he does nothing more.
 */
import { ABSENT, type KeyRecord, type Terms, type Token } from "../../src/core/record.ts";
import { NOTHING, type Reference } from "../model/reference.ts";

/** What one search is about. `terms` are those of the first and of the second client's calls. */
export type Case = { name: string; probe: "none" | "seal" | "observe"; terms: readonly [Terms, Terms] };

/** A granted attempt by its names. `window`: the life it belongs to, as the reference model counts them. */
export type Granted = { inc: string; n: number; effect: string; window: number };

/** Entries made and acknowledged, by stream. */
export type Told = { inc: string; made: number; acked: number };

/** All that an event on the key depends on. `now` is the object's clock. */
export type Key = {
  record: KeyRecord;
  reference: Reference;
  told: readonly Told[];
  /** The answer that somebody has got for good in the present window. */
  given: string | null;
  /** All that were ever granted, in order. */
  attempts: readonly Granted[];
  now: number;
};

/** An attempt's executor and its effect at the origin. Durations count from now, on the true clock. */
export type Doing = {
  /** `never`: the executor died before it, or gave up. */
  dispatch: "not-yet" | "sent" | "never";
  /** `none`: the origin has refused it, and says so. `void`: sealed. `out`: any way in which it can't come about. */
  fate: "open" | "happened" | "none" | "void" | "out";
  /** The executor dispatches before this is over, by its own clock. */
  leaseLeft: number;
  /** Where an unsealed probe is believed, a request arrives before this is over or never. */
  arrivesLeft: number;
  /** Null: nobody looks at when. */
  happenedAgo: number | null;
  isFreed: boolean;
  isTold: boolean;
};

/**
 * `clock`: the object's may step back, has done so, or may be set right, too, since nothing was measured by it. A clock that is set right later
 * leaps, and a belief in what time proves does not outlast a leap, wherever the machine stands.
 */
export type Outside = { doings: readonly Doing[]; clock: "right" | "behind" | "to be set right" };

export type Place = { key: Key; outside: Outside };

/** Durations in steps of the clock: each short enough to be over within the search, and no two rules end at the same step by chance. */
export const UNIT = { lease: 2, execution: 3, delay: 2, window: 2, quarantine: 2 } as const;
/** How far an object's clock may step back. */
export const BACK = { "a little back": 1, "far back": 4 } as const;

export const BEGINNING: Place = {
  key: { record: ABSENT, reference: NOTHING, told: [], given: null, attempts: [], now: 1_000_000_000_000 },
  outside: { doings: [], clock: "right" },
};

export const FRESH: Omit<Doing, "leaseLeft"> = {
  dispatch: "not-yet",
  fate: "open",
  arrivesLeft: 0,
  happenedAgo: null,
  isFreed: false,
  isTold: false,
};

/** True when an attempt's effect can't come about any more. */
export function isOut({ dispatch, fate, leaseLeft, arrivesLeft }: Doing, { probe }: Case): boolean {
  if (fate !== "open") return fate !== "happened";
  if (dispatch === "never") return true;
  return dispatch === "not-yet" ? leaseLeft === 0 : probe === "observe" && arrivesLeft === 0;
}

/** Which of the granted attempts a token names; -1: none. */
export function placeOf(attempts: readonly Granted[], { inc, n }: Token): number {
  return attempts.findIndex((attempt) => attempt.inc === inc && attempt.n === n);
}

/** Which attempt is the current one; -1: there is none. */
export function currentOf({ record, attempts }: Key): number {
  return record.state === "absent" ? -1 : placeOf(attempts, record);
}
