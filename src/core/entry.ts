/**
 * Ledger entries as the key object makes them: what happened to one key, in the order it happened. An entry holds no
 * key, principal, body, address or free text: ids, digests, numbers and words of the closed lists below.
 */
import type { Seen } from "./audit/observe.ts";
import type { EffectPhase, Told } from "./effect/report.ts";

export const ENTRY_VERSION = 1;

/** Every dispatch of a guarded request is an effect of this capability. */
export const DISPATCH_CAPABILITY = "origin.request";

/** Why an outcome is unknown. */
export type UnknownReason =
  /** The origin's budget ended without a whole answer. */
  | "timeout"
  /** The connection failed: nothing tells a request that never left from an answer that was lost. */
  | "connection-lost"
  /** The answer's body ended early or could not be decoded. */
  | "body-broken"
  /** 502, 504, 520, 522, 524, 527, 530: the path speaking, not the origin. */
  | "path-status"
  /** Another 5xx on a route whose origin can be asked. */
  | "server-error"
  /** The executor's lease ended without a word from it. */
  | "lease-over"
  /** The key object restarted while it ran the attempt. */
  | "object-restarted"
  /** The answer came, but it could not be stored. */
  | "store-failed";

/** What an executor's entry says that ends an unknown outcome. Probes and operators end no others, so theirs need not say it. */
export type Resolved = "resolved";

/** What proves that an attempt had no effect, strongest first. */
export type Evidence =
  | "never-dispatched"
  | "sealed-none"
  | "signed-none"
  | "protocol-none"
  | "observed-none"
  | "status-list"
  | "operator";

export type OperatorActor = `operator:${string}`;

/** Who closed an attempt. */
export type Actor = "executor" | "probe" | OperatorActor;

/**
 * What an operator gave for a word: a reason and a reference to the evidence, each as `code` and `target` where it is a token, else
 * null. `digest` is taken over both texts, so that whoever has them can show that they are what was given.
 */
export type Grounds = { code: string | null; target: string | null; digest: string };

export type Operators = { actor: OperatorActor } & Grounds;

/** Who closed an attempt, and why where that is a person. */
export type Closer = { actor: Exclude<Actor, OperatorActor> } | Operators;

/** How an entry tells it. `code`: null where the outcome was not called unknown before, or who is not the executor ended it. */
type Ending = { actor: Exclude<Actor, OperatorActor>; code: Resolved | null } | Operators;

type AttemptMembers = { at: number; effect: string; attempt: number };

type Reported = Omit<Told, "id">;

/** One entry before it has its place in a stream. `at` is milliseconds since the epoch by the record's own clock. */
export type Entry =
  | ({ type: "granted"; fp: string } & AttemptMembers)
  | ({ type: "settled"; status: number | null; answerDigest: string | null } & Ending & AttemptMembers)
  | ({ type: "released"; evidence: Evidence } & Ending & AttemptMembers)
  | ({ type: "unknown"; code: UnknownReason } & AttemptMembers)
  /** Another attempt follows this one, whose outcome is unknown: only its executor can still say what became of it, and is late then. */
  | ({ type: "fenced" } & AttemptMembers)
  /** A settle that came with an old token: nothing changed, but what it said is kept. */
  | ({ type: "late"; answerDigest: string | null } & AttemptMembers)
  /** A truth that came after another one had been accepted: nothing changed, somebody has to look. */
  | ({ type: "contradiction"; answerDigest: string | null } & AttemptMembers)
  | ({ type: "contradiction"; answerDigest: string | null } & Operators & AttemptMembers)
  /** One operator's word on an unknown outcome, waiting for another's. */
  | ({ type: "proposed" } & Operators & AttemptMembers)
  /** What a caller was told, for which nothing changed. */
  | ({ type: "observed"; code: Seen } & AttemptMembers)
  /** What an origin has reported of an effect of its own, whose id is `effect`. */
  | ({ type: "effect" } & Reported & AttemptMembers)
  /** A report that contradicts an earlier one: nothing changed by it. */
  | ({ type: "effect-contradiction" } & Reported & AttemptMembers)
  /** The record leaves storage; the last entry of its stream. */
  | ({ type: "purged" } & AttemptMembers);

export type EntryType = Entry["type"];

/** Phase of an effect that an entry tells, if it tells one. */
function phaseOf(entry: Entry): EffectPhase | null {
  switch (entry.type) {
    case "granted":
      return "intent";
    case "settled":
      return "committed";
    case "released":
      return "failed";
    case "effect":
    case "effect-contradiction":
      return entry.phase;
    case "unknown":
    case "fenced":
    case "late":
    case "contradiction":
    case "proposed":
    case "observed":
    case "purged":
      return null;
  }
}

/** 200 → 2: the ledger keeps the class of a status, not the status. */
function statusClass(status: number | null): number | null {
  return status === null ? null : Math.floor(status / 100);
}

/** Where an entry stands: its stream, its number in it from 1, and the hash of the one before (64 zeros at the start). */
export type EntryPlace = { stream: string; seq: number; prev: string };

/** `prev` of a stream's first entry. */
export const STREAM_START = "0".repeat(64);

/**
 * The members of an entry that its key object answers for, in their fixed order, absent ones left out.
 * The sequencer puts `shard` and `index` behind `v`; a stream's hashes are taken over this text, without them, so that
 * a stream can be checked whatever shard it went to.
 */
export function entryText(entry: Entry, place: EntryPlace): string {
  const reported = "capability" in entry ? entry : null;
  const members = {
    v: ENTRY_VERSION,
    at: entry.at,
    type: entry.type,
    stream: place.stream,
    seq: place.seq,
    prev: place.prev,
    effect_id: entry.effect,
    attempt: entry.attempt,
    capability: reported?.capability ?? DISPATCH_CAPABILITY,
    phase: phaseOf(entry) ?? undefined,
    target: "target" in entry ? (entry.target ?? undefined) : undefined,
    cost: reported?.cost ?? undefined,
    digest: "digest" in entry ? (entry.digest ?? undefined) : undefined,
    fp: "fp" in entry ? entry.fp : undefined,
    status: "status" in entry ? (statusClass(entry.status) ?? undefined) : undefined,
    answer_digest: "answerDigest" in entry ? (entry.answerDigest ?? undefined) : undefined,
    evidence: "evidence" in entry ? entry.evidence : undefined,
    actor: "actor" in entry ? entry.actor : undefined,
    code: "code" in entry ? (entry.code ?? undefined) : undefined,
  };
  return JSON.stringify(members);
}
