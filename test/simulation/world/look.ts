/** What is left of a run when it is over: in storage and in the ledger. */
import type { LedgerView, Left, Remains, Shown } from "../check/history.ts";
import type { SimDatabase } from "./database.ts";
import type { Host } from "./host.ts";
import type { Task } from "./scheduler.ts";
import { summarise } from "./watch.ts";
import type { Isolate } from "./workers.ts";

export function readLeft(host: Host, key: string, now: number): Left {
  const { kv, alarm } = host.durable;
  const record = kv.get("record");
  return {
    key,
    stored: summarise(record),
    isUnreadable: record !== undefined && (record as { v: number }).v > 2,
    alarm,
    clock: now + host.clock.offset,
  };
}

export type LedgerParts = {
  shards: number;
  /** Null: D1 is no sink. */
  database: SimDatabase | null;
  /** What each shard has made durable; one to which nothing was ever sent has none. */
  lines: ReadonlyMap<string, { texts: readonly string[]; ats: readonly number[] }>;
  shown: readonly Shown[];
  retentionMs: number;
};

export function readLedger({ shards, database, lines: seen, shown, retentionMs }: LedgerParts): LedgerView {
  const names = Array.from({ length: shards }, (_, number) => `1:${number}`);
  const lines = names.map((shard) => ({ shard, ...(seen.get(shard) ?? { texts: [], ats: [] }) }));
  if (database === null) return { lines, database: null, shown, retentionMs };
  return {
    lines,
    database: {
      lines: names.map((shard) => ({ shard, ...database.readLines(shard) })),
      prunes: database.readPrunes(),
      checkpoints: names.flatMap((shard) => database.readCheckpoints(shard)),
      effects: database.readEffects(),
    },
    shown,
    retentionMs,
  };
}

export type RemainsParts = {
  hosts: Readonly<Record<"key" | "ledger" | "quota", ReadonlyMap<string, Host>>>;
  isolates: readonly Isolate[];
  left: readonly Task[];
  bundleLines: number;
  hasDatabase: boolean;
};

export function readRemains({ hosts, isolates, left, bundleLines, hasDatabase }: RemainsParts): Remains {
  const all = KINDS.flatMap((kind) => [...hosts[kind].values()].map((host) => ({ kind, host })));
  const objects = all.map(({ kind, host: { name, durable, isAlarmLost } }) => ({
    name,
    kind,
    values: [...durable.kv.keys()],
    alarm: durable.alarm,
    isAlarmLost,
  }));
  const shards = [...hosts.ledger.values()].map(({ name, durable: { kv, tables } }) => ({
    shard: name,
    size: (kv.get("published") as { size: number } | undefined)?.size ?? 0,
    bundleLines,
    staged: tables?.staged ?? [],
  }));
  const alarms = new Set(objects.filter(({ alarm }) => alarm !== null).map(({ name }) => `alarm ${name}`));
  const timers = left
    .filter(({ label }) => !alarms.has(label))
    .map(({ label, process }) => ({ process: process.name, label }));
  const busy = all.flatMap(({ host: { instance } }) => (instance === null ? [] : [instance]));
  const calls = [...busy, ...isolates].filter(({ open }) => open.size > 0).map(({ name }) => name);
  return { objects, shards, timers, calls, hasDatabase };
}

const KINDS = ["key", "ledger", "quota"] as const;
