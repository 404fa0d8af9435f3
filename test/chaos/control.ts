/** Where the gated gateway asks whether it may go on. One place is armed for the life of a process. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Point } from "./points.ts";

/**
 * What becomes of those who come to the armed place: they stand until they are killed, are told to break, or are counted
 * and go on.
 */
export type Reception = "hold" | "abort" | "count";

type Expected = { keys: ReadonlySet<string> | null; how: Reception };

const POLL_MS = 1;

export class Control {
  readonly #server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://control");
    if (url.pathname === "/armed") response.end(this.#armed);
    else this.#receive(url.searchParams.get("key") ?? "", response);
  });
  #armed = "";
  #expected: Expected | null = null;
  #come: string[] = [];
  #held: ServerResponse[] = [];

  static async open(): Promise<Control> {
    const control = new Control();
    control.#server.listen(0, "127.0.0.1");
    await once(control.#server, "listening");
    return control;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the control has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** For the next process. */
  arm(point: Point | null): void {
    this.#armed = point ?? "";
    this.#expected = null;
    this.#come = [];
  }

  /** From now on; until now all went on. Null: any that comes, whatever its key. */
  expect(keys: readonly string[] | null, how: Reception): void {
    this.#expected = { keys: keys === null ? null : new Set(keys), how };
  }

  /** True as soon as all expected keys, or `count` of any, have come; false when that takes too long. */
  async waitForAll(msMax: number, count = 1): Promise<boolean> {
    const endsAt = performance.now() + msMax;
    while (!this.#hasAll(count)) {
      if (performance.now() > endsAt) return false;
      await sleep(POLL_MS);
    }
    return true;
  }

  /** Lets all go on, now and later. */
  release(): void {
    this.#expected = null;
    for (const response of this.#held.splice(0)) response.end("go");
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #hasAll(count: number): boolean {
    const keys = this.#expected?.keys ?? null;
    return keys === null ? this.#come.length >= count : [...keys].every((key) => this.#come.includes(key));
  }

  #receive(key: string, response: ServerResponse): void {
    const expected = this.#expected;
    if (expected === null || (expected.keys !== null && !expected.keys.has(key))) {
      response.end("go");
      return;
    }
    // A place is passed again by who was told to break there: once is enough.
    const isFirst = !this.#come.includes(key) || expected.keys === null;
    this.#come.push(key);
    if (expected.how === "hold") this.#held.push(response);
    else response.end(expected.how === "abort" && isFirst ? "abort" : "go");
  }
}
