/** Proofs from what D1 has: roots of full bundles, leaf hashes of the bundles a proof cuts through, lines of the last one. */
import { fromHex } from "../../core/bytes.ts";
import {
  consistencyRanges,
  type Hash,
  inclusionRanges,
  type LeafRange,
  splitOf,
} from "../../core/log/tree.ts";
import { BUNDLE_LINES } from "../bounds.ts";
import { readBundles, readLeaves, readRoots, readSize } from "../d1-read.ts";
import { hashLeaf, hashNode } from "../hashing.ts";

const HASH_HEX = 64;

/** A hash that is needed is not in D1. */
export class MissingHash extends Error {}

/** Hashes of subtrees of one shard's tree. Keeps what it has read, so it belongs to one request. */
export class TreeReader {
  readonly #database: D1Database;
  readonly #shard: string;
  readonly #roots = new Map<number, Hash>();
  readonly #leaves = new Map<number, readonly Hash[]>();

  constructor(database: D1Database, shard: string) {
    this.#database = database;
    this.#shard = shard;
  }

  /** RFC 6962 section 2.1.1. Needs 0 <= index < size. */
  inclusion(index: number, size: number): Promise<Hash[]> {
    return this.#hashAll(inclusionRanges(index, size), size);
  }

  /** RFC 6962 section 2.1.2. Needs 0 < from <= to. */
  consistency(from: number, to: number): Promise<Hash[]> {
    return this.#hashAll(consistencyRanges(from, to), to);
  }

  /** Needs size > 0. */
  async root(size: number): Promise<Hash> {
    await this.#loadRoots(size);
    return this.#hash({ from: 0, to: size });
  }

  async #hashAll(ranges: readonly LeafRange[], size: number): Promise<Hash[]> {
    if (size > (await readSize(this.#database, this.#shard))) throw new MissingHash();
    await this.#loadRoots(size);
    const hashes: Hash[] = [];
    for (const range of ranges) hashes.push(await this.#hash(range));
    return hashes;
  }

  async #loadRoots(size: number): Promise<void> {
    for (const { first, root } of await readRoots(this.#database, this.#shard, 0, size)) {
      this.#roots.set(first, readHash(root));
    }
  }

  async #hash({ from, to }: LeafRange): Promise<Hash> {
    if (to - from === BUNDLE_LINES && from % BUNDLE_LINES === 0) {
      const root = this.#roots.get(from);
      if (root !== undefined) return root;
    }
    if (to - from === 1) return this.#leaf(from);
    const middle = from + splitOf(to - from);
    return hashNode(await this.#hash({ from, to: middle }), await this.#hash({ from: middle, to }));
  }

  async #leaf(index: number): Promise<Hash> {
    const first = index - (index % BUNDLE_LINES);
    const leaves = this.#leaves.get(first) ?? (await this.#loadLeaves(first));
    this.#leaves.set(first, leaves);
    const leaf = leaves[index - first];
    if (leaf === undefined) throw new MissingHash();
    return leaf;
  }

  async #loadLeaves(first: number): Promise<readonly Hash[]> {
    const stored = await readLeaves(this.#database, this.#shard, first);
    if (stored !== null) return splitHex(stored).map(readHash);
    const [bundle] = await readBundles(this.#database, this.#shard, first, 1);
    if (bundle?.first !== first) throw new MissingHash();
    return Promise.all(bundle.body.split("\n").slice(0, -1).map(hashLeaf));
  }
}

function splitHex(text: string): string[] {
  return Array.from({ length: text.length / HASH_HEX }, (_, i) =>
    text.slice(i * HASH_HEX, (i + 1) * HASH_HEX),
  );
}

function readHash(text: string): Hash {
  const hash = fromHex(text);
  if (hash === null) throw new MissingHash();
  return hash;
}
