/** Where the gated gateway asks whether it may go on. The places that are armed stay the same for the life of a process. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Point } from "./points.ts";

/**
 * What becomes of those who come to an armed place: they stand until they are killed, are told to break, or are counted
 * and go on.
 */
export type Reception = "hold" | "abort" | "count";

/** `keys` null: any that comes, whatever its key. */
type Expected = { point: Point; keys: ReadonlySet<string> | null; how: Reception };

const POLL_MS = 1;

/** Those that are expected at one place from now on. */
export class Expectation {
  readonly #expected: Expected;
  readonly #come: string[] = [];
  readonly #held: ServerResponse[] = [];
  #isOver = false;

  constructor(expected: Expected) {
    this.#expected = expected;
  }

  /** True as soon as all expected keys, or one of any, have come; false when that takes too long. */
  async waitForAll(msMax: number): Promise<boolean> {
    const endsAt = performance.now() + msMax;
    while (!this.#hasAll()) {
      if (performance.now() > endsAt) return false;
      await sleep(POLL_MS);
    }
    return true;
  }

  /** Lets all go on, now and later. */
  release(): void {
    this.#isOver = true;
    for (const response of this.#held.splice(0)) response.end("go");
  }

  isOf(point: string, key: string): boolean {
    const { keys } = this.#expected;
    return !this.#isOver && this.#expected.point === point && (keys === null || keys.has(key));
  }

  receive(key: string, response: ServerResponse): void {
    const { keys, how } = this.#expected;
    // A place is passed again by who was told to break there: once is enough.
    const isFirst = keys === null || !this.#come.includes(key);
    this.#come.push(key);
    if (how === "hold") this.#held.push(response);
    else response.end(how === "abort" && isFirst ? "abort" : "go");
  }

  #hasAll(): boolean {
    const { keys } = this.#expected;
    return keys === null ? this.#come.length > 0 : [...keys].every((key) => this.#come.includes(key));
  }
}

export class Control {
  readonly #server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://control");
    const { searchParams } = url;
    if (url.pathname === "/armed") response.end(this.#armed.join());
    else this.#receive(searchParams.get("point") ?? "", searchParams.get("key") ?? "", response);
  });
  #armed: readonly Point[] = [];
  #expectations: Expectation[] = [];

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
  arm(points: readonly Point[]): void {
    this.release();
    this.#armed = points;
  }

  /** From now on; until now all went on. */
  expect(point: Point, keys: readonly string[] | null, how: Reception): Expectation {
    const expected = { point, keys: keys === null ? null : new Set(keys), how };
    const expectation = new Expectation(expected);
    this.#expectations.push(expectation);
    return expectation;
  }

  /** Lets all go on, now and later, wherever they stand. */
  release(): void {
    for (const expectation of this.#expectations.splice(0)) expectation.release();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #receive(point: string, key: string, response: ServerResponse): void {
    const expectation = this.#expectations.find((each) => each.isOf(point, key));
    if (expectation === undefined) response.end("go");
    else expectation.receive(key, response);
  }
}
