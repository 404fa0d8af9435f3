/** Header fields and abort signals as far as the product uses them: the platform's own cost ten times as much, on every hop. */

type Pairs = Iterable<readonly [string, string]>;
export type FieldsInit = Pairs | Record<string, string> | SimHeaders | undefined;

const COOKIES = "set-cookie";

export class SimHeaders {
  /** By lower-case names: several values of one name joined, as `get` gives them. */
  readonly #fields = new Map<string, string>();
  /** Those that are not joined where all are listed. */
  #cookies: readonly string[] = [];

  constructor(init?: FieldsInit) {
    if (init === undefined || init === null) return;
    const pairs = Symbol.iterator in init ? (init as Pairs) : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    const field = name.toLowerCase();
    this.#fields.set(field, value);
    if (field === COOKIES) this.#cookies = [value];
  }

  append(name: string, value: string): void {
    const field = name.toLowerCase();
    const known = this.#fields.get(field);
    this.#fields.set(field, known === undefined ? value : `${known}, ${value}`);
    if (field === COOKIES) this.#cookies = [...this.#cookies, value];
  }

  delete(name: string): void {
    const field = name.toLowerCase();
    this.#fields.delete(field);
    if (field === COOKIES) this.#cookies = [];
  }

  /** In the order of the names; cookies one by one, the values of all others joined. */
  [Symbol.iterator](): IterableIterator<[string, string]> {
    const pairs: [string, string][] = [];
    for (const name of [...this.#fields.keys()].sort()) {
      if (name === COOKIES) for (const value of this.#cookies) pairs.push([name, value]);
      else pairs.push([name, this.#fields.get(name) ?? ""]);
    }
    return pairs.values();
  }
}

export class SimSignal {
  aborted = false;
  readonly #listeners: (() => void)[] = [];

  /** Fires with the first of the given ones. */
  static any(signals: Iterable<SimSignal>): SimSignal {
    const joined = new SimSignal();
    for (const signal of signals) {
      if (signal.aborted) joined.abort();
      else signal.addEventListener("abort", () => joined.abort());
    }
    return joined;
  }

  addEventListener(_name: string, listener: () => void): void {
    this.#listeners.push(listener);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

export class SimAbortController {
  readonly signal = new SimSignal();

  abort(): void {
    this.signal.abort();
  }
}
