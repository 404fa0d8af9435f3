// Aim: roots and proofs are RFC 6962's. Method: the published vectors of Certificate Transparency, and a recursive tree beside it.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  consistencyRanges,
  EMPTY_FRONTIER,
  EMPTY_ROOT,
  extendFrontier,
  type Hash,
  inclusionRanges,
  type LeafRange,
  rootOf,
  splitOf,
} from "../../src/core/log/tree.ts";
import { hashLeaf } from "../../src/ledger/hashing.ts";
import { FIRST_PATH, INPUTS, ROOTS, rootAt } from "../support/certificate-vectors.ts";

const sha256 = (...parts: Uint8Array[]): Hash => createHash("sha256").update(Buffer.concat(parts)).digest();
const hashNode = (left: Hash, right: Hash): Hash => sha256(Uint8Array.of(1), left, right);
const hex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString("hex");

/** The tree's definition, word for word. */
function treeHash(leaves: readonly Hash[], { from, to }: LeafRange): Hash {
  const only = leaves[from];
  if (to - from === 1 && only !== undefined) return only;
  const middle = from + splitOf(to - from);
  return hashNode(treeHash(leaves, { from, to: middle }), treeHash(leaves, { from: middle, to }));
}

const LEAVES = INPUTS.map((data) => sha256(Uint8Array.of(0), Buffer.from(data, "hex")));

const [A, B, C] = FIRST_PATH;
const D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const F = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";

const many = Array.from({ length: 300 }, (_, i) => sha256(Buffer.from([i % 256, i >> 8])));

describe("the root", () => {
  it.each(ROOTS.slice(1).map((expected, i) => [i + 1, expected] as const))(
    "of the first %i leaves is the published one",
    async (size, expected) => {
      const frontier = await extendFrontier(EMPTY_FRONTIER, LEAVES.slice(0, size), hashNode);
      expect(hex(await rootOf(frontier, hashNode))).toBe(expected);
    },
  );

  it("of no leaf is the hash of nothing", async () => {
    expect(await rootOf(EMPTY_FRONTIER, hashNode)).toBeNull();
    expect(EMPTY_ROOT).toBe(hex(sha256()));
  });

  it("is the same however the leaves come in batches, with a hash that answers later too", async () => {
    const later = async (left: Hash, right: Hash): Promise<Hash> => hashNode(left, right);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 }),
        async (sizes) => {
          let frontier = EMPTY_FRONTIER;
          for (const size of sizes) {
            frontier = await extendFrontier(frontier, many.slice(frontier.size, frontier.size + size), later);
          }
          const expected =
            frontier.size === 0 ? null : treeHash(many, { from: 0, to: Math.min(frontier.size, 300) });
          if (frontier.size <= 300) expect(hex(await rootOf(frontier, later))).toBe(hex(expected));
        },
      ),
    );
  });

  it("of a leaf is taken over a zero byte and its text", async () => {
    expect(hex(await hashLeaf(""))).toBe(rootAt(1));
  });
});

describe("a proof", () => {
  const told = (ranges: readonly LeafRange[]): string[] =>
    ranges.map((range) => hex(treeHash(LEAVES, range)));

  it.each<[number, number, string[]]>([
    [0, 1, []],
    [0, 8, [A, B, C]],
    [5, 8, [D, E, rootAt(4)]],
    [2, 3, [rootAt(2)]],
    [1, 5, [rootAt(1), B, D]],
  ])("of leaf %i in a tree of %i is the published one", (index, size, expected) => {
    expect(told(inclusionRanges(index, size))).toEqual(expected);
  });

  it.each<[number, number, string[]]>([
    [1, 1, []],
    [1, 8, [A, B, C]],
    [6, 8, [F, E, rootAt(4)]],
    [2, 5, [B, D]],
  ])("from size %i to size %i is the published one", (from, to, expected) => {
    expect(told(consistencyRanges(from, to))).toEqual(expected);
  });
});
