import type { Epochs, ShardPlace } from "../epochs.ts";
import type { StreamRow } from "./store.ts";

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
  other: OtherShard;
};

/** Made again, each gives the same. */
export type FirstShard = {
  /** The epochs there are. */
  epochs: () => Promise<Epochs>;
  /** Opens an epoch of so many shards unless the newest has as many or more; gives the epochs there are then. */
  agree: (shards: number) => Promise<Epochs>;
  ownKey: () => Promise<Uint8Array>;
};

/** What a shard asks of others. Made again, each gives the same. */
export type OtherShard = {
  /** Opens a shard of the newest epoch, which closes the one before it. */
  open: (place: ShardPlace) => Promise<void>;
  /** From then on it takes no key's entry. Gives the root over all it has, in hex. */
  close: (place: ShardPlace) => Promise<string>;
  /** Of a closed shard: where streams are, as far as it or those before it know them. */
  headsOf: (place: ShardPlace, streams: readonly string[]) => Promise<readonly StreamRow[]>;
  /** True when everything up to its end is published. */
  isEndShown: (place: ShardPlace) => Promise<boolean>;
};
