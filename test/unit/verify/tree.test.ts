// Aim: trees and proofs are those of RFC 6962. Method: the vectors of the Certificate Transparency reference implementation, and for
// every size up to 70 the definitions of section 2.1 as the tests' own writer spells them.
import { describe, expect, it } from "vitest";
import { Frontier, hashLeaf, isConsistent, prefixFromPath, rootFromPath } from "../../../src/verify/tree.mjs";
import { FIRST_PATH, INPUTS, ROOTS, rootAt } from "../../support/certificate-vectors.ts";
import { consistencyOf, pathOf, rootOf } from "../../support/ledger-log.ts";

const leaves = INPUTS.map((hex) => hashLeaf(Buffer.from(hex, "hex")));

function grow(hashes: readonly Buffer[]): Frontier {
  const tree = new Frontier();
  for (const leaf of hashes) tree.push(leaf);
  return tree;
}

describe("a root", () => {
  it.each(ROOTS.map((root, size) => [size, root] as const))(
    "of the first %d leaves of the published vectors is the published one",
    (size, root) => {
      expect(grow(leaves.slice(0, size)).root().toString("hex")).toBe(root);
    },
  );
});

describe("a path", () => {
  it("of the published vectors leads to the published root", () => {
    const path = FIRST_PATH.map((hex) => Buffer.from(hex, "hex"));

    const root = rootFromPath(leaves[0] ?? Buffer.alloc(0), 0, 8, path);

    expect(root?.toString("hex")).toBe(rootAt(8));
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
