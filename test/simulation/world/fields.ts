/** Header fields and abort signals as far as the product uses them: the platform's own cost ten times as much, on every hop. */

type Pairs = Iterable<readonly [string, string]>;
export type FieldsInit = Pairs | Record<string, string> | SimHeaders | undefined;

export class SimHeaders {
  readonly #fields = new Map<string, string[]>();

  constructor(init?: FieldsInit) {
    if (init === undefined || init === null) return;
    const pairs = Symbol.iterator in init ? (init as Pairs) : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase())?.join(", ") ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#fields.set(name.toLowerCase(), [value]);
  }

  append(name: string, value: string): void {
    const known = this.#fields.get(name.toLowerCase());
    if (known === undefined) this.#fields.set(name.toLowerCase(), [value]);
    else known.push(value);
  }

  delete(name: string): void {
    this.#fields.delete(name.toLowerCase());
  }

  /** In the order of the names; cookies one by one, the values of all others joined. */
  *[Symbol.iterator](): Generator<[string, string]> {
    for (const name of [...this.#fields.keys()].sort()) {
      const values = this.#fields.get(name) ?? [];
      if (name === "set-cookie") for (const value of values) yield [name, value];
      else yield [name, values.join(", ")];
    }
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
