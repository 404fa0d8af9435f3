/**
 * What is stored about one key, and what holds in each state. `transition.ts` makes one from another, `step.ts` says when.
 *
 *             begin                settle(token)                 window over            quarantine over
 *   absent ─────────▶ in-flight ─────────────────▶ settled ─────────────────▶ expired ─────────────────▶ absent
 *     ▲                 │   ▲                          ▲
 *     │ quarantine      │   │ begin, n+1               │ settle(token), probe says committed, operator
 *     │ over            │   │                          │
 *   released ◀──────────┘   │         lease over,   unknown   never ends by time
 *     ▲   release(token,    │         line lost        │
 *     │   evidence)         └────────(on_crash=retry)──┤
 *     └────────── sealing probe says none, operator ───┘
 *
 * `expired` is not stored: it is a settled record read after its window. Storage is wiped when its quarantine is over.
 */
import type { Actor, Entry, Evidence, Grounds, UnknownReason } from "./entry.ts";

/** Version of the stored form. A reader that meets a higher one answers 503 and writes nothing. */
export const RECORD_VERSION = 1;

/**
 * The right to change a record: `inc` is 128 random bits (hex), new in every life of it, so that a bare counter that starts again
 * can't make an old holder look like a new one; `n` counts the attempts of one life from 1.
 */
export type Token = { inc: string; n: number };

/** The rules a life was begun under. Later settings don't change these. Milliseconds. */
export type Terms = {
  /** Version and rule that made `fp`. Digests under different rules can't be compared. */
  fingerprint: string;
  executor: "object" | "worker";
  onCrash: "hold" | "retry";
  /** Null: the origin can't be asked. Else the time after which "not seen" means "never". */
  probeDelayMs: number | null;
  windowMs: number;
  quarantineMs: number;
  leaseMs: number;
  executionMsMax: number;
};

/** Entries of one life that the ledger has not acknowledged. `acked` entries came before, the last of them with hash `head`. */
export type Stream = { inc: string; acked: number; head: string; entries: readonly Entry[] };

/** `head` of a stream of which something was left out, because no ledger was kept then: nothing of it is told any more. */
export const UNTOLD = "untold";

export function isUntold({ head }: Stream): boolean {
  return head === UNTOLD;
}

/** Streams in the order of their lives; the last is this life's. Earlier ones are there only while undelivered. */
export type Outbox = readonly Stream[];

/** What is the same in every state. */
export type Life = {
  v: typeof RECORD_VERSION;
  inc: string;
  n: number;
  /** Chosen by the caller of the current attempt: the same call repeated gets the same grant, and knows its own answer. */
  nonce: string;
  /** Id of the current attempt's effect: opaque, at most 64 visible ASCII characters. */
  effect: string;
  /** Keyed digest of the principal, for status reads. */
  owner: string;
  route: string;
  /** Keyed digest of the request. */
  fp: string;
  terms: Terms;
  bornAt: number;
  /** When the current attempt was granted. */
  dispatchedAt: number;
  /** Highest time this record has seen. Time never runs backwards inside a record. */
  t: number;
  outbox: Outbox;
};

/** The origin may have the request. */
export type InFlight = Life & {
  state: "in-flight";
  leaseUntil: number;
  /** No renewal goes past this. */
  executionUntil: number;
  /** By how much the record's time is ahead of the clock: what is in flight ages, whatever the record has seen. Milliseconds. */
  ahead: number;
};

/** The effect may or may not exist. */
export type Unknown = Life & {
  state: "unknown";
  since: number;
  reason: UnknownReason;
  probes: number;
  /** By the clock. Null: nobody can be asked. */
  probeDue: number | null;
  proposal: Proposal;
};

/** What operators have agreed on so far, while more of them have to. Each one's grounds stand where the operator does. */
export type Proposal =
  | { by: "nobody" }
  | { by: "operators"; operators: readonly string[]; grounds: readonly Grounds[]; outcome: Said };

/** `word` is a digest of the whole answer that was given, status and headers too: two operators agree on all of it or not at all. */
export type Said = { kind: "committed"; word: string } | { kind: "not-committed" };

/** What an operator says has become of an effect. */
export type Outcome = { kind: "committed"; word: string; answer: Answer } | { kind: "not-committed" };

/** The outcome is known and does not change. */
export type Settled = Life & {
  state: "settled";
  settledAt: number;
  actor: Actor;
  answer: Answer;
};

/** The attempt had no effect; the next `begin` runs. */
export type Released = Life & {
  state: "released";
  releasedAt: number;
  evidence: Evidence;
};

export type Absent = { state: "absent" };
export type LiveRecord = InFlight | Unknown | Settled | Released;
export type KeyRecord = Absent | LiveRecord;

export const ABSENT: Absent = { state: "absent" };

/** What became of an answer. Digest: SHA-256 of the body as lower-case hex; size in bytes. */
export type Answer =
  | { kind: "kept"; status: number; size: number; digest: string; sealed: Sealed }
  /** Done, but over the size limit, a stream, or of a status that can't be given again. */
  | { kind: "not-kept"; status: number; size: number; digest: string }
  /** Done by the word of a probe or operators, who have no answer. */
  | { kind: "lost" };

/**
 * A sealed answer. `isBound`: opening it needs the client's own key, too. `key` names the sealing key; with `salt` (32 random bytes) it gives the record's own data key. `head` is the sealed
 * header pairs, and the body too where it is `inline`; else `chunks` counts the rows that hold the sealed body.
 */
export type Sealed = { key: string; salt: Uint8Array; head: Uint8Array; isBound: boolean } & (
  | { body: "inline" }
  | { body: "rows"; chunks: number }
);

/**
 * A record's time when its object's clock says `now`. It never falls: a clock that has gone back finds it standing, so that nothing that lets a
 * key run again comes earlier for it. What is in flight goes on from there, since a lease permits nothing, until the clock has caught up.
 */
export function timeOf(record: KeyRecord, now: number): number {
  if (record.state === "absent" || now >= record.t) return now;
  return record.state === "in-flight" ? Math.max(record.t, now + record.ahead) : record.t;
}

export function tokenOf(life: Token): Token {
  return { inc: life.inc, n: life.n };
}

export function isSameToken(a: Token, b: Token): boolean {
  return a.inc === b.inc && a.n === b.n;
}

/** End of the replay window: counted from the moment the answer was settled, however long it took. */
export function windowEnd(record: Settled): number {
  return record.settledAt + record.terms.windowMs;
}

/** When a record's storage is wiped: null while time alone may not end it. */
export function purgeAt(record: LiveRecord): number | null {
  switch (record.state) {
    case "settled":
      return windowEnd(record) + record.terms.quarantineMs;
    case "released":
      return record.releasedAt + record.terms.windowMs + record.terms.quarantineMs;
    case "in-flight":
    case "unknown":
      return null;
  }
}

export function isExpired(record: Settled, t: number): boolean {
  return windowEnd(record) <= t;
}

export function isPurgeable(record: LiveRecord, t: number): boolean {
  const due = purgeAt(record);
  return due !== null && due <= t;
}

export function undelivered(record: LiveRecord): number {
  return record.outbox.reduce((sum, stream) => sum + stream.entries.length, 0);
}
