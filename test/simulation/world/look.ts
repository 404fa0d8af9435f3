/** What is left of a run when it is over: in storage and in the ledger. */
import type { LedgerView, Left, Shown } from "../check/history.ts";
import type { SimDatabase } from "./database.ts";
import type { Host } from "./host.ts";
import { summarise } from "./watch.ts";

export function readLeft(host: Host, key: string, now: number): Left {
  const { kv, alarm } = host.durable;
  const record = kv.get("record");
  return {
    key,
    stored: summarise(record),
    isUnreadable: record !== undefined && (record as { v: number }).v !== 1,
    alarm,
    clock: now + host.clock.offset,
  };
}

export type LedgerParts = {
  shards: number;
  /** Null: D1 is no sink. */
  database: SimDatabase | null;
  /** Null: nothing was ever sent to that shard. */
  host: (shard: string) => Host | null;
  shown: readonly Shown[];
};

export function readLedger({ shards, database, host, shown }: LedgerParts): LedgerView {
  const names = Array.from({ length: shards }, (_, number) => `1:${number}`);
  const lines = names.map((shard) => {
    const staged = (host(shard)?.durable.tables?.staged ?? []).toSorted((a, b) => a.first - b.first);
    return { shard, texts: staged.flatMap(({ body }) => body.split("\n").slice(0, -1)) };
  });
  if (database === null) return { lines, database: null, shown };
  return {
    lines,
    database: {
      lines: names.map((shard) => ({ shard, texts: database.readLines(shard) })),
      checkpoints: names.flatMap((shard) => database.readCheckpoints(shard)),
      effects: database.readEffects(),
    },
    shown,
  };
}
