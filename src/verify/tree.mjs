// @ts-check
/** Merkle trees of RFC 6962 section 2.1: hashes, the root of a growing tree, audit paths and consistency proofs. */
import { createHash, hash } from "node:crypto";

export const HASH_BYTES = 32;
const LINE_BYTES = 8_192;

const space = { leaf: Buffer.alloc(LINE_BYTES) };
const nodeSpace = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/**
 * SHA-256 of any bytes.
 * @param {Uint8Array} bytes
 * @returns {Buffer}
 */
export function hashBytes(bytes) {
  // The one-shot call is twice as fast for short texts; it came with Node 22.
  return hash === undefined ? createHash("sha256").update(bytes).digest() : hash("sha256", bytes, "buffer");
}

/**
 * Hash of a leaf: SHA-256 of 0x00 and the bytes.
 * @param {Buffer} bytes
 * @returns {Buffer}
 */
export function hashLeaf(bytes) {
  if (bytes.length >= space.leaf.length) space.leaf = Buffer.alloc(2 * bytes.length);
  space.leaf[0] = 0;
  bytes.copy(space.leaf, 1);
  return hashBytes(space.leaf.subarray(0, bytes.length + 1));
}

/**
 * Hash of an inner node: SHA-256 of 0x01, left and right.
 * @param {Buffer} left
 * @param {Buffer} right
 * @returns {Buffer}
 */
export function hashNode(left, right) {
  left.copy(nodeSpace, 1);
  right.copy(nodeSpace, 1 + HASH_BYTES);
  return hashBytes(nodeSpace);
}

/** A tree that only grows, held as the roots of its complete subtrees: at most 53 hashes, whatever its size. */
export class Frontier {
  /** @type {Buffer[]} Largest subtree first. */
  #roots = [];
  size = 0;

  /**
   * @param {number} size
   * @param {Buffer[]} roots Of the complete subtrees that make up `size`, largest first.
   */
  static of(size, roots) {
    const frontier = new Frontier();
    frontier.size = size;
    frontier.#roots = [...roots];
    return frontier;
  }

  /** @returns {Frontier} */
  copy() {
    return Frontier.of(this.size, this.#roots);
  }

  /**
   * The complete subtrees that lie between two leaves, as a tree of their own.
   * @param {number} first
   * @param {number} end
   * @returns {Frontier}
   */
  slice(first, end) {
    const roots = [];
    let size = 0;
    for (let i = 0, at = 0; i < this.#roots.length; i += 1) {
      const count = 2 ** Math.floor(Math.log2(this.size - at));
      const root = this.#roots[i];
      if (root !== undefined && at >= first && at + count <= end) {
        roots.push(root);
        size += count;
      }
      at += count;
    }
    return Frontier.of(size, roots);
  }

  /** @param {Buffer} leaf */
  push(leaf) {
    let node = leaf;
    for (let rest = this.size; rest % 2 === 1; rest = (rest - 1) / 2) {
      node = hashNode(/** @type {Buffer} */ (this.#roots.pop()), node);
    }
    this.#roots.push(node);
    this.size += 1;
  }

  /** @returns {Buffer} */
  root() {
    if (this.size === 0) return hashBytes(Buffer.alloc(0));
    return this.#roots.reduceRight((right, left) => hashNode(left, right));
  }
}

/**
 * Levels at which a leaf's path has a node beside it, from the leaf up. A left neighbour is always a complete subtree.
 * @param {number} index
 * @param {number} size
 * @returns {{ side: "left" | "right", first: number, count: number }[]}
 */
export function listNeighbours(index, size) {
  /** @type {{ side: "left" | "right", first: number, count: number }[]} */
  const found = [];
  let first = 0;
  let count = size;
  while (count > 1) {
    const left = splitOf(count);
    if (index < first + left) {
      found.push({ side: "right", first: first + left, count: count - left });
      count = left;
    } else {
      found.push({ side: "left", first, count: left });
      first += left;
      count -= left;
    }
  }
  return found.reverse();
}

/**
 * The largest power of two below a count of at least 2.
 * @param {number} count
 */
function splitOf(count) {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

/**
 * The root that a leaf and its audit path lead to; null when the path has not the length that index and size ask for.
 * @param {Buffer} leaf
 * @param {number} index
 * @param {number} size
 * @param {Buffer[]} path
 * @returns {Buffer | null}
 */
export function rootFromPath(leaf, index, size, path) {
  if (index < 0 || index >= size) return null;
  const neighbours = listNeighbours(index, size);
  if (neighbours.length !== path.length) return null;
  let node = leaf;
  for (const [level, { side }] of neighbours.entries()) {
    const beside = /** @type {Buffer} */ (path[level]);
    node = side === "left" ? hashNode(beside, node) : hashNode(node, beside);
  }
  return node;
}

/**
 * The tree of all leaves before one, from that one's audit path: its left neighbours are that tree's complete subtrees.
 * @param {Buffer} leaf
 * @param {number} index
 * @param {{ size: number, root: Buffer }} tree
 * @param {Buffer[]} path
 * @returns {Frontier | null} Null when the path does not lead to the tree's root.
 */
export function prefixFromPath(leaf, index, tree, path) {
  if (rootFromPath(leaf, index, tree.size, path)?.equals(tree.root) !== true) return null;
  const neighbours = listNeighbours(index, tree.size);
  return Frontier.of(index, path.filter((_, level) => neighbours[level]?.side === "left").reverse());
}

/**
 * True when a tree of `from` leaves with one root is a prefix of a tree of `to` leaves with the other (RFC 9162 2.1.4.2).
 * @param {{ size: number, root: Buffer }} from
 * @param {{ size: number, root: Buffer }} to
 * @param {Buffer[]} proof
 * @returns {boolean}
 */
export function isConsistent(from, to, proof) {
  if (from.size > to.size) return false;
  if (from.size === to.size) return proof.length === 0 && from.root.equals(to.root);
  if (from.size === 0) return proof.length === 0;
  const isPower = Number.isInteger(Math.log2(from.size));
  const path = isPower ? [from.root, ...proof] : [...proof];
  let node = from.size - 1;
  let last = to.size - 1;
  while (node % 2 === 1) {
    node = (node - 1) / 2;
    last = Math.floor(last / 2);
  }
  const [seed, ...rest] = path;
  if (seed === undefined) return false;
  let old = seed;
  let young = seed;
  for (const hashed of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      old = hashNode(hashed, old);
      young = hashNode(hashed, young);
      while (node % 2 === 0 && node !== 0) {
        node = node / 2;
        last = Math.floor(last / 2);
      }
    } else {
      young = hashNode(young, hashed);
    }
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && old.equals(from.root) && young.equals(to.root);
}

/**
 * Root over hashes that stand one behind the other, in hex.
 * @param {Buffer} hashes
 * @returns {string}
 */
export function rootOver(hashes) {
  const tree = new Frontier();
  for (let at = 0; at < hashes.length; at += HASH_BYTES)
    tree.push(Buffer.from(hashes.subarray(at, at + HASH_BYTES)));
  return tree.root().toString("hex");
}
