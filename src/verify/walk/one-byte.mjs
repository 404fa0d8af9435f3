// @ts-check
/**
 * Finds the one byte that was changed in a line by trying the others: where one of them leads to the signed root, that line was the one.
 * Tells bit rot and slips of a hand from the rest, where nothing else names the line.
 */
import { hashLeaf, hashNode } from "../tree.mjs";

const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const BASE64_URL = `${HEX}ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_`;
/** Values in which one byte can be another and the line still an entry, and what it can be. Others are words of closed lists. */
const VALUES = /"(at|seq|attempt|status|stream|prev|digest|answer_digest|fp|effect_id|target)":"?([^",}]+)/g;
const ALPHABETS = /** @type {Record<string, string>} */ ({
  stream: HEX,
  prev: HEX,
  digest: HEX,
  answer_digest: HEX,
  fp: BASE64_URL,
  effect_id: BASE64_URL,
  target: BASE64_URL,
});

/**
 * @param {Buffer} line
 * @param {{ side: "left" | "right", hash: Buffer }[]} path From the leaf up.
 * @param {Buffer} root
 * @returns {boolean} True when the line with one other byte leads to the root.
 */
export function isOneByteOff(line, path, root) {
  const leads = () => {
    const climb = (
      /** @type {Buffer} */ node,
      /** @type {{ side: "left" | "right", hash: Buffer }} */ { side, hash },
    ) => (side === "left" ? hashNode(hash, node) : hashNode(node, hash));
    return path.reduce(climb, hashLeaf(tried)).equals(root);
  };
  const tried = Buffer.from(line);
  for (const { 0: text, 1: name = "", 2: value = "", index } of line.toString("latin1").matchAll(VALUES)) {
    const end = index + text.length;
    for (let at = end - value.length; at < end; at += 1) {
      for (const char of ALPHABETS[name] ?? DIGITS) {
        tried[at] = char.charCodeAt(0);
        if (leads()) return true;
      }
      tried[at] = line[at] ?? 0;
    }
  }
  return false;
}
