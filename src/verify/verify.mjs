// @ts-check
/**
 * Checks a ledger from outside: what its lines say, their hashes, the roots, the signatures, what was seen before, and whether what is told of
 * each key can have happened. Shares no code with what writes the ledger.
 */

import { readVerifierKey } from "./note.mjs";
import { nextPin } from "./pin.mjs";
import { Unreadable } from "./unreadable.mjs";
import { EffectCheck } from "./walk/effects.mjs";
import { compareShards, EpochCheck } from "./walk/epochs.mjs";
import { verifyShard } from "./walk/shard.mjs";
import { StreamTable } from "./walk/streams.mjs";

/** @import { Finding, Pin, ShardReport, Source, Verdict, VerifyOptions } from "./types.ts" */

export { openDatabase, readDatabase } from "./sources/d1.mjs";
export { openDump } from "./sources/dump.mjs";
export { openUrl } from "./sources/http.mjs";
export { Unreadable };

/** @type {VerifyOptions} */
const DEFAULTS = { key: null, pin: null, onProgress: () => {} };

/**
 * Reads the whole ledger once, in bounded memory: some 130 bytes a stream, and a few bundles. Never throws.
 * @param {Source} source
 * @param {Partial<VerifyOptions>} [options]
 * @returns {Promise<{ verdict: Verdict, pin: Pin | null }>} `pin`: what to keep for the next time; null unless the ledger is sound.
 */
export async function verifyLedger(source, options = {}) {
  try {
    return await verifyAll(source, { ...DEFAULTS, ...options });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { verdict: { verdict: "not-checked", reason: error.message }, pin: null };
  }
}

/**
 * @param {Source} source
 * @param {VerifyOptions} options
 * @returns {Promise<{ verdict: Verdict, pin: Pin | null }>}
 */
async function verifyAll(source, { key: given, pin, onProgress }) {
  const told = await source.key();
  const vkey = given ?? pin?.key ?? told?.vkey ?? null;
  const key = vkey === null ? null : readVerifierKey(vkey);
  if (vkey !== null && key === null) throw new Unreadable("the key is not an Ed25519 verifier key");
  const names = (await source.shards()).sort(compareShards);
  const streams = new StreamTable();
  const effects = new EffectCheck();
  const epochs = new EpochCheck();
  /** @type {Finding[]} */
  const findings = [];
  /** @type {ShardReport[]} */
  const shards = [];
  for (const [number, shard] of names.entries()) {
    const pinned = pin?.shards[shard] ?? null;
    const done = await verifyShard({
      source,
      shard,
      number,
      key,
      pinned,
      streams,
      effects,
      epochs,
      onProgress,
    });
    findings.push(...done.findings);
    shards.push(done.report);
    epochs.leave(shard, done.report.first);
  }
  findings.push(
    ...epochs.finish(shards).filter(({ shard }) => !findings.some((other) => other.shard === shard)),
  );
  for (const shard of Object.keys(pin?.shards ?? {})) {
    const size = pin?.shards[shard]?.size ?? 0;
    if (names.includes(shard) || size === 0) continue;
    findings.push({
      class: "pin",
      shard,
      index: 0,
      detail: `all ${size} entries that the pin file vouches for are missing`,
    });
  }
  // Without all entries there is nothing to compare the rows with.
  if (findings.length === 0) findings.push(...(await effects.finish(source.effects(), streams, shards)));
  const first = firstOf(findings, names);
  if (first !== null) return { verdict: { verdict: "broken", first, findings, shards }, pin: null };
  const verdict = {
    verdict: /** @type {const} */ ("sound"),
    entries: shards.reduce((sum, { size }) => sum + size, 0),
    shards,
    key: vkey,
    isSelfHeld: told?.isSelfHeld ?? false,
    unchecked: key === null ? ["signatures: no key was given"] : [],
  };
  return { verdict, pin: nextPin(pin, vkey, shards) };
}

/**
 * The finding to look at first: shards in their order, those that are missing last, in each the smallest index.
 * @param {Finding[]} findings
 * @param {string[]} names
 */
function firstOf(findings, names) {
  const found = [...new Set(findings.map((finding) => finding.shard))];
  const shard = names.find((name) => found.includes(name)) ?? found[0];
  const inShard = findings.filter((finding) => finding.shard === shard);
  return inShard.toSorted((a, b) => a.index - b.index)[0] ?? null;
}
