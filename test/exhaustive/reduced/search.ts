/**
 * Breadth-first search in which a place is two numbers: its key and the world outside of it. The machine judges each event on each key
 * once, whatever goes on outside; what that means there is judged once for each world. The places are all their combinations that are met.
 */
import { Violation } from "../../model/world.ts";
import type { Watch } from "../describe.ts";
import { Healer } from "../heal.ts";
import { listSteps } from "../outside.ts";
import type { Found, Search } from "../search.ts";
import { KeyTable, NOWHERE } from "./key-table.ts";
import { nameDoing, nameKey } from "./names.ts";
import { OutsideTable } from "./outside-table.ts";
import { Visits } from "./visits.ts";

export function searchReduced(search: Search, statesMax: number, watch: Watch): Found {
  return new Reduced(search, watch).run(statesMax);
}

/** In a place's second number, below that of the world. */
const CLOCKS = ["right", "behind", "to be set right"] as const;
const [RIGHT, BEHIND, TO_BE_SET_RIGHT] = [0, 1, 2] as const;

/** Moves by number: an event on the key, time, the clock's step, then what is done outside. */
class Reduced {
  readonly #search: Search;
  readonly #watch: Watch;
  readonly #keys: KeyTable;
  readonly #worlds: OutsideTable;
  readonly #healer: Healer;
  readonly #healed: Set<number>[] = [];
  readonly #visits = new Visits();
  #moves = 0;
  #at = 0;
  #move = 0;

  constructor(search: Search, watch: Watch) {
    this.#search = search;
    this.#watch = watch;
    this.#keys = new KeyTable(search, watch);
    this.#worlds = new OutsideTable(search, this.#keys);
    this.#healer = new Healer(search, (key, last) => `${nameKey(key, search)}/${nameDoing(last)}`);
  }

  run(statesMax: number): Found {
    const visits = this.#visits;
    visits.add(0, 0, 0, 0);
    try {
      for (this.#at = 0; this.#at < visits.count; this.#at += 1) {
        if (visits.count >= statesMax)
          return {
            kind: "sound",
            states: visits.count,
            moves: this.#moves,
            depth: this.#depth(),
            complete: false,
          };
        this.#visit(visits.key[this.#at] ?? 0, visits.outside[this.#at] ?? 0);
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      const path = [...this.#path(this.#at), this.#nameOf(this.#move)];
      return { kind: "broken", by: error.by, what: error.message, path, states: visits.count };
    }
    this.#at -= 1;
    this.#describe();
    return { kind: "sound", states: visits.count, moves: this.#moves, depth: this.#depth(), complete: true };
  }

  #visit(key: number, place: number): void {
    const [keys, worlds] = [this.#keys, this.#worlds];
    const [world, clock] = [place >> 2, place & 3];
    const view = keys.viewOf[key] ?? 0;
    this.#heal(key, world);
    for (const column of worlds.sayable(world)) {
      this.#move = column;
      const next = keys.next(key, column);
      const means = keys.means(key, column);
      const nextView = next === NOWHERE ? view : (keys.viewOf[next] ?? 0);
      // What an event means is judged even where it leads nowhere.
      const after = means === 0 && nextView === view ? world : worlds.after(world, means, nextView);
      const isMeasured = clock === TO_BE_SET_RIGHT && keys.facts[means]?.isMeasured === true;
      if (next !== NOWHERE) this.#reach(next, after, isMeasured ? BEHIND : clock);
    }
    const done = worlds.done(world, view);
    for (let i = 0; i < done.length; i += 2) {
      const deed = done[i] ?? 0;
      this.#move = deed < 0 ? keys.messages.length : keys.columns + deed;
      this.#reach(deed < 0 ? keys.next(key, keys.messages.length) : key, done[i + 1] ?? 0, clock);
    }
    for (const { by, to } of listSteps(
      { doings: [], clock: CLOCKS[clock] ?? "behind" },
      this.#search.clock,
    )) {
      this.#move = keys.messages.length + (by < 0 ? 1 : 2);
      this.#reach(keys.next(key, this.#move), world, CLOCKS.indexOf(to));
    }
  }

  /** What can happen once the clock has been set back can happen in the same place before that, too. */
  #reach(key: number, world: number, clock: number): void {
    this.#moves += 1;
    const place = world << 2;
    const isMore = (other: number): boolean => this.#visits.has(key, place | other);
    if (clock === BEHIND && (isMore(RIGHT) || isMore(TO_BE_SET_RIGHT))) return;
    this.#visits.add(key, place | clock, this.#at, this.#move);
  }

  #heal(id: number, world: number): void {
    const healed = this.#healed[id] ?? new Set();
    this.#healed[id] = healed;
    const last = this.#worlds.lastOf(world);
    if (healed.has(last)) return;
    healed.add(last);
    const [key, outside] = [this.#keys.keys[id], this.#worlds.outsides[world]];
    this.#move = -1;
    if (key !== undefined && outside !== undefined) this.#healer.check({ key, outside });
  }

  #describe(): void {
    for (let at = 0; at < this.#visits.count; at += 1) {
      const [id, place] = [this.#visits.key[at] ?? 0, this.#visits.outside[at] ?? 0];
      const [key, outside] = [this.#keys.keys[id], this.#worlds.outsides[place >> 2]];
      if (key !== undefined && outside !== undefined) this.#watch.place({ key, outside }, this.#search.about);
    }
  }

  #depth(): number {
    return this.#path(this.#at).length;
  }

  #path(visit: number): string[] {
    const path: string[] = [];
    for (let at = visit; at > 0; at = this.#visits.from[at] ?? 0)
      path.push(this.#nameOf(this.#visits.move[at] ?? 0));
    return path.reverse();
  }

  #nameOf(move: number): string {
    const { messages, columns } = this.#keys;
    if (move < 0) return "liveness";
    if (move < messages.length) return messages[move]?.name ?? "";
    if (move === messages.length) return "time passes";
    if (move < columns)
      return `the object's clock ${move === messages.length + 1 ? "steps back" : "is set right"}`;
    const { deeds } = this.#worlds;
    const deed = move - columns;
    return `${deeds[deed % deeds.length]?.name} ${Math.floor(deed / deeds.length) + 1}`;
  }
}
