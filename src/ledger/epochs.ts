/**
 * Which shards there are. An epoch is one way to spread streams over shards; a larger `LEDGER_SHARDS` opens the next one. Numbers of shards are
 * powers of two, so every shard's streams come from one shard of the epoch before.
 */

/** Numbers of shards, from the first epoch to the newest. Empty: the ledger has not begun. */
export type Epochs = readonly number[];

/** A shard's name, `epoch:number`, and how many there are in its epoch. */
export type ShardPlace = { shard: string; shards: number };

/** The shard that keeps what is one for the whole ledger. */
export const FIRST_SHARD = "1:0";

/** Names of all shards, the oldest epoch first. */
export function listShards(epochs: Epochs): string[] {
  return epochs.flatMap((shards, i) =>
    Array.from({ length: shards }, (_, number) => shardName(i + 1, number)),
  );
}

/** Where a stream's entries go: its first four bytes as a number, big-endian, modulo the shards of the newest epoch. */
export function placeOf(stream: string, epochs: Epochs): ShardPlace {
  const shards = epochs.at(-1) ?? 1;
  return { shard: shardName(epochs.length, Number.parseInt(stream.slice(0, 8), 16) % shards), shards };
}

/** The shards of the newest epoch. */
export function listPlaces(epochs: Epochs): ShardPlace[] {
  const shards = epochs.at(-1) ?? 0;
  return Array.from({ length: shards }, (_, number) => ({ shard: shardName(epochs.length, number), shards }));
}

/** The epochs once there is one of at least so many shards. Fewer change nothing: no epoch follows one that was larger. */
export function growEpochs(epochs: Epochs, shards: number): Epochs {
  return shards > (epochs.at(-1) ?? 0) ? [...epochs, shards] : epochs;
}

/** `before`: the shard whose streams go on in this one; null in the first epoch. `after`: shards of the next epoch; null: there is none. */
export type Standing = { epoch: number; before: ShardPlace | null; after: number | null };

/** Null: there is no such shard. */
export function findShard(epochs: Epochs, { shard, shards }: ShardPlace): Standing | null {
  const [epoch = 0, number = 0] = shard.split(":").map(Number);
  if (epochs[epoch - 1] !== shards || !(number < shards) || shardName(epoch, number) !== shard) return null;
  const fewer = epochs[epoch - 2];
  const before = fewer === undefined ? null : { shard: shardName(epoch - 1, number % fewer), shards: fewer };
  return { epoch, before, after: epochs[epoch] ?? null };
}

function shardName(epoch: number, number: number): string {
  return `${epoch}:${number}`;
}
