/**
 * Brings a shard's lines to D1 and signs for them. One round, made again from the start wherever it was stopped:
 *
 *   sign a checkpoint over the log as it is, keep it   stopped before: the next round signs a larger one; behind: it is published first
 *   write bundles, hashes and effects up to it         stopped: the same rows again, or rows that extend them; D1 keeps what is the same
 *   note how far D1 is                                 stopped before: the same
 *   write the checkpoint                               stopped behind: the same row again
 *   show it, and let go of the lines                   stopped before: the same
 *
 * So whoever is shown a checkpoint finds every entry under it.
 */
import { encodeUtf8, sha256Hex, toHex } from "../../core/bytes.ts";
import { EMPTY_FRONTIER, extendFrontier, type Hash, rootOf } from "../../core/log/tree.ts";
import { BATCH_CHARS_MAX, BUNDLE_LINES, BUNDLES_PER_WRITE, D1_TIMEOUT_MS } from "../bounds.ts";
import { type Bundle, type BundleHashes, type Written, writeCheckpoint, writeChunk } from "../d1.ts";
import { effectsOf } from "../d1-effects.ts";
import { hashNode } from "../hashing.ts";
import { checkpointText, type Signer } from "../note.ts";
import { withinTime } from "../time.ts";
import type { Checkpoint, ShardStore } from "./store.ts";

export type Publishing = {
  shard: string;
  /** First line of a checkpoint. */
  origin: string;
  signer: () => Promise<Signer>;
  /** Null: D1 is no sink. */
  database: D1Database | null;
  allEffects: boolean;
  /** D1 was no sink for a while: it will never have lines from this one on, up to the next that is still here. */
  onHole: (first: number) => void;
};

/** `differs`: D1 holds something else; nothing was overwritten and the lines are still here. */
export type Published = { kind: "published" } | { kind: "differs"; table: string; first: number };

/** A round up to the log's head as it is now. Rejects where D1 or the key did not answer. */
export async function publish(store: ShardStore, how: Publishing): Promise<Published> {
  const checkpoint = await signHead(store, how);
  if (checkpoint === null) return { kind: "published" };
  if (how.database !== null) {
    const written = await writeLines(store, how, how.database, checkpoint.size);
    if (written.kind !== "written") return written;
    const signed = await withinTime(writeCheckpoint(how.database, how.shard, checkpoint), D1_TIMEOUT_MS);
    if (signed.kind !== "written") return signed;
  }
  store.write("published", checkpoint);
  return { kind: "published" };
}

/** The checkpoint to publish: one that was signed and not shown, or a new one. Null: everything is published. */
async function signHead(store: ShardStore, { origin, signer }: Publishing): Promise<Checkpoint | null> {
  const shown = store.read("published")?.size ?? 0;
  const waiting = store.read("signed");
  if (waiting !== null && waiting.size > shown) return waiting;
  const log = store.readLog();
  const root = await rootOf(log, hashNode);
  if (root === null || log.size <= shown) return null;
  const note = await (await signer()).sign(checkpointText(origin, log.size, root));
  const checkpoint = { size: log.size, root: toHex(root), note, at: Date.now() };
  store.write("signed", checkpoint);
  return checkpoint;
}

async function writeLines(
  store: ShardStore,
  how: Publishing,
  database: D1Database,
  size: number,
): Promise<Written> {
  let cursor = store.read("d1") ?? 0;
  const oldest = store.firstStaged() ?? size;
  if (cursor - (cursor % BUNDLE_LINES) < oldest && cursor < size) {
    how.onHole(cursor);
    cursor = Math.ceil(oldest / BUNDLE_LINES) * BUNDLE_LINES;
    store.write("d1", cursor);
  }
  while (cursor < size) {
    const first = cursor - (cursor % BUNDLE_LINES);
    const most = Math.min(first + BUNDLES_PER_WRITE * BUNDLE_LINES, size);
    const staged = store.readStaged(first, most);
    if (staged.lines.length !== most - first) throw new Error("staged lines are missing");
    const lines = takeFitting(staged.lines);
    const leaves = staged.leaves.slice(0, lines.length);
    const to = first + lines.length;
    const operations = staged.operations.slice(cursor - first);
    const effects = effectsOf(lines.slice(cursor - first), operations, how.allEffects);
    const made = await makeBundles(first, lines, leaves);
    const written = await withinTime(writeChunk(database, how.shard, { ...made, effects }), D1_TIMEOUT_MS);
    if (written.kind === "differs") return written;
    store.write("d1", to);
    cursor = to;
  }
  return { kind: "written" };
}

/** As many whole bundles as one write may carry, and at least one. */
function takeFitting(lines: readonly string[]): readonly string[] {
  let chars = 0;
  const over = lines.findIndex((line) => {
    chars += line.length;
    return chars > BATCH_CHARS_MAX;
  });
  if (over === -1) return lines;
  return lines.slice(0, Math.max(over - (over % BUNDLE_LINES), BUNDLE_LINES));
}

async function makeBundles(
  first: number,
  lines: readonly string[],
  leaves: readonly Hash[],
): Promise<{ bundles: Bundle[]; hashes: BundleHashes[] }> {
  const bundles: Bundle[] = [];
  const hashes: BundleHashes[] = [];
  for (let at = 0; at < lines.length; at += BUNDLE_LINES) {
    const some = lines.slice(at, at + BUNDLE_LINES);
    const body = some.map((line) => `${line}\n`).join("");
    bundles.push({ first: first + at, count: some.length, body, digest: await sha256Hex(encodeUtf8(body)) });
    if (some.length === BUNDLE_LINES)
      hashes.push(await hashBundle(first + at, leaves.slice(at, at + BUNDLE_LINES)));
  }
  return { bundles, hashes };
}

async function hashBundle(first: number, leaves: readonly Hash[]): Promise<BundleHashes> {
  const root = await rootOf(await extendFrontier(EMPTY_FRONTIER, leaves, hashNode), hashNode);
  return { first, leaves: leaves.map(toHex).join(""), root: root === null ? "" : toHex(root) };
}
