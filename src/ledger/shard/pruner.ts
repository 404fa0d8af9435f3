/**
 * Retention. First an entry that says which entries' bodies go, then a published checkpoint that covers it, then they are
 * deleted from D1. Hashes stay. Each step is stored before the next, and made again where it was stopped.
 */

import { encodeUtf8, sha256Hex, toHex } from "../../core/bytes.ts";
import { ENTRY_VERSION, STREAM_START } from "../../core/entry.ts";
import { BUNDLE_LINES, D1_TIMEOUT_MS, PRUNE_PAUSE_MS, PRUNE_PAUSE_MS_MIN } from "../bounds.ts";
import { pruneBundles, readSizeAt } from "../d1.ts";
import { withinTime } from "../time.ts";
import type { Delivered, Delivery } from "./sequencer.ts";
import type { Prune, ShardStore } from "./store.ts";

export type Pruning = {
  shard: string;
  retentionMs: number;
  database: D1Database;
  append: (delivery: Delivery) => Promise<Delivered>;
  /** Root of the tree of the first `size` entries. */
  rootAt: (size: number) => Promise<Uint8Array>;
  onPruned: (members: { until: number; entry: number; bundles: number }) => void;
};

/**
 * The text of a prune entry. `target` is the first index whose body stays, `digest` the root of the tree before it.
 * Its stream is the shard's own.
 */
export function pruneText(
  place: { stream: string; seq: number; prev: string },
  prune: { at: number; until: number; root: string },
): string {
  return JSON.stringify({
    v: ENTRY_VERSION,
    at: prune.at,
    type: "prune",
    ...place,
    capability: "ledger.prune",
    target: String(prune.until),
    digest: prune.root,
    actor: "ledger",
  });
}

/** Name of a shard's own stream. Its shard alone writes it, so it is no secret. */
export function ownStream(shard: string): Promise<string> {
  return sha256Hex(encodeUtf8(`oncegate shard ${shard}`));
}

/** One step, if one is due. Gives when the next one is. Rejects where D1 did not answer. */
export async function prune(store: ShardStore, how: Pruning, now: number): Promise<number> {
  const state = store.read("prune") ?? { done: 0, pending: null, checkAt: now + pauseOf(how.retentionMs) };
  const next = await step(store, state, how, now);
  if (next !== state || store.read("prune") === null) store.write("prune", next);
  // With an entry written, the checkpoint that covers it is what is waited for.
  return next.checkAt;
}

function pauseOf(retentionMs: number): number {
  return Math.max(PRUNE_PAUSE_MS_MIN, Math.min(PRUNE_PAUSE_MS, retentionMs / 10));
}

async function step(store: ShardStore, state: Prune, how: Pruning, now: number): Promise<Prune> {
  if (state.pending !== null) {
    const { until, entry } = state.pending;
    if ((store.read("published")?.size ?? 0) <= entry) return state;
    const pruned = pruneBundles(how.database, how.shard, { until, entry, at: now });
    const bundles = await withinTime(pruned, D1_TIMEOUT_MS);
    store.dropEnded(until);
    how.onPruned({ until, entry, bundles });
    return { ...state, done: until, pending: null };
  }
  if (state.checkAt > now) return state;
  const checkAt = now + pauseOf(how.retentionMs);
  const old = await withinTime(readSizeAt(how.database, how.shard, now - how.retentionMs), D1_TIMEOUT_MS);
  const until = Math.floor((old ?? 0) / BUNDLE_LINES) * BUNDLE_LINES;
  if (until <= state.done) return { ...state, checkAt };
  const entry = await appendPrune(store, how, until, now);
  return { ...state, checkAt, pending: { until, entry } };
}

/** Stopping behind this and before its place is stored appends another entry, for the same bodies: that does no harm. */
async function appendPrune(store: ShardStore, how: Pruning, until: number, now: number): Promise<number> {
  const stream = await ownStream(how.shard);
  const row = store.readStream(stream);
  const place = { stream, seq: (row?.seq ?? 0) + 1, prev: row?.hash ?? STREAM_START };
  const root = toHex(await how.rootAt(until));
  const text = pruneText(place, { at: now, until, root });
  const hash = await sha256Hex(encodeUtf8(text));
  const lines = [{ text, hash }];
  const held = await how.append({
    stream,
    operation: null,
    first: place.seq,
    prev: place.prev,
    lines,
    ends: false,
  });
  const written = store.readStream(stream);
  if (held.kind !== "held" || written?.seq !== place.seq) throw new Error("the prune entry was not taken");
  return written.last;
}
