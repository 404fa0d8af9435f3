/** Every state of the world outside of the key, by number, in reduced form. */
import type { Facts } from "../judge.ts";
import { change, type Deed, follow, judgeEffects, listDeeds, pass } from "../outside.ts";
import type { Doing, Outside } from "../place.ts";
import type { Search } from "../search.ts";
import { type KeyTable, VIEWS_MAX, type View } from "./key-table.ts";
import { nameDoing, reduceDoing } from "./names.ts";

export class OutsideTable {
  readonly outsides: Outside[] = [];
  readonly deeds: readonly Deed[];
  readonly #search: Search;
  readonly #keys: KeyTable;
  readonly #ids = new Map<string, number>();
  readonly #sayable: Int32Array[] = [];
  readonly #lasts: number[] = [];
  readonly #lastIds = new Map<string, number>();
  /** By what an event means and the view that a key then gives, by world: the world after. */
  readonly #followed: (number | undefined)[][] = [];
  /** By view, by world: what can be done, in pairs of a number for what and the world after. */
  readonly #done: (Int32Array | undefined)[][] = [];

  constructor(search: Search, keys: KeyTable) {
    this.#search = search;
    this.#keys = keys;
    this.deeds = listDeeds(search.about, search.dispatches);
    this.#add({ doings: [], clock: "right" });
  }

  sayable(id: number): Int32Array {
    return this.#sayable[id] ?? new Int32Array();
  }

  /** The last attempt alone, by number. */
  lastOf(id: number): number {
    return this.#lasts[id] ?? 0;
  }

  /** Throws a `Violation`. */
  after(id: number, means: number, view: number): number {
    const table = at(this.#followed, means * VIEWS_MAX + view);
    const known = table[id];
    if (known !== undefined) return known;
    const next = follow(this.#at(id), this.#factsAt(means), this.#search.about);
    const made = this.#reduce(next, view);
    table[id] = made;
    return made;
  }

  /** The last pair is time. Throws a `Violation`. */
  done(id: number, view: number): Int32Array {
    const table = at(this.#done, view);
    const known = table[id];
    if (known !== undefined) return known;
    const outside = this.#at(id);
    const pairs: number[] = [];
    for (const [place, doing] of outside.doings.entries()) {
      for (const [i, { isPossible, what }] of this.deeds.entries()) {
        if (!isPossible(doing)) continue;
        const next = change(outside, place, what);
        judgeEffects(next, this.#viewAt(view).attempts, this.#search.about);
        pairs.push(place * this.deeds.length + i, this.#reduce(next, view));
      }
    }
    pairs.push(-1, this.#reduce(pass(outside, 1), view));
    table[id] = Int32Array.from(pairs);
    return table[id];
  }

  #reduce({ doings }: Outside, view: number): number {
    const { current, isInFlight } = this.#viewAt(view);
    const reduced = doings.map((doing, i) => reduceDoing(doing, isInFlight && i === current, this.#search));
    return this.#add({ doings: reduced, clock: "right" });
  }

  #add(outside: Outside): number {
    const names = outside.doings.map(nameDoing);
    const name = names.join();
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = this.outsides.push(outside) - 1;
    this.#ids.set(name, id);
    this.#sayable.push(Int32Array.from(this.#listSayable(outside.doings)));
    const last = names.at(-1) ?? "";
    const lastId = this.#lastIds.get(last) ?? this.#lastIds.size;
    this.#lastIds.set(last, lastId);
    this.#lasts.push(lastId);
    return id;
  }

  #listSayable(doings: readonly Doing[]): number[] {
    return [...this.#keys.messages.entries()]
      .filter(([, message]) => {
        if (message.about === "key") return true;
        const doing = doings[message.place];
        return doing !== undefined && message.isSayable(doing);
      })
      .map(([column]) => column);
  }

  #at(id: number): Outside {
    const outside = this.outsides[id];
    if (outside === undefined) throw new Error(`no world ${id}`);
    return outside;
  }

  #viewAt(id: number): View {
    const view = this.#keys.views[id];
    if (view === undefined) throw new Error(`no view ${id}`);
    return view;
  }

  #factsAt(id: number): Facts {
    const facts = this.#keys.facts[id];
    if (facts === undefined) throw new Error(`no facts ${id}`);
    return facts;
  }
}

function at<T>(tables: (T | undefined)[][], place: number): (T | undefined)[] {
  const table = tables[place] ?? [];
  tables[place] = table;
  return table;
}
