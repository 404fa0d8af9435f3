/** What four observers saw of a run, in one order: clients, the origin, the status endpoint, and whoever kills. */

export type Executor = "object" | "worker";

/** A route's `on_crash`. */
export type CrashRule = "hold" | "retry";

/** Where a kill is aimed, in the order of a request's life. In brackets: the crash points that it can fall on. */
export const POINTS = [
  /** The client is still sending its body [c1]. */
  "body-sending",
  /** The client has sent its last byte a few milliseconds ago [c1 to c5]. */
  "body-sent",
  /** The origin has the whole request and has done nothing [c5]. */
  "on-the-wire",
  /** The origin has had its effect and has not said a byte [c6]. */
  "effect-done",
  /** The origin has sent half of its answer's body [c6]. */
  "answer-begun",
  /** The origin has sent its last byte a few milliseconds ago [c7, c8, c9]. */
  "answer-ended",
  /** The client has its answer [c9, c10]. */
  "answer-given",
  /** Replays of a settled key are under way. */
  "replaying",
  /** Duplicates wait for the answer of a call that the origin holds. */
  "waiting",
] as const;

export type Point = (typeof POINTS)[number];

/** One operation of one client, under one key that nobody else uses. */
export type Operation = {
  key: string;
  executor: Executor;
  crashRule: CrashRule;
  point: Point;
  /** The kill it was made for, counted from 1. */
  kill: number;
};

/** Why a client called: the first try, more of the same, or a look back at an operation of an earlier kill. */
export type Use = "first" | "duplicate" | "retry" | "recheck" | "last";

/** A whole answer as a client read it. */
export type Told = {
  status: number;
  /** `Idempotency-Status`. */
  mark: string | null;
  /** Slug of a problem's `type`; null for anything else. */
  slug: string | null;
  /** Seconds; null: no such field. */
  retryAfterS: number | null;
  /** SHA-256 of the body, hex. */
  digest: string;
  /** End-to-end fields with their values, sorted, as one text. */
  fields: string;
};

export type Fact =
  | { kind: "called"; key: string; call: number; use: Use }
  | { kind: "told"; key: string; call: number; told: Told }
  /** The connection ended without a whole answer. */
  | { kind: "silence"; key: string; call: number }
  /** `dedupe` is the origin's own key; null where the route sends none. */
  | { kind: "arrived"; key: string; effect: string; attempt: number; dedupe: string | null }
  | { kind: "executed"; key: string; execution: string }
  /** The origin begins to answer with a body of this digest. */
  | { kind: "replied"; key: string; digest: string }
  /** Every process of the gateway has got its SIGKILL. `hit`: it fell where it was aimed. */
  | { kind: "killed"; kill: number; point: Point; executor: Executor; crashRule: CrashRule; hit: boolean }
  /** A new gateway is about to serve on the same store: from the kill to here there was none. */
  | { kind: "started"; kill: number }
  /** State by `GET /operations/{id}`; null: none was given. */
  | { kind: "looked"; key: string; state: string | null };

export type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { kind: Kind }>;

export type History = { operations: Operation[]; facts: Fact[] };

/** Facts of one kind, in order. */
export function selectFacts<Kind extends Fact["kind"]>(facts: readonly Fact[], kind: Kind): FactOf<Kind>[] {
  return facts.filter((fact): fact is FactOf<Kind> => fact.kind === kind);
}

/** A stored or fresh answer of the origin, given by the gateway. */
export function isSuccess(told: Told): boolean {
  return told.status >= 200 && told.status < 300;
}

/** The gateway says that an earlier attempt may have had its effect. */
export function isUnknown(told: Told): boolean {
  return told.slug === "outcome-unknown" && told.mark === "unknown";
}
