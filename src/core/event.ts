/** What can happen to a key, what the machine answers, and what one event makes of a record. */
import type { Seen } from "./audit/observe.ts";
import type { Noted, ReportingAttempt } from "./effect/judge.ts";
import type { Entry, Evidence, Grounds, UnknownReason } from "./entry.ts";
import type { Answer, KeyRecord, Outcome, Settled, Token, Unknown } from "./record.ts";
import type { Fresh } from "./transition.ts";

/**
 * What a probe of the origin said of one attempt. `sealed`: it has not happened and never will. `ageMs`: how long ago the
 * question was asked; what happened since, the answer can't know.
 */
export type Verdict =
  | { kind: "committed"; answer: Answer }
  | { kind: "none"; sealed: boolean; ageMs: number }
  | { kind: "silent" };

export type Event =
  | { do: "begin"; nonce: string; fp: string; authorized: boolean; fresh: Fresh }
  | { do: "renew"; token: Token }
  /** `effect` is the id under which this attempt was dispatched. */
  | { do: "settle"; token: Token; effect: string; answer: Answer }
  | { do: "report"; token: Token; reason: UnknownReason }
  | { do: "release"; token: Token; evidence: Evidence }
  /** The object finds an attempt of its own executor in flight that nobody runs. */
  | { do: "orphan" }
  /** `jitter`, from 0 to 1: how much of the next pause's variable half is left out, so that many keys don't ask at once. */
  | { do: "probed"; token: Token; verdict: Verdict; jitter: number }
  | {
      do: "resolve";
      effect: string;
      operator: string;
      grounds: Grounds;
      outcome: Outcome;
      operatorsRequired: number;
    }
  /** Reported effects that have been judged. */
  | { do: "tell"; attempt: ReportingAttempt; noted: readonly Noted[] }
  /** What callers were told of this very record, as it is before the event. */
  | { do: "observe"; seen: readonly Seen[] }
  | { do: "acknowledge"; inc: string; seq: number; head: string }
  | { do: "tick" };

/** The right to dispatch one attempt. Durations, not instants: the executor counts them on its own clock. */
export type Grant = {
  token: Token;
  effect: string;
  leaseMs: number;
  executionMs: number;
};

export type StepAnswer =
  /** `repeated`: the same call had this grant before. */
  | { kind: "run"; grant: Grant; repeated: boolean }
  | { kind: "replay"; settled: Settled }
  /** Refused before any state-dependent answer: the caller has to be authorized first. */
  | { kind: "authorize" }
  | { kind: "mismatch" }
  /** The digests differ, and so do the rules they were made by: nobody can tell whether it is the same request. */
  | { kind: "incomparable" }
  | { kind: "in-flight" }
  | { kind: "expired" }
  | { kind: "unknown"; unknown: Unknown }
  /** The outbox is full; nothing may be granted, or told. */
  | { kind: "full" }
  | { kind: "done" }
  /** The lease is over and cannot be renewed; a settle is still welcome. */
  | { kind: "lapsed" }
  /** The token is not the current one; nothing was changed by it. */
  | { kind: "fenced" }
  /** A first operator's word is noted; another operator has to confirm it. */
  | { kind: "proposed" }
  /** An operator spoke of an effect that is not, or not any more, the one whose outcome is unknown. */
  | { kind: "stale" };

/** What one event makes of a record. `last` are entries of a record that ends here. */
export type Decision = { record: KeyRecord; answer: StepAnswer; last: readonly Entry[] };

export function stay(record: KeyRecord, answer: StepAnswer): Decision {
  return { record, answer, last: [] };
}
