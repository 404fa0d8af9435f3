/** Shapes that the verifier's files pass each other. Types only: nothing here exists when it runs. */

/**
 * A run of entries as stored. `hashes`: 32 bytes an entry, null where the source keeps none. `root`: what the store says is the root
 * over them, in hex. `lines`: null where the bodies are gone.
 */
export type Part = {
  first: number;
  count: number;
  lines: Buffer | null;
  hashes: Buffer | null;
  root: string | null;
  /** What the store says the digest of `lines` is: lower-case hex, null where it says nothing. */
  digest: string | null;
};

/** A signed note as stored, with what its row says beside it (null where there is no row). */
export type StoredNote = { note: string; row: { size: number; root: string } | null };

/** Entries before `until` were pruned, as the entry with index `entry` says. */
export type PruneRow = { until: number; entry: number };

/** A row of the effects table. `isReported`: an origin told of it. `version`: sequence, in the effect's stream, of the last entry that is in the row. */
export type EffectRow = {
  effectId: string;
  stream: string;
  isReported: boolean;
  shard: string;
  state: string;
  version: number;
};

/** Where a ledger is read from. Whatever can't be read throws `Unreadable`. */
export interface Source {
  /** Verifier key in the text form of C2SP signed-note, and whether the ledger made it for itself. Null: not told. */
  key(): Promise<{ vkey: string; isSelfHeld: boolean } | null>;
  /** `epoch:shard` names, in any order. */
  shards(): Promise<string[]>;
  /** All the checkpoints the source has of one shard, smallest tree first. */
  checkpoints(shard: string): AsyncIterable<StoredNote>;
  /** The entries of one shard in order, up to the end or at least to `size`, that of the newest checkpoint. Holds a few parts in memory at most. */
  parts(shard: string, size: number | null): AsyncIterable<Part>;
  /** Audit path of RFC 6962 2.1.1, null where the source gives none. */
  proof(shard: string, index: number, size: number): Promise<Buffer[] | null>;
  /** Consistency proof of RFC 6962 2.1.2, null where the source gives none. */
  consistency(shard: string, from: number, to: number): Promise<Buffer[] | null>;
  /** Rows that say what was pruned, null where the source has no such table. */
  prunes(shard: string): AsyncIterable<PruneRow> | null;
  /** Rows of the effects table, null where the source has no such table. */
  effects(): AsyncIterable<EffectRow> | null;
  close(): Promise<void>;
}

/** What can be wrong, in the order in which one explains the others. */
export type FindingClass =
  | "encoding"
  | "place"
  | "bundle"
  | "missing"
  | "entry"
  | "hash"
  | "root"
  | "signature"
  | "checkpoint"
  | "pin"
  | "chain"
  | "legality"
  | "prune"
  | "epoch"
  | "effect";

/** `index`: the first entry that is wrong or missing; for a checkpoint, the first one that it alone vouches for. */
export type Finding = { class: FindingClass; shard: string; index: number; detail: string };

export type ShardReport = {
  shard: string;
  /** First entry whose body is still there. */
  first: number;
  /** Entries read, those before `first` counted. */
  size: number;
  /** Size of the newest checkpoint. */
  covered: number;
  checkpoints: number;
  /** Root at `covered`, base64. */
  root: string;
  /** An entry says that the shard has ended. */
  isClosed: boolean;
};

/** The checkpoint that a pin file holds of one shard. */
export type PinnedShard = { size: number; root: string };
export type Pin = { v: 1; key: string | null; shards: Record<string, PinnedShard> };

export type Verdict =
  | {
      verdict: "sound";
      entries: number;
      shards: ShardReport[];
      key: string | null;
      isSelfHeld: boolean;
      /** Checks that were left out, and why. */
      unchecked: string[];
    }
  | { verdict: "broken"; first: Finding; findings: Finding[]; shards: ShardReport[] }
  | { verdict: "not-checked"; reason: string };

export type VerifyOptions = {
  /** Verifier key that signatures must be by. Null: the pinned one, else the one the source tells. */
  key: string | null;
  pin: Pin | null;
  /** Called now and then with the number of entries read. */
  onProgress: (shard: string, entries: number) => void;
};

/** One line of the ledger, read. Absent members are undefined. */
export type Line = {
  shard: string;
  index: number;
  at: number;
  type: string;
  stream: string;
  seq: number;
  prev: string;
  effectId: string | undefined;
  attempt: number | undefined;
  capability: string | undefined;
  phase: string | undefined;
  target: string | undefined;
  cost: string | undefined;
  digest: string | undefined;
  fp: string | undefined;
  status: number | undefined;
  answerDigest: string | undefined;
  evidence: string | undefined;
  actor: string | undefined;
  code: string | undefined;
};
