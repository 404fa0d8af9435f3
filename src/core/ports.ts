/** The doors between rooms. Shells implement them or are given them; `wiring.ts` alone knows which thing stands behind which. */
import type { Seen } from "./audit/observe.ts";
import type { ReportField, Told } from "./effect/report.ts";
import type { Actor, Evidence, Grounds, UnknownReason } from "./entry.ts";
import type { Grant, StepAnswer } from "./event.ts";
import type { GivenAnswer } from "./http/given-answer.ts";
import type { Pairs } from "./http/headers.ts";
import type { ProbeRule, RoutePolicy } from "./policy.ts";
import type { Problem } from "./problem.ts";
import type { Proposal, Stream, Token } from "./record.ts";

/** One try of a guarded request, as the gateway hands it to the key. */
export type Operation = {
  /** Name of the key object: a keyed digest of route, principal and key. */
  name: string;
  route: string;
  fp: string;
  /** New for every try; the same when one call is made again. */
  nonce: string;
  /** True when the caller may have a stored answer: the route asks nobody, or has been told yes. */
  authorized: boolean;
  /** How long to wait for a twin that is in flight. Milliseconds, 0: not at all. */
  waitMs: number;
  /** Keyed digest of the principal: who may read the operation's state, and whose quota a new key takes from. */
  owner: string;
  /** The client's own key: some answers are sealed with it. Never stored. */
  rawKey: string;
  request: OriginRequest;
};

/**
 * What goes to the origin, less the fields an attempt adds. `target` is path and query as fingerprinted. The body is read once,
 * by the attempt that sends it.
 */
export type OriginRequest = {
  method: string;
  target: string;
  headers: Pairs;
  body: () => Promise<Uint8Array>;
};

/** What a stored answer is bound to, of the operation that asked for it. */
export type Sealing = Pick<Operation, "fp" | "rawKey">;

/** An answer as a caller gets it. A stream can break; bytes can't. */
export type Given = { status: number; headers: Pairs; body: Uint8Array | ReadableStream<Uint8Array> };

/** What became of one try. Times are milliseconds since the epoch. */
export type Submitted =
  | { kind: "executed"; given: Given; createdAt: number; expiresAt: number }
  /** `leftMs`: for how long it is still given, by the key's own clock, which need not be the caller's. */
  | { kind: "replayed"; given: Given; createdAt: number; expiresAt: number; leftMs: number }
  /** The first caller's copy of an answer that is too large, or endless, to be kept. */
  | { kind: "streamed"; given: Given }
  | { kind: "released"; given: Given }
  /** The origin's own words, though they don't tell what became of the effect. */
  | { kind: "doubtful"; given: Given }
  /** Ask whether the caller may have the stored answer, then submit again as authorized. */
  | { kind: "authorize" }
  | { kind: "refused"; problem: Problem };

/** Where guarded requests are claimed and run. Faults of the store come back as a refusal; nothing is thrown. */
export interface KeyPort {
  submit(operation: Operation, policy: RoutePolicy): Promise<Submitted>;
  look(name: string, waitMs: number): Promise<Look>;
  /**
   * Notes what callers of a key were told without asking its object, or are about to be told. False: it is not noted. True also where nothing is
   * to be noted: the key is unused, or there is no ledger.
   */
  observe(name: string, seen: readonly Seen[]): Promise<boolean>;
  /** Records a report of effects of one attempt: all of it or nothing. */
  tell(attempt: Attempt, report: readonly Told[]): Promise<Telling>;
  /** What is known of a key, and what a request would get from it if one is given. Writes nothing. */
  inspect(name: string, rehearsed: Rehearsed | null): Promise<Inspection>;
  /** Records an operator's word. Made again, it changes nothing and says what the first call said. */
  resolve(name: string, resolution: Resolution): Promise<Resolving>;
  /** Has the key attend to itself, and its origin asked where an outcome is unknown, then say what became of one attempt. */
  ask(name: string, effect: string): Promise<Attested>;
}

/** A request as far as its key has to know it to say what it would get. */
export type Rehearsed = Pick<Operation, "route" | "fp">;

export type Inspection =
  | { kind: "none" }
  | { kind: "unavailable" }
  /** `would`: what the request would be answered; null where none was given, or its route is unknown to this version. */
  | {
      kind: "found";
      route: string;
      status: OperationStatus;
      detail: OperationDetail;
      would: StepAnswer["kind"] | null;
    };

