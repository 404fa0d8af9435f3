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

const LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
].map((data) => sha256(Uint8Array.of(0), Buffer.from(data, "hex")));

const ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const A = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const C = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";
const D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const F = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";
const root = (size: number): string => ROOTS[size - 1] ?? "";

const many = Array.from({ length: 300 }, (_, i) => sha256(Buffer.from([i % 256, i >> 8])));

describe("the root", () => {
  it.each(ROOTS.map((expected, i) => [i + 1, expected] as const))(
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
    expect(hex(await hashLeaf(""))).toBe(root(1));
  });
});

describe("a proof", () => {
  const told = (ranges: readonly LeafRange[]): string[] =>
    ranges.map((range) => hex(treeHash(LEAVES, range)));

  it.each<[number, number, string[]]>([
    [0, 1, []],
    [0, 8, [A, B, C]],
    [5, 8, [D, E, root(4)]],
    [2, 3, [root(2)]],
    [1, 5, [root(1), B, D]],
  ])("of leaf %i in a tree of %i is the published one", (index, size, expected) => {
    expect(told(inclusionRanges(index, size))).toEqual(expected);
  });

  it.each<[number, number, string[]]>([
    [1, 1, []],
    [1, 8, [A, B, C]],
    [6, 8, [F, E, root(4)]],
    [2, 5, [B, D]],
  ])("from size %i to size %i is the published one", (from, to, expected) => {
    expect(told(consistencyRanges(from, to))).toEqual(expected);
  });
});
