/** Every key that is met, by number; and what each event makes of it, worked out once, by the real machine. */

import type { Watch } from "../describe.ts";
import { type Facts, happen } from "../judge.ts";
import { listMessages, type Message } from "../messages.ts";
import { BACK, BEGINNING, currentOf, type Key } from "../place.ts";
import type { Search } from "../search.ts";
import { HAPPENED, nameKey } from "./names.ts";

/** Where an event leads instead of to another key: nobody can send it here, nothing changes, or the search ends there. */
export const NOWHERE = -2;
const UNKNOWN = -1;
/** Facts number 0 is that there are none. */
const NO_FACTS = JSON.stringify({
  ...{
    granted: null,
    renewed: null,
    replayed: -1,
    freed: -1,
    isMeasured: false,
    orphaned: -1,
    told: [],
    unheard: -1,
  },
});

/** What of a key the world outside has to know: which attempt is the current one, whether it is in flight, and their windows. */
export type View = { current: number; isInFlight: boolean; attempts: Key["attempts"] };

/** One for each way in which windows can follow each other, and for each attempt of it: far fewer than this. */
export const VIEWS_MAX = 4_096;

export class KeyTable {
  readonly messages: readonly Message[];
  readonly keys: Key[] = [];
  readonly viewOf: number[] = [];
  readonly views: View[] = [];
  readonly facts: Facts[] = [];
  readonly #search: Search;
  readonly #watch: Watch;
  readonly #ids = new Map<string, number>();
  readonly #viewIds = new Map<string, number>();
  readonly #factsIds = new Map<string, number>();
  readonly #next: Int32Array[] = [];
  readonly #means: Uint16Array[] = [];

  constructor(search: Search, watch: Watch) {
    this.#search = search;
    this.#watch = watch;
    this.messages = listMessages(search.about, search.attemptsMax);
    this.#factsOf(NO_FACTS);
    this.add(BEGINNING.key);
  }

  /** Three more than there are messages: time goes on, the clock steps back, it is set right. */
  get columns(): number {
    return this.messages.length + 3;
  }

  add(key: Key): number {
    const name = nameKey(key, this.#search);
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = this.keys.push(key) - 1;
    this.#ids.set(name, id);
    this.viewOf.push(this.#view(key));
    this.#next.push(new Int32Array(this.columns).fill(UNKNOWN));
    this.#means.push(new Uint16Array(this.columns));
    return id;
  }

  /** The key that an event leads to, or `NOWHERE`. Throws a `Violation`. */
  next(id: number, column: number): number {
    const known = this.#next[id]?.[column] ?? UNKNOWN;
    return known === UNKNOWN ? this.#work(id, column) : known;
  }

  /** The number of what that event means outside, once it is known where it leads. */
  means(id: number, column: number): number {
    return this.#means[id]?.[column] ?? 0;
  }

  #work(id: number, column: number): number {
    const key = this.keys[id];
    const [next, means] = [this.#next[id], this.#means[id]];
    if (key === undefined || next === undefined || means === undefined) throw new Error(`no key ${id}`);
    const message = this.messages[column];
    if (message === undefined) {
      const back = BACK[this.#search.clock];
      const by = [1, -back, back][column - this.messages.length] ?? 0;
      next[column] = this.add({ ...key, now: key.now + by });
      return next[column];
    }
    const event = message.about === "key" ? message.make(key) : message.make(key, HAPPENED);
    if (event === null) {
      next[column] = NOWHERE;
      return NOWHERE;
    }
    const made = happen(this.#search.step, key, event);
    this.#watch.row(made.row);
    means[column] = this.#factsOf(JSON.stringify(made.facts));
    // A key that was begun with the other request is the same with the two renamed, and nobody comes with the first one there twice.
    const isRenamed = made.facts.granted !== null && event.do === "begin" && event.fp === "g";
    const isBeyond = made.key.attempts.length > this.#search.attemptsMax || isRenamed;
    next[column] = isBeyond ? NOWHERE : this.add(made.key);
    return next[column];
  }

  #view(key: Key): number {
    const view = { current: currentOf(key), isInFlight: key.record.state === "in-flight" };
    const name = `${view.current} ${view.isInFlight} ${key.attempts.map(({ window }) => window).join("")}`;
    const known = this.#viewIds.get(name);
    if (known !== undefined) return known;
    const id = this.views.push({ ...view, attempts: key.attempts }) - 1;
    if (id === VIEWS_MAX) throw new Error("too many views");
    this.#viewIds.set(name, id);
    return id;
  }

  #factsOf(name: string): number {
    const known = this.#factsIds.get(name);
    if (known !== undefined) return known;
    const id = this.facts.push(JSON.parse(name)) - 1;
    this.#factsIds.set(name, id);
    return id;
  }
}
