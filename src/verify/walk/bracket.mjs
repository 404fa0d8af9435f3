// @ts-check
/**
 * The entries since the last checkpoint that held: what looked wrong about them, and which of them is to blame when the next
 * checkpoint's root is another one.
 */

import { Frontier, HASH_BYTES, listNeighbours, rootFromPath } from "../tree.mjs";
import { isOneByteOff } from "./one-byte.mjs";

/** @import { FindingClass } from "../types.ts" */

/** Leaves that are remembered: 32 MiB. Of more than these the first unvouched one may not be found. */
const LEAVES_MAX = 1 << 20;
/** Lines that are remembered, and how many of them are searched for a changed byte: some 0.2 s each. */
const LINES_MAX = 256;
const SEARCHED_MAX = 16;

/**
 * @typedef {{ class: FindingClass, index: number, detail: string }} Suspicion
 * @typedef {{ index: number, before: number, leaf: Buffer }} Repair The leaf that an entry would have with another `prev`.
 */

export class Bracket {
  /** @type {Suspicion[]} */
  suspicions = [];
  /** @type {Repair[]} */
  repairs = [];
  /** Tree over the stored hashes, from the first one that differs from its line's on. @type {Frontier | null} */
  #stored = null;
  #firstOther = -1;
  /** The first lines, by their index. @type {Map<number, Buffer>} */
  #lines = new Map();
  #leaves = Buffer.alloc(64 * HASH_BYTES);
  #vouched = new Uint8Array(64);
  /** @type {Frontier} */
  #before;

  /** @param {Frontier} tree All that came before. */
  constructor(tree) {
    this.tree = tree;
    this.#before = tree.copy();
  }

  /** Index of the first entry no checkpoint has vouched for. */
  get start() {
    return this.#before.size;
  }

