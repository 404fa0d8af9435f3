/**
 * Retention. First an entry that says which entries' bodies go, then a published checkpoint that covers it, then they are
 * deleted from D1. Hashes stay. Each step is stored before the next, and made again where it was stopped. A closed shard goes on with this,
 * and keeps the bundle that says it is closed.
 */
import { toHex } from "../../core/bytes.ts";
import { pausedUntil } from "../../core/pause.ts";
import { BUNDLE_LINES, D1_TIMEOUT_MS, PRUNE_PAUSE_MS, PRUNE_PAUSE_MS_MIN } from "../bounds.ts";
import { pruneBundles, readOldSize } from "../d1.ts";
import { withinTime } from "../time.ts";
import type { OwnStream } from "./own-stream.ts";
import type { Prune, ShardStore } from "./store.ts";

export type Pruning = {
  shard: string;
  retentionMs: number;
  database: D1Database;
  own: OwnStream;
  /** Root of the tree of the first `size` entries. */
  rootAt: (size: number) => Promise<Uint8Array>;
  onPruned: (members: { until: number; entry: number; bundles: number }) => void;
};

/** One step, if one is due. Gives when the next one is. Rejects where D1 did not answer. */
export async function prune(store: ShardStore, how: Pruning, now: number): Promise<number> {
  const state = store.read("prune") ?? { done: 0, pending: null, checkAt: now + pauseOf(how.retentionMs) };
  const next = await step(store, state, how, now);
  if (next !== state || store.read("prune") === null) store.write("prune", next);
  // With an entry written, the checkpoint that covers it is what is waited for.
  return next.checkAt;
}

/** When it is looked next for what is too old. */
export function pruneDue({ checkAt }: Prune, retentionMs: number, now: number): number {
  return pausedUntil(checkAt, now, pauseOf(retentionMs));
}

function pauseOf(retentionMs: number): number {
  return Math.max(PRUNE_PAUSE_MS_MIN, Math.min(PRUNE_PAUSE_MS, retentionMs / 10));
}

async function step(store: ShardStore, state: Prune, how: Pruning, now: number): Promise<Prune> {
  if (state.pending !== null) {
    const { until, entry } = state.pending;
    if ((store.read("published")?.size ?? 0) <= entry) return state;
    // The clock was ahead when that was told, and is right now: it was told too early, and is told again when it is time.
    if ((await findOld(how, now)) < until)
      return { ...state, pending: null, checkAt: now + pauseOf(how.retentionMs) };
    const pruned = pruneBundles(how.database, how.shard, { until, entry, at: now });
    const bundles = await withinTime(pruned, D1_TIMEOUT_MS);
    store.dropEnded(until);
    how.onPruned({ until, entry, bundles });
    return { ...state, done: until, pending: null };
  }
  if (pruneDue(state, how.retentionMs, now) > now) return state;
  const checkAt = now + pauseOf(how.retentionMs);
  const oldest = Math.min(await findOld(how, now), store.read("closed")?.index ?? Number.POSITIVE_INFINITY);
  const until = Math.floor(oldest / BUNDLE_LINES) * BUNDLE_LINES;
  if (until <= state.done) return { ...state, checkAt };
  const entry = await appendPrune(how, until, now);
  return { ...state, checkAt, pending: { until, entry } };
}

/** So many entries, from the first on, are too old to keep. */
async function findOld({ database, shard, retentionMs }: Pruning, now: number): Promise<number> {
  const size = readOldSize(database, shard, { before: now - retentionMs, now });
  return (await withinTime(size, D1_TIMEOUT_MS)) ?? 0;
}

/** Stopping behind this and before its place is stored appends another entry, for the same bodies: that does no harm. */
async function appendPrune(how: Pruning, until: number, now: number): Promise<number> {
  const digest = toHex(await how.rootAt(until));
  const entry = { type: "prune", capability: "ledger.prune", target: String(until), digest } as const;
  const index = await how.own.tell(() => entry, { kind: "tells" }, now);
  if (index === null) throw new Error("the prune entry was not taken");
  return index;
}
