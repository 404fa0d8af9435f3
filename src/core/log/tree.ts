/**
 * The Merkle tree of a log (RFC 6962 section 2.1): its frontier as leaves are added, and which subtrees a proof names. Pure arithmetic; hashing
 * is the caller's, and may be asynchronous.
 */

/** 32 bytes. */
export type Hash = Uint8Array;

/** SHA-256(0x01 || left || right). */
export type HashNode = (left: Hash, right: Hash) => Hash | Promise<Hash>;

/**
 * All that is needed of a tree to add leaves to it: the roots of its perfect subtrees, from the largest on the left to the smallest.
 * There are as many as `size` has ones in base two, so at most 53.
 */
export type Frontier = { size: number; hashes: readonly Hash[] };

export const EMPTY_FRONTIER: Frontier = { size: 0, hashes: [] };

/** The root of a tree without leaves: SHA-256 of nothing, in hex. */
export const EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Leaves from `from` up to but not including `to`. */
export type LeafRange = { from: number; to: number };

/** The frontier with the hashes of more leaves added, in order. Each level is hashed as a whole. */
export async function extendFrontier(
  frontier: Frontier,
  leaves: readonly Hash[],
  hashNode: HashNode,
): Promise<Frontier> {
  const earlier = [...frontier.hashes];
  const kept: Hash[] = [];
  let level = leaves;
  // `open` is the size of the tree in subtrees of the level at hand: an odd one waits for its right neighbour.
  let open = frontier.size;
  while (level.length > 0 || open > 0) {
    const waiting = open % 2 === 1 ? earlier.splice(-1) : [];
    const row = [...waiting, ...level];
    if (row.length % 2 === 1) kept.unshift(...row.slice(-1));
    level = await hashPairs(row, hashNode);
    open = Math.floor(open / 2);
  }
  return { size: frontier.size + leaves.length, hashes: kept };
}

/** Nodes over neighbours; a last one without a neighbour is left out. */
function hashPairs(row: readonly Hash[], hashNode: HashNode): Promise<readonly Hash[]> {
  const nodes: (Hash | Promise<Hash>)[] = [];
  for (let i = 0; i + 1 < row.length; i += 2) {
    const [left, right] = row.slice(i, i + 2);
    if (left !== undefined && right !== undefined) nodes.push(hashNode(left, right));
  }
  return Promise.all(nodes);
}

/** The root over everything in a frontier; null for an empty tree, whose root is `EMPTY_ROOT`. */
export async function rootOf(frontier: Frontier, hashNode: HashNode): Promise<Hash | null> {
  const [last, ...others] = frontier.hashes.toReversed();
  if (last === undefined) return null;
  let root = last;
  for (const left of others) root = await hashNode(left, root);
  return root;
}

/**
 * The subtrees whose roots are the audit path of leaf `index` in the tree of `size` leaves, in the order of RFC 6962 section
 * 2.1.1. Needs 0 <= index < size.
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  return pathBetween(index, { from: 0, to: size });
}

function pathBetween(index: number, { from, to }: LeafRange): LeafRange[] {
  if (to - from <= 1) return [];
  const middle = from + splitOf(to - from);
  return index < middle
    ? [...pathBetween(index, { from, to: middle }), { from: middle, to }]
    : [...pathBetween(index, { from: middle, to }), { from, to: middle }];
}

/**
 * The subtrees whose roots prove that the tree of `from` leaves is the beginning of the tree of `to` leaves, in the order of RFC 6962
 * section 2.1.2. Needs 0 < from <= to; none for two trees of one size.
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  return subproof(from, { from: 0, to }, true);
}

function subproof(size: number, tree: LeafRange, isWhole: boolean): LeafRange[] {
  if (size === tree.to) return isWhole ? [] : [tree];
  const middle = tree.from + splitOf(tree.to - tree.from);
  if (size <= middle) {
    return [...subproof(size, { from: tree.from, to: middle }, isWhole), { from: middle, to: tree.to }];
  }
  return [...subproof(size, { from: middle, to: tree.to }, false), { from: tree.from, to: middle }];
}

/** The largest power of two below `count`, which is at least 2. */
export function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}
