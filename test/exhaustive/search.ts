/** Breadth-first search: every place is visited once, by a shortest way. */
import { Violation } from "../model/world.ts";
import { Healer } from "./heal.ts";
import { listMoves, type Search } from "./moves.ts";
import { BEGINNING, nameOf, type Place } from "./place.ts";

/** `complete`: there is nothing beyond. `path` of a violation: what happened, in order. */
export type Found =
  | { kind: "sound"; states: number; moves: number; depth: number; complete: boolean }
  | { kind: "broken"; by: string; what: string; path: readonly string[]; states: number };

type Visit = { place: Place; from: Visit | null; name: string; depth: number };

export function searchAll(search: Search, statesMax: number): Found {
  const healer = new Healer(search);
  const seen = new Set([nameOf(BEGINNING, search.about)]);
  let level: Visit[] = [{ place: BEGINNING, from: null, name: "", depth: 0 }];
  let moves = 0;
  let depth = 0;
  while (level.length > 0) {
    const next: Visit[] = [];
    for (const visit of level) {
      depth = visit.depth;
      let name = "liveness";
      try {
        healer.check(visit.place);
        for (const move of listMoves(search, visit.place)) {
          name = move.name;
          const place = move.go();
          moves += 1;
          if (place === null) continue;
          const key = nameOf(place, search.about);
          if (seen.has(key)) continue;
          seen.add(key);
          next.push({ place, from: visit, name, depth: visit.depth + 1 });
        }
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        return {
          kind: "broken",
          by: error.by,
          what: error.message,
          path: pathTo(visit, name),
          states: seen.size,
        };
      }
      if (seen.size >= statesMax) return { kind: "sound", states: seen.size, moves, depth, complete: false };
    }
    level = next;
  }
  return { kind: "sound", states: seen.size, moves, depth, complete: true };
}

function pathTo(visit: Visit, last: string): readonly string[] {
  const path = [last];
  for (let at: Visit | null = visit; at !== null && at.from !== null; at = at.from) path.push(at.name);
  return path.reverse();
}
