/** Breadth-first search without any reduction: every place is visited once, by a shortest way. */
import { Violation } from "../../model/world.ts";
import type { Watch } from "../describe.ts";
import { Healer } from "../heal.ts";
import { happen } from "../judge.ts";
import { listMessages } from "../messages.ts";
import { change, follow, judgeEffects, listDeeds, listSteps, pass } from "../outside.ts";
import { BACK, BEGINNING, type Place } from "../place.ts";
import type { Found, Search } from "../search.ts";
import { nameAlone, nameOf } from "./names.ts";

type Visit = { place: Place; from: Visit | null; name: string; depth: number };
/** `go` gives the next place, or null where nothing changes or it lies outside of the search. */
type Move = { name: string; go: () => Place | null };

export function searchPlainly(search: Search, statesMax: number, watch: Watch): Found {
  const back = BACK[search.clock];
  const healer = new Healer(search, (key, last) => nameAlone(key, last, search.about, back));
  const listMoves = moveLister(search, watch);
  const seen = new Set([nameOf(BEGINNING, search.about, back)]);
  let level: Visit[] = [{ place: BEGINNING, from: null, name: "", depth: 0 }];
  let moves = 0;
  let depth = 0;
  while (level.length > 0) {
    const next: Visit[] = [];
    for (const visit of level) {
      depth = visit.depth;
      watch.place(visit.place, search.about);
      let name = "liveness";
      try {
        healer.check(visit.place);
        for (const move of listMoves(visit.place)) {
          name = move.name;
          const place = move.go();
          moves += 1;
          if (place === null) continue;
          const key = nameOf(place, search.about, back);
          if (seen.has(key)) continue;
          seen.add(key);
          next.push({ place, from: visit, name, depth: visit.depth + 1 });
        }
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        const { by, message } = error;
        return { kind: "broken", by, what: message, path: pathTo(visit, name), states: seen.size };
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

function moveLister(search: Search, watch: Watch): (place: Place) => Move[] {
  const { about, attemptsMax, dispatches, step } = search;
  const messages = listMessages(about, attemptsMax);
  const deeds = listDeeds(about, dispatches);
  return ({ key, outside }) => {
    const moves: Move[] = [];
    for (const message of messages) {
      const doing = message.about === "attempt" ? outside.doings[message.place] : undefined;
      if (message.about === "attempt" && (doing === undefined || !message.isSayable(doing))) continue;
      const event = message.about === "key" ? message.make(key) : doing && message.make(key, doing);
      if (!event) continue;
      const go = (): Place | null => {
        const { key: after, row, facts } = happen(step, key, event);
        const next = follow(outside, facts, about);
        watch.row(row);
        if (after.attempts.length > attemptsMax) return null;
        return { key: after, outside: next };
      };
      moves.push({ name: message.name, go });
    }
    for (const [place, doing] of outside.doings.entries()) {
      for (const { name, isPossible, what } of deeds) {
        if (!isPossible(doing)) continue;
        const go = (): Place => {
          const next = change(outside, place, what);
          judgeEffects(next, key.attempts, about);
          return { key, outside: next };
        };
        moves.push({ name: `${name} ${place + 1}`, go });
      }
    }
    moves.push({
      name: "time passes",
      go: () => ({ key: { ...key, now: key.now + 1 }, outside: pass(outside, 1) }),
    });
    for (const { name, by, to } of listSteps(outside, search.clock))
      moves.push({
        name,
        go: () => ({ key: { ...key, now: key.now + by }, outside: { ...outside, clock: to } }),
      });
    return moves;
  };
}
