/**
 * What the observers of a run wrote down, in one order: clients, the origin, the injector (who also sees what storage is told), and at the end
 * the ledger. Times are true time in milliseconds since the run began; `clock` is what the machine's own clock showed.
 */

/** What storage holds of a key, as far as an observer looks into it. */
export type Stored = {
  /** Of its form. */
  v: number;
  state: "in-flight" | "unknown" | "settled" | "released";
  inc: string;
  n: number;
  effect: string;
  fp: string;
  t: number;
  nonce: string;
  leaseUntil: number | null;
  /** In flight: how far the record is ahead of its object's clock. */
  ahead: number;
  answer: string | null;
  /** Entries that it has yet to tell, and how many it has told of this life. */
  owed: number;
  told: number;
  entries: readonly string[];
  actor: string | null;
  evidence: string | null;
  /** Why the outcome is unknown, where it is. */
  reason: string | null;
};

/** The rules a route was under when something was granted. */
export type Rules = {
  windowMs: number;
  quarantineMs: number;
  executionMsMax: number;
  onCrash: "hold" | "retry";
};

export type Answered = {
  status: number;
  mark: string;
  slug: string;
  /** SHA-256 of the body. */
  body: string;
  /** Fields that an answer and its replays share, sorted, as one text. */
  fields: string;
  /** Other fields of interest, with their values. */
  others: string;
};

type Data =
  | { do: "call"; call: number; client: string; key: string; variant: number; mayAsk: boolean }
  | { do: "return"; call: number; key: string; answer: Answered }
  | { do: "silence"; call: number; key: string }
  | { do: "arrive"; key: string; effect: string; attempt: number; dedupe: string; variant: number }
  | { do: "execute"; key: string; effect: string; execution: number }
  | { do: "reply"; key: string; effect: string; status: number; body: string; whole: boolean }
  /** The origin has said that an effect never was and never will be. */
  | { do: "deny"; key: string; effect: string; how: string }
  | { do: "void"; key: string; effect: string }
  | { do: "granted"; key: string; clock: number; seenFrom: number; effect: string; rules: Rules }
  | {
      do: "stored";
      key: string;
      clock: number;
      method: string;
      token: { inc: string; n: number } | null;
      before: Stored | null;
      after: Stored | null;
      /** The latest version of records that the writer knows. */
      reads: number;
    }
  | { do: "rang"; key: string; clock: number }
  | { do: "defect"; text: string }
  | { do: "log"; text: string }
  | { do: "fault"; name: string }
  | { do: "future"; key: string; isThere: boolean }
  /**
   * Somebody has written under a lease: whether it was the holder, or one who took it before its end, and whether anything is different
   * since.
   */
  | { do: "lease"; isTaking: boolean; isHeld: boolean; isEarly: boolean; isChanged: boolean }
  /** The product opens a connection. */
  | { do: "connect"; to: string }
  /** Bodies of entries before `until` are deleted. */
  | { do: "pruned"; shard: string; until: number }
  | { do: "healed" }
  | { do: "resolve"; key: string; effect: string; operator: string; outcome: string };

export type Row = Data & { at: number };
export type RowOf<Do extends Row["do"]> = Extract<Row, { do: Do }>;
export type Datum = Data;

/** One line of the ledger as it was stored. */
export type Line = Readonly<Record<string, unknown>> & {
  shard: string;
  index: number;
  type: string;
  stream: string;
  seq: number;
  prev: string;
  at: number;
  effect_id?: string;
  attempt?: number;
};

export type Checkpoint = { shard: string; size: number; root: string; at: number };

/** `published`: lines that D1 had when the checkpoint was shown; null: D1 was no sink. */
export type Shown = Checkpoint & { published: number | null };

/** What was deleted from D1: entries before `until`, as the entry with index `entry` says. */
export type Pruned = { shard: string; until: number; entry: number; at: number };

export type LedgerView = {
  /** Every line, shard by shard in the order in which they became durable, as texts, and when that was. Null: the run kept no ledger. */
  lines: readonly { shard: string; texts: readonly string[]; ats: readonly number[] }[] | null;
  /** What D1 holds at the end: the same lines from the first on, as far as they were published. Null: D1 was no sink. */
  database: {
    lines: readonly { shard: string; first: number; texts: readonly string[] }[];
    /** What its own table of them says. */
    prunes: readonly Pruned[];
    checkpoints: readonly Checkpoint[];
    effects: readonly Readonly<Record<string, unknown>>[];
  } | null;
  /** Checkpoints in the order in which the injector saw them shown. */
  shown: readonly Shown[];
  /** After which age bodies may be deleted. */
  retentionMs: number;
};

/** What is left in a key's storage at the end. */
export type Left = {
  key: string;
  stored: Stored | null;
  isUnreadable: boolean;
  alarm: number | null;
  clock: number;
};

/** What is still there when nothing more is going to happen. */
export type Remains = {
  objects: readonly {
    name: string;
    kind: "key" | "ledger" | "quota";
    /** Names of what its storage holds. */
    values: readonly string[];
    alarm: number | null;
    isAlarmLost: boolean;
  }[];
  /** Lines that a shard has not let go of, and how much of its log is published. */
  shards: readonly {
    shard: string;
    size: number;
    bundleLines: number;
    staged: readonly { first: number; count: number }[];
  }[];
  /** Beside alarms that are stored. */
  timers: readonly { process: string; label: string }[];
  /** Who has yet to answer somebody. */
  calls: readonly string[];
  hasDatabase: boolean;
};

export type History = {
  seed: number;
  rows: Row[];
  ledger: LedgerView;
  left: readonly Left[];
  /** The same a while after the last fault, before anybody called again. Null: somebody had to, because nothing else would have gone on. */
  rested: readonly Left[] | null;
  /** Whether the route can ask its origin, and whether it can have an effect voided. */
  probing: "none" | "observed" | "sealed";
  /** Some machine's clock was moved while it ran; and by how much one was turned back, in all. */
  /** `whose`: names of the objects and isolates whose clock was moved. */
  clocks: { backMs: number; whose: ReadonlySet<string> };
  /** A stored answer is given only to callers of whom another service says that they may have it. */
  asksRights: boolean;
  /** Beginnings of the URLs that are configured. */
  mayReach: readonly string[];
  /** How many keys may be new in a minute, by the clock of who counts them. Null: nobody counts. */
  quota: { newKeysPerMinute: number; clock: number } | null;
  remains: Remains;
  endedAt: number;
  /** Nothing more was going to happen. */
  cameToRest: boolean;
  marks: ReadonlyMap<string, number>;
  digest: number;
  events: number;
};

export function rowsOf<Do extends Row["do"]>(rows: readonly Row[], what: Do): RowOf<Do>[] {
  return rows.filter((row): row is RowOf<Do> => row.do === what);
}