/** What is told to operators only. `inc` names the life of the key. Times are milliseconds since the epoch. */
export type OperationDetail = { inc: string; dispatchedAt: number } & (
  | { state: "in-flight"; leaseUntil: number }
  | { state: "unknown"; reason: UnknownReason; probes: number; proposal: Proposal }
  | { state: "settled"; actor: Actor; answer: KeptOf }
  | { state: "released"; evidence: Evidence }
);

/** What is kept of an answer, without it. */
export type KeptOf =
  | { kind: "kept" | "not-kept"; status: number; size: number; digest: string }
  | { kind: "lost" };

/** What an operator says has become of one effect. */
export type Resolution = {
  effect: string;
  operator: string;
  operatorsRequired: number;
  grounds: Grounds;
  /** An answer of null is lost. */
  outcome: { kind: "committed"; answer: GivenAnswer | null } | { kind: "not-committed" };
};

export type Resolving =
  /** So many more operators have to say the same. */
  | { kind: "proposed"; missing: number }
  | { kind: "resolved"; state: "settled" | "released" }
  /** The effect is not the newest attempt's, or its outcome is not unknown. */
  | { kind: "stale" }
  | { kind: "none" }
  | { kind: "unavailable" };

/** What a key says of one attempt. */
export type Attested =
  | { kind: "closed"; state: "committed" | "failed" }
  | { kind: "open"; state: "in-flight" | "unknown" }
  /** No such attempt is kept as the current one. */
  | { kind: "stranger" }
  | { kind: "unavailable" };

/** What became of a report. Numbers of entries: newly recorded, known before, and of the new ones those that contradict. */
export type Telling =
  | { kind: "taken"; recorded: number; repeated: number; flagged: number }
  | { kind: "refused"; index: number; field: ReportField }
  /** No such attempt is kept, or another has followed it before it had reported anything. */
  | { kind: "stranger" }
  | { kind: "unavailable" };

/** A status read. Creates nothing. */
export type Look =
  | { kind: "none" }
  | { kind: "unavailable" }
  | { kind: "found"; owner: string; route: string; status: OperationStatus };

/** What `GET /operations/{id}` tells, less what the id itself says. */
export type OperationStatus = {
  state: "in-flight" | "unknown" | "settled" | "released" | "expired";
  attempts: number;
  createdAt: number;
  changedAt: number;
  expiresAt: number | null;
  /** That of the current attempt's dispatch first, then those that were reported. */
  effects: readonly {
    effectId: string;
    attempt: number;
    capability: string;
    state: "open" | "unknown" | "committed" | "failed" | "compensated";
    /** Reports contradict each other. */
    isFlagged: boolean;
  }[];
  /** Sequence of the newest entry of this operation's stream, and of the newest one the ledger has. Null: no ledger is kept. */
  ledger: { seq: number; delivered: number } | null;
};

/** An answer to be stored. Headers are those that may be kept. */
export type FreshAnswer =
  | { kind: "whole"; status: number; headers: Pairs; body: Uint8Array }
  /** Over the limit, a stream, or of a status that can't be given again. */
  | { kind: "not-kept"; status: number; size: number; digest: string };

export type Begun = { kind: "run"; grant: Grant } | Submitted;

/** `failed`: the store did not take it, and whether it did is not known. */
export type Settling =
  | { kind: "settled"; createdAt: number; expiresAt: number }
  | { kind: "fenced" }
  | { kind: "failed" };
export type Closing = "done" | "fenced" | "failed";
export type Renewal = "renewed" | "lapsed" | "fenced" | "failed";

/**
 * The right to change one key's record, wherever the origin call runs. Every method may be called again with the same arguments:
 * the second call changes nothing and says what the first one said.
 */
export interface Claim {
  begin(operation: Operation): Promise<Begun>;
  renew(token: Token): Promise<Renewal>;
  settle(grant: Pick<Grant, "token" | "effect">, answer: FreshAnswer, sealing: Sealing): Promise<Settling>;
  report(token: Token, reason: UnknownReason): Promise<Closing>;
  release(token: Token, evidence: Evidence): Promise<Closing>;
}

/** What a field that only the origin can have made says of the attempt. */
export type SignedEvidence = "signed-none" | null;

/** What came back from the origin. `open`: over the limit, or an event stream; the body has to be read on. */
export type Came =
  | { kind: "whole"; status: number; headers: Pairs; body: Uint8Array; evidence: SignedEvidence }
  | {
      kind: "open";
      status: number;
      headers: Pairs;
      body: ReadableStream<Uint8Array>;
      evidence: SignedEvidence;
    }
  /** Nothing of it left: it could not be put together. */
  | { kind: "unsent" }
  | { kind: "lost"; reason: Extract<UnknownReason, "timeout" | "connection-lost" | "body-broken"> };

