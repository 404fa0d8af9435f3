// @ts-check
/** What a gateway answers about its ledger: pages of lines, and proofs. */
import { readBase64 } from "../note.mjs";
import { HASH_BYTES } from "../tree.mjs";

/** @import { Part } from "../types.ts" */

/**
 * Lines as one part of a ledger.
 * @param {Buffer} lines
 * @param {number} from What was asked for.
 * @returns {Part}
 */
export function readPage(lines, from) {
  // Where entries are missing, the first line says where it stands; else it stands where it was asked for.
  const match = /^\{"v":1,"shard":"[^"]*","index":([0-9]{1,15}),/.exec(lines.toString("latin1", 0, 200));
  const said = match === null ? from : Number(match[1]);
  const count = lines.reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0);
  return { first: Math.max(said, from), count, lines, hashes: null, root: null, digest: null };
}

/**
 * The hashes of a proof, in its order; null when it is none.
 * @param {string} text JSON.
 * @returns {Buffer[] | null}
 */
export function readHashes(text) {
  try {
    const { hashes } = JSON.parse(text);
    if (!Array.isArray(hashes)) return null;
    const read = hashes.map((hash) => (typeof hash === "string" ? readBase64(hash) : null));
    const sound = read.filter((hash) => hash !== null && hash.length === HASH_BYTES);
    return sound.length === hashes.length ? /** @type {Buffer[]} */ (sound) : null;
  } catch {
    return null;
  }
}
