/** One search with and without its reductions: what both of them see has to be the same. */
import { watchInto } from "./describe.ts";
import { searchPlainly } from "./plain/search.ts";
import { searchReduced } from "./reduced/search.ts";
import type { Found, Search } from "./search.ts";

/** `lost`: what only the plain one has seen, in the words of `describe.ts`; `extra`: what only the reduced one has. */
export type Comparison = { plain: Found; reduced: Found; seen: number; lost: string[]; extra: string[] };

export function compareSearches(search: Search, statesMax: number): Comparison {
  const [byPlain, byReduced] = [new Set<string>(), new Set<string>()];
  const plain = searchPlainly(search, statesMax, watchInto(byPlain));
  const reduced = searchReduced(search, statesMax, watchInto(byReduced));
  const lost = [...byPlain].filter((what) => !byReduced.has(what));
  const extra = [...byReduced].filter((what) => !byPlain.has(what));
  return { plain, reduced, seen: byPlain.size, lost, extra };
}
