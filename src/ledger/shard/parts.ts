/** What a shard is given. */
export type LedgerParts = {
  /** Key name and beginning of the origin line. */
  name: string;
  /** Ed25519, PKCS #8; null: the ledger makes and keeps its own. */
  signingKey: Uint8Array | null;
  /** Null: D1 is no sink. */
  database: D1Database | null;
  /** False: dispatches that ended get no row of their own in the effects table. */
  allEffects: boolean;
  retentionMs: number;
  /** Null: there is no receiver. */
  webhook: { url: string; key: Uint8Array } | null;
  /** Writes one line; null: lines are not printed. */
  print: ((line: string) => void) | null;
  send: (url: string, init: RequestInit) => Promise<Response>;
  report: (event: string, members: Record<string, string | number>) => void;
  /** The shard that keeps what is one for the whole ledger. */
  first: () => FirstShard;
};

/** Made again, each gives the same. */
export type FirstShard = {
  /** The number of shards that this ledger began with: the one it is told first. */
  agree: (shards: number) => Promise<number>;
  ownKey: () => Promise<Uint8Array>;
};