  /**
   * @param {Buffer} leaf Hash of the line, or of what the store says it was where the line is gone.
   * @param {Buffer | null} stored What the store says.
   * @param {Buffer | null} line
   * @returns {boolean} False when the store says something else.
   */
  add(leaf, stored, line) {
    const at = this.tree.size - this.start;
    if (at < LEAVES_MAX) {
      this.#makeRoom(at);
      leaf.copy(this.#leaves, at * HASH_BYTES);
    }
    if (line !== null && at < LINES_MAX) this.#lines.set(this.tree.size, Buffer.from(line));
    const isSame = stored === null || stored.equals(leaf);
    if (!isSame && this.#stored === null) {
      this.#stored = this.tree.copy();
      this.#firstOther = this.tree.size;
    }
    this.#stored?.push(stored ?? leaf);
    this.tree.push(leaf);
    return isSame;
  }

  /** @param {number} at */
  #makeRoom(at) {
    if (at < this.#vouched.length) return;
    this.#leaves = Buffer.concat([this.#leaves, Buffer.alloc(this.#leaves.length)]);
    const vouched = new Uint8Array(2 * this.#vouched.length);
    vouched.set(this.#vouched);
    this.#vouched = vouched;
  }

  /**
   * Notes that the next entry of its stream has the hash of this one.
   * @param {number} index
   */
  vouch(index) {
    const at = index - this.start;
    if (at >= 0 && at < this.#vouched.length) this.#vouched[at] = 1;
  }

  /**
   * @param {FindingClass} kind
   * @param {number} index
   * @param {string} detail
   */
  suspect(kind, index, detail) {
    // Only the first ones can matter.
    if (this.suspicions.length < 1_000) this.suspicions.push({ class: kind, index, detail });
  }

  /**
   * What is wrong when no entry is to blame: all that was seen.
   * @param {boolean} isProven True when the root is as it was signed: then it is the rows beside the entries that are wrong.
   * @returns {Suspicion[]}
   */
  settle(isProven) {
    if (this.#firstOther >= 0) {
      this.suspect("hash", this.#firstOther, "the stored hash is not that of the entry");
    }
    if (isProven) return this.suspicions;
    return this.suspicions.map((said) => ({ ...said, index: Math.max(said.index, this.start) }));
  }

  /**
   * Names the entry to blame for a root that is not the signed one.
   * @param {Buffer} root
   * @returns {Suspicion}
   */
  blame(root) {
    const broken = this.suspicions.find(({ class: kind }) => kind === "encoding" || kind === "place");
    if (this.#stored?.root().equals(root)) {
      const index = this.#firstOther;
      return broken?.index === index ? broken : entryAt(index, "the entry is not the one that was signed");
    }
    if (broken !== undefined) return broken;
    for (const { index, before, leaf } of this.repairs) {
      if (this.#rootWith(index, leaf)?.equals(root))
        return entryAt(index, "its prev is not the one that was signed");
      if (before >= this.start) return entryAt(before, "the next entry of its stream has another hash of it");
    }
    return this.#blameUnvouched(root);
  }

  /**
   * @param {Buffer} root
   * @returns {Suspicion}
   */
  #blameUnvouched(root) {
    const count = Math.min(this.tree.size - this.start, LEAVES_MAX);
    const unvouched = [];
    for (let at = 0; at < count && unvouched.length <= SEARCHED_MAX; at += 1) {
      if (this.#vouched[at] === 0) unvouched.push(this.start + at);
    }
    const [only, other] = unvouched;
    if (only !== undefined && other === undefined) {
      return entryAt(only, "all entries signed along with it are as their streams have them");
    }
    const searched = unvouched.length > SEARCHED_MAX ? [] : unvouched;
    const off = searched.find((index) => {
      const line = this.#lines.get(index);
      return line !== undefined && isOneByteOff(line, this.#pathOf(index), root);
    });
    if (off !== undefined) return entryAt(off, "with one byte changed it would be the one that was signed");
    const end = this.tree.size - 1;
    return {
      class: "root",
      index: this.start,
      detail: `the root signed over entries up to ${end} is another one`,
    };
  }

  /**
   * The root with one leaf exchanged, null when the leaves are not all remembered.
   * @param {number} index
   * @param {Buffer} leaf
   */
  #rootWith(index, leaf) {
    const count = this.tree.size - this.start;
    if (count > LEAVES_MAX) return null;
    const tree = this.#before.copy();
    for (let at = 0; at < count; at += 1) {
      tree.push(this.start + at === index ? leaf : this.#leafAt(this.start + at));
    }
    return tree.root();
  }

  /**
   * Looks for the entry to blame with the help of audit paths: one that leads to the signed root tells the true hashes of all the
   * trees beside it, so that only those that differ have to be looked into.
   * @param {Buffer} root
   * @param {(index: number) => Promise<Buffer[] | null>} ask
   * @returns {Promise<Suspicion | null>} Null when the paths are of no help: there are none, or they are made from the same entries.
   */
  async ask(root, ask) {
    const size = this.tree.size;
    if (size - this.start > LEAVES_MAX) return null;
    for (let index = this.start; ; ) {
      const path = await ask(index);
      const reached = path === null ? null : rootFromPath(this.#leafAt(index), index, size, path);
      if (path === null || reached === null) return null;
      if (!reached.equals(root)) {
        return (await this.#isEcho(index, reached, ask)) ? null : this.#accuse(index);
      }
      const other = listNeighbours(index, size).find(
        ({ side, first, count }, level) =>
          side === "right" && path[level]?.equals(this.#rootOver(first, count)) === false,
      );
      if (other === undefined) return null;
      index = other.first;
    }
  }

  /**
   * True when paths are made from the very entries that are in doubt: then those of two entries lead to the same wrong root.
   * @param {number} index
   * @param {Buffer} reached Where the path of this entry leads.
   * @param {(index: number) => Promise<Buffer[] | null>} ask
   */
  async #isEcho(index, reached, ask) {
    const own = this.tree.root();
    if (!reached.equals(own)) return false;
    const other = index > this.start ? index - 1 : index + 1;
    if (other >= this.tree.size) return false;
    const path = await ask(other);
    const there = path === null ? null : rootFromPath(this.#leafAt(other), other, this.tree.size, path);
    return there === null || there.equals(own);
  }

  /** @param {number} index */
  #accuse(index) {
    const said = this.suspicions.find(
      ({ class: kind, index: at }) => at === index && (kind === "encoding" || kind === "place"),
    );
    return said ?? entryAt(index, "no proof leads from the entry to the signed root");
  }

  /**
   * Root of a tree beside the path of a remembered leaf.
   * @param {number} first
   * @param {number} count
   */
  #rootOver(first, count) {
    const tree = this.#before.slice(first, first + count);
    for (let index = Math.max(first, this.start); index < first + count; index += 1)
      tree.push(this.#leafAt(index));
    return tree.root();
  }

  /**
   * The audit path of a remembered leaf, from the leaf up.
   * @param {number} index
   */
  #pathOf(index) {
    return listNeighbours(index, this.tree.size).map(({ side, first, count }) => ({
      side,
      hash: this.#rootOver(first, count),
    }));
  }

  /** @param {number} index */
  #leafAt(index) {
    const at = index - this.start;
    return Buffer.from(this.#leaves.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
  }
}

/**
 * @param {number} index
 * @param {string} detail
 * @returns {Suspicion}
 */
function entryAt(index, detail) {
  return { class: "entry", index, detail };
}
