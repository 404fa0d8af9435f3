// @ts-check
/** The pin file: what was seen of a ledger the last time it was sound. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { readBase64 } from "./note.mjs";
import { HASH_BYTES } from "./tree.mjs";
import { Unreadable } from "./unreadable.mjs";

/** @import { Pin, ShardReport } from "./types.ts" */

/**
 * @param {string} path
 * @returns {Pin | null} Null when there is no such file yet.
 */
export function readPin(path) {
  if (!existsSync(path)) return null;
  const pin = parsePin(readFileSync(path, "utf8"));
  if (pin === null) throw new Unreadable(`${path} is not a pin file`);
  return pin;
}

/**
 * @param {string} text
 * @returns {Pin | null} Null when it is none.
 */
export function parsePin(text) {
  try {
    const read = JSON.parse(text);
    return isPin(read) ? read : null;
  } catch {
    return null;
  }
}

/**
 * Replaces the file in one step, so that a crash leaves the old one or the new one.
 * @param {string} path
 * @param {Pin} pin
 */
export function writePin(path, pin) {
  const fresh = `${path}.new`;
  writeFileSync(fresh, `${JSON.stringify(pin, null, 2)}\n`);
  renameSync(fresh, path);
}

/**
 * The pin after a sound verification. A shard that has no checkpoint yet keeps what was pinned.
 * @param {Pin | null} before
 * @param {string | null} key
 * @param {ShardReport[]} shards
 * @returns {Pin}
 */
export function nextPin(before, key, shards) {
  const covered = shards.filter(
    ({ shard, covered }) => covered > 0 && covered >= (before?.shards[shard]?.size ?? 0),
  );
  const seen = covered.map(({ shard, covered: size, root }) => [shard, { size, root }]);
  return { v: 1, key, shards: { ...before?.shards, ...Object.fromEntries(seen) } };
}

/**
 * @param {unknown} read
 * @returns {read is Pin}
 */
function isPin(read) {
  if (typeof read !== "object" || read === null) return false;
  const { v, key, shards } = /** @type {Record<string, unknown>} */ (read);
  if (v !== 1 || (key !== null && typeof key !== "string")) return false;
  const isTable = typeof shards === "object" && shards !== null && !Array.isArray(shards);
  return isTable && Object.values(shards).every(isPinnedShard);
}

/** @param {unknown} read */
function isPinnedShard(read) {
  if (typeof read !== "object" || read === null) return false;
  const { size, root } = /** @type {Record<string, unknown>} */ (read);
  const isSize = Number.isSafeInteger(size) && Number(size) >= 0;
  return isSize && typeof root === "string" && readBase64(root)?.length === HASH_BYTES;
}
