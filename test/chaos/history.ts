/** What the observers saw of a run, in one order: clients, the origin, the status endpoint, the ledger's readers, and whoever kills. */
import type { Point } from "./points.ts";

export type Executor = "object" | "worker";

/** What a route does about a lost outcome: nothing, run again at an origin that drops repeats, or ask an origin that can tell. */
export type CrashRule = "hold" | "retry" | "probe";

/** One operation of one client, under one key that nobody else uses. */
export type Operation = {
  key: string;
  executor: Executor;
  crashRule: CrashRule;
  point: Point;
  /** The kill it was made for, counted from 1; 0: none. */
  kill: number;
  /** Its answer is kept for a second, and its key is free again after that: nobody may call twice. */
  isBrief: boolean;
};

/** Which build runs: as it is, or one whose records this one can't read. That one reads both. */
export type Version = "this" | "later";

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
  | { kind: "executed"; key: string; effect: string; execution: string }
  /** The origin begins to answer with a body of this digest. */
  | { kind: "replied"; key: string; digest: string }
  /** Every process of the gateway has got its SIGKILL. `hit`: it fell where it was aimed. */
  | { kind: "killed"; kill: number; point: Point; executor: Executor; crashRule: CrashRule; hit: boolean }
  /** A new gateway is about to serve on the same store: from the kill to here there was none. */
  | { kind: "started"; kill: number }
  /** The gateway is killed, aimed at nothing, and started, with another build or for the end of a run: noted before the one and behind the other. */
  | { kind: "restarting" }
  | { kind: "restarted" }
  /** The key's object, or at a place of the ledger's its shards, is about to be broken where it stands. `hit`: it stood at this point. */
  | { kind: "broken"; key: string; point: Point; hit: boolean }
  /** No gateway runs; the next ones are of this build, or of a later one that writes a later version of the record. */
  | { kind: "swapped"; to: Version }
  /** What a later build has stored in one object's file, once this one has run on it. */
  | { kind: "left"; file: string; isSame: boolean }
  /** The gateway was stopped for a while, and went on. `hit`: attempts stood at this point. */
  | { kind: "paused"; ms: number; point: Point; hit: boolean }
  /** `GET /operations/{id}`. State null: none was given. `toTell`: entries that the key has told so far, or has still to tell. */
  | { kind: "looked"; key: string; state: string | null; effects: readonly string[]; toTell: number }
  /** Verdict of `oncegate verify`, with the pin of the time before: "sound", or what is wrong. Sizes of the shards. */
  | { kind: "verified"; kill: number; verdict: string; sizes: Readonly<Record<string, number>> }
  /** A checkpoint that the gateway showed; `root` in base64. */
  | { kind: "shown"; shard: string; size: number; root: string }
  /** A checkpoint that is in the database at the end. */
  | { kind: "kept"; shard: string; size: number; root: string }
  /** The origin was asked about an attempt and has said this. `void`: it never will happen. */
  | { kind: "probed"; effect: string; outcome: "committed" | "none" | "void" }
  /** A run of the reconciliation, as it was told when it was read; times in milliseconds. `ended` null: it runs, or it died. */
  | {
      kind: "ran";
      id: number;
      startedAt: number;
      endedAt: number | null;
      ended: string | null;
      scanned: number;
    }
  /** What runs have learned of an attempt, at the end. */
  | { kind: "found"; effect: string; code: string; failures: number }
  /** An entry of the ledger at the end. */
  | { kind: "entered"; stream: string; effect: string; type: string; at: number };

export type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { kind: Kind }>;

export type History = { operations: Operation[]; facts: Fact[] };

/** Facts of one kind, in order. */
export function selectFacts<Kind extends Fact["kind"]>(facts: readonly Fact[], kind: Kind): FactOf<Kind>[] {
  return facts.filter((fact): fact is FactOf<Kind> => fact.kind === kind);
}

const BREAKS: ReadonlySet<Fact["kind"]> = new Set(["killed", "started", "restarting", "restarted", "paused"]);

/** Whether what the origin said before it may have come to nobody. A kill is written down before it is made, and a start behind it. */
export function isBreak({ kind }: Fact): boolean {
  return BREAKS.has(kind);
}

/** A stored or fresh answer of the origin, given by the gateway. */
export function isSuccess(told: Told): boolean {
  return told.status >= 200 && told.status < 300;
}

/** The gateway says that an earlier attempt may have had its effect. */
export function isUnknown(told: Told): boolean {
  return told.slug === "outcome-unknown" && told.mark === "unknown";
}