/** `budgetMs`: for headers and body. `streamMs`: for the body of an event stream, once its headers are there. */
export type Budget = { budgetMs: number; streamMs: number; bodyBytesMax: number };

export interface OriginPort {
  /** One request, sent once, redirects not followed. Never throws. `stop` ends it early. */
  dispatch(request: OriginRequest, attempt: Attempt, budget: Budget, stop: AbortController): Promise<Came>;
}

export type Attempt = { name: string; effect: string; n: number };

/**
 * An origin's word on one attempt. `unknown` says why nothing was learned: the origin doesn't know, it was silent (a time-out, a
 * broken line, a status that says nothing), or what it said is not what was agreed on.
 */
export type Committed = { kind: "committed"; answer: GivenAnswer | "lost" };
export type NothingLearned = { kind: "unknown"; why: "said" | "silence" | "illegible" };
export type Asked =
  | Committed
  /** Not seen so far. */
  | { kind: "none" }
  | NothingLearned
  /** Nobody was asked: too many questions, or too many without an answer. */
  | { kind: "put-off" };
/** `void`: it has not happened and never will. */
export type Voiding = Committed | { kind: "void" } | NothingLearned;

/** Asks the origin what became of an attempt. Nothing is thrown; every request is bounded in time and size, redirects are not followed. */
export interface ProbePort {
  /** `answerBytesMax`: the route's largest answer that is kept. */
  ask(attempt: Attempt, rule: ProbeRule, answerBytesMax: number): Promise<Asked>;
  /** Has the origin refuse the attempt for ever, unless it has happened. Follows an `ask` that said none. */
  seal(attempt: Attempt, sealUrl: string, answerBytesMax: number): Promise<Voiding>;
}

/** The ledger's side of the outbox. Delivery is at least once; the ledger drops what it knows by stream, sequence and hash. */
export interface LedgerPort {
  /** False where no entry is ever kept: then there is no hurry to deliver any. */
  isKept: boolean;
  /** Takes the entries of one stream in order. Acknowledges up to the last one it holds durably; throws nothing. */
  append(name: string, stream: Stream): Promise<Acknowledged>;
}

export type Acknowledged =
  | { kind: "held"; seq: number; head: string }
  /** It has less than it had acknowledged, and can never take them: up to where that goes. */
  | { kind: "gap"; seq: number; head: string }
  | { kind: "failed" };

/** Counts new keys of an owner. `refused`: the owner's quota is used up. Throws nothing; a store that fails says `unavailable`. */
export interface QuotaPort {
  take(owner: string, newKeysPerMinute: number): Promise<"granted" | "refused" | "unavailable">;
}

/** Digests under the deployment's own keys. All are one way; none can be made without the secrets. */
export interface Keyring {
  /** 43 characters of base64url. */
  name(message: Uint8Array): Promise<string>;
  /** 64 characters of lower-case hex, as the ledger tells it. */
  fingerprint(message: Uint8Array): Promise<string>;
  owner(message: Uint8Array): Promise<string>;
  /** Shows that a name was made here: 11 characters of base64url, 66 bits. */
  tag(name: string): Promise<string>;
  /** Name of the ledger's stream of one life of a key object: 64 characters of lower-case hex. */
  stream(name: string, inc: string): Promise<string>;
  /** Lets an origin report effects of one attempt until a time. */
  effectToken(name: string, effect: string, n: number, expiresAt: number): Promise<string>;
  /** What such a token says, while it holds. Null: it is over, or nobody here made it. */
  readEffectToken(token: string, now: number): Promise<Attempt | null>;
  /** The same for every attempt of one key. */
  originKey(name: string): Promise<string>;
  /** AES-256-GCM key of one record: the newest sealing key, or the one named. Null: no key of that name. */
  dataKey(use: DataKeyUse): Promise<{ id: string; key: CryptoKey } | null>;
}

/** `secret`: the client's own key where answers are sealed with it, else empty. */
export type DataKeyUse = { id: "newest" | { named: string }; salt: Uint8Array; secret: string };

/** Writes one log line. Members are ids, keyed digests, numbers and words of closed lists. */
export type Report = (
  event: string,
  members: Readonly<Record<string, string | number | readonly string[]>>,
) => void;
