// Aim: trees and proofs are those of RFC 6962. Method: the vectors of the Certificate Transparency reference implementation, and for
// every size up to 70 the definitions of section 2.1 as the tests' own writer spells them.
import { describe, expect, it } from "vitest";
import { Frontier, hashLeaf, isConsistent, prefixFromPath, rootFromPath } from "../../../src/verify/tree.mjs";
import { consistencyOf, pathOf, rootOf } from "../../support/ledger-log.ts";

const INPUTS = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];
const leaves = INPUTS.map((hex) => hashLeaf(Buffer.from(hex, "hex")));

function grow(hashes: readonly Buffer[]): Frontier {
  const tree = new Frontier();
  for (const leaf of hashes) tree.push(leaf);
  return tree;
}

describe("a root", () => {
  it.each([
    [0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    [1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
    [2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    [3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"],
    [4, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"],
    [5, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"],
    [6, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"],
    [7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"],
    [8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"],
  ])("of the first %d leaves of the published vectors is the published one", (size, root) => {
    expect(grow(leaves.slice(0, size)).root().toString("hex")).toBe(root);
  });
});

describe("a path", () => {
  it("of the published vectors leads to the published root", () => {
    const path = [
      "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ].map((hex) => Buffer.from(hex, "hex"));

    const root = rootFromPath(leaves[0] ?? Buffer.alloc(0), 0, 8, path);

    expect(root?.toString("hex")).toBe("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
  });

  const many = Array.from({ length: 70 }, (_, i) => hashLeaf(Buffer.from([i])));

  it("of every leaf of every tree leads to its root and gives the tree before it; a changed one does not", () => {
    for (let size = 1; size <= 70; size += 1) {
      const own = many.slice(0, size);
      const root = rootOf(own);
      for (const [index, leaf] of own.entries()) {
        const path = pathOf(index, own);
        expect(rootFromPath(leaf, index, size, path)?.equals(root)).toBe(true);
        expect(prefixFromPath(leaf, index, { size, root }, path)?.root()).toEqual(
          rootOf(own.slice(0, index)),
        );
        expect(rootFromPath(leaf, index, size, [...path, leaf])).toBeNull();
        expect(prefixFromPath(leaf, index, { size, root: hashLeaf(root) }, path)).toBeNull();
      }
    }
  });

  it("of consistency leads from every tree to every larger one, and not from another one", () => {
    for (let to = 1; to <= 70; to += 1) {
      const young = { size: to, root: rootOf(many.slice(0, to)) };
      for (let from = 1; from <= to; from += 1) {
        const proof = consistencyOf(from, many.slice(0, to));
        const old = { size: from, root: rootOf(many.slice(0, from)) };
        expect(isConsistent(old, young, proof)).toBe(true);
        expect(isConsistent({ size: from, root: hashLeaf(old.root) }, young, proof)).toBe(false);
        expect(isConsistent(old, young, [...proof, old.root])).toBe(false);
        expect(isConsistent(young, { ...old, size: from - 1 }, proof)).toBe(false);
      }
    }
  });
});
