/** JSON pointers (RFC 6901) as a tree that can be walked beside a document. */

/** `here`: this value is left out. `below`: what is left out inside it, by member name or index as text. */
export type PointerTree = { here: boolean; below: Map<string, PointerTree> };

/**
 * The reference tokens of a pointer, `~1` and `~0` decoded; none for `""`, the whole document. Null when it
 * is not a pointer: no slash at the start, or `~` with neither 0 nor 1 (RFC 6901 section 3).
 */
export function readPointerTokens(text: string): readonly string[] | null {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return null;
  return text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * The tree of several pointers; a text that is not a pointer points nowhere. Null when nothing is pointed at.
 */
export function buildPointerTree(pointers: readonly string[]): PointerTree | null {
  const root: PointerTree = { here: false, below: new Map() };
  for (const pointer of pointers) {
    const tokens = readPointerTokens(pointer);
    if (tokens !== null) addPointer(root, tokens);
  }
  return root.here || root.below.size > 0 ? root : null;
}

function addPointer(root: PointerTree, tokens: readonly string[]): void {
  let node = root;
  for (const token of tokens) {
    const next = node.below.get(token) ?? { here: false, below: new Map() };
    node.below.set(token, next);
    node = next;
  }
  node.here = true;
}
