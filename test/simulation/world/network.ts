/** Lines between isolates: calls of objects and their answers, requests to the origin. Any message can be late, lost or answered in vain. */
import type { Datum } from "../check/history.ts";
import type { Injector } from "./faults.ts";
import type { FieldsInit } from "./fields.ts";
import { type Answer, Crash, type Host } from "./host.ts";
import { carryResponse, SimRequest, SimResponse } from "./http.ts";
import type { Origin, Sent, Wire } from "./origin.ts";
import type { Random } from "./random.ts";
import { OUTSIDE, type Process, type Scheduler } from "./scheduler.ts";

const HOP_MS_MAX = 30;
const SLOW_MS_MAX = 20_000;
/** Longer than any lease, shorter than what a client waits for at the end of a run. */
const VERY_SLOW_MS_MAX = 150_000;
const LINE_BREAKS_MS_MAX = 600;
const HOPS_MAX = 3;

/** All that the origin is there for; at any other address nobody answers. */
export const ORIGIN_REACH = ["https://origin.example/pay/", "https://origin.example/effects/"] as const;

/** What the platform says of an error. */
type Flags = { retryable?: boolean; overloaded?: boolean; durableObjectReset?: boolean };

class LineError extends Error {
  constructor(flags: Flags) {
    super("the line was lost");
    Object.assign(this, flags);
  }
}

/** `originLateMs`: by how much a request may be late on its way to the origin, at most. */
export type NetworkParts = {
  scheduler: Scheduler;
  random: Random;
  injector: Injector;
  originLateMs: number;
  note: (row: Datum) => void;
};

/** What may be wrong with all of a namespace. */
export type Trouble = { hangs: () => boolean; fails: () => boolean };

/** Calls a method of the object of a name. */
type Line = (name: string, method: string, given: unknown[]) => Promise<unknown>;
type StubClass = new (name: string, line: Line) => object;

/** One class of stubs for each list of methods: made anew for every run it would cost more than the calls. */
const stubs = new Map<readonly string[], StubClass>();

function stubOf(methods: readonly string[]): StubClass {
  const known = stubs.get(methods);
  if (known !== undefined) return known;
  class Stub {
    readonly name: string;
    readonly line: Line;

    constructor(name: string, line: Line) {
      this.name = name;
      this.line = line;
    }
  }
  for (const method of methods) {
    const value = function (this: Stub, ...given: unknown[]) {
      return this.line(this.name, method, given);
    };
    Object.defineProperty(Stub.prototype, method, { value });
  }
  stubs.set(methods, Stub);
  return Stub;
}

export class Network {
  readonly #parts: NetworkParts;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  #hop(): number {
    const { random, injector } = this.#parts;
    if (injector.strikes("rpc very slow")) return random.below(VERY_SLOW_MS_MAX);
    return injector.strikes("rpc slow") ? random.below(SLOW_MS_MAX) : random.below(HOP_MS_MAX);
  }

  /** A namespace of objects, as a binding is. */
  namespace(methods: readonly string[], find: (name: string) => Host, trouble: Trouble): unknown {
    const Stub = stubOf(methods);
    const call: Line = (name, method, given) => this.#call(find, name, method, given, trouble);
    return { getByName: (name: string) => new Stub(name, call) };
  }

  #call(
    find: (name: string) => Host,
    name: string,
    method: string,
    given: unknown[],
    trouble: Trouble,
  ): Promise<unknown> {
    const { scheduler, injector, random } = this.#parts;
    const caller = scheduler.current;
    return new Promise((resolve, reject) => {
      const fail = (flags: Flags): void => {
        scheduler.after(this.#hop(), caller, `${method} failed`, () => reject(new LineError(flags)));
      };
      caller.emit(() => {
        // A call that hangs is never answered: its caller has to give it up.
        if (trouble.hangs()) return;
        if (trouble.fails()) return fail({ retryable: random.chance(0.5) });
        if (injector.strikes("rpc overloaded")) return fail({ overloaded: true, retryable: true });
        if (injector.strikes("rpc request lost")) return fail({ retryable: true });
        scheduler.after(this.#hop(), OUTSIDE, `${method} ${name.slice(0, 6)}`, () => {
          const host = find(name);
          const from = host.wake();
          let isOpen = true;
          // The caller is told so and may call again, while the object goes on with what it was asked.
          if (injector.strikes("rpc line lost"))
            scheduler.after(random.below(LINE_BREAKS_MS_MAX), OUTSIDE, "line lost", () => {
              if (isOpen) fail({ retryable: true });
              isOpen = false;
            });
          host.call(method, given, (answer) => {
            if (!isOpen) return;
            isOpen = false;
            if (injector.strikes("rpc reply lost")) return fail({ retryable: true });
            this.#answer(from, caller, method, answer, resolve, reject, fail);
          });
        });
      });
    });
  }

  /** The same response on the side of whoever reads it. */
  carry(from: Process, to: Process, response: SimResponse): SimResponse {
    return carryResponse(response, (body) => this.#carryBody(from, to, body));
  }

  #carryBody(from: Process, to: Process, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const { scheduler } = this.#parts;
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: (into) =>
        new Promise((done) => {
          const arrive = (act: () => void): unknown =>
            scheduler.after(this.#hop(), to, "chunk", () => {
              act();
              done();
            });
          if (!from.isAlive) return void arrive(() => into.error(new Error("the line was lost")));
          scheduler.after(0, from, "read on", () => {
            void reader.read().then(
              ({ done: isOver, value }) => arrive(() => (isOver ? into.close() : into.enqueue(value))),
              (error) => arrive(() => into.error(error)),
            );
          });
        }),
      cancel: (reason) =>
        void scheduler.after(0, from, "reader left", () => void reader.cancel(reason).catch(() => undefined)),
    });
  }

  #answer(
    from: Process,
    caller: Process,
    method: string,
    answer: Answer,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
    fail: (flags: Flags) => void,
  ): void {
    const { scheduler, random } = this.#parts;
    if (answer.kind === "error" && answer.error instanceof Crash) {
      fail({ durableObjectReset: true, retryable: random.chance(0.8) });
      return;
    }
    scheduler.after(this.#hop(), caller, `${method} answered`, () => {
      if (answer.kind === "error") return reject(answer.error);
      const { value } = answer;
      resolve(value instanceof SimResponse ? this.carry(from, caller, value) : value);
    });
  }

  /** `fetch` towards the origin. A request that has left may arrive however its sender ends. */
  fetchFrom(origin: Origin): (url: string, init: RequestInit) => Promise<unknown> {
    return (url, init) => {
      const caller = this.#parts.scheduler.current;
      return this.#exchange(origin, caller, sentOf(url, init), init, 0);
    };
  }

  #exchange(origin: Origin, caller: Process, sent: Sent, init: RequestInit, hops: number): Promise<unknown> {
    const { scheduler, random, injector, originLateMs, note } = this.#parts;
    return new Promise((resolve, reject) => {
      let isOpen = true;
      const end = (act: () => void): void => {
        if (!isOpen) return;
        isOpen = false;
        act();
      };
      const { signal } = init;
      if (signal?.aborted === true) return end(() => reject(new Error("aborted")));
      signal?.addEventListener("abort", () => end(() => reject(new Error("aborted"))));
      const arrive = (response: SimResponse): void => {
        const location = response.headers.get("location");
        const isFollowed = location !== null && init.redirect !== "manual" && hops < HOPS_MAX;
        if (!isFollowed) {
          resolve(response);
          return;
        }
        void this.#exchange(origin, caller, { ...sent, url: location }, init, hops + 1).then(resolve, reject);
      };
      const wire: Wire = {
        isOpen: () => isOpen && caller.isAlive,
        respond: (response) =>
          void scheduler.after(random.below(HOP_MS_MAX), caller, "answer came", () =>
            end(() => arrive(response as SimResponse)),
          ),
        break: () =>
          void scheduler.after(random.below(HOP_MS_MAX), caller, "line broke", () =>
            end(() => reject(new LineError({ retryable: true }))),
          ),
      };
      caller.emit(() => {
        note({ do: "connect", to: sent.url });
        const isThere = ORIGIN_REACH.some((beginning) => sent.url.startsWith(beginning));
        if (!isThere || injector.strikes("origin refuses connection")) return wire.break();
        const delay = injector.strikes("origin hears late")
          ? random.below(originLateMs)
          : random.below(HOP_MS_MAX);
        scheduler.after(delay, origin.process, "origin hears", () => origin.receive(sent, wire));
      });
    });
  }
}

function sentOf(url: string, init: RequestInit): Sent {
  const {
    method = "GET",
    headers,
    body,
  } = init as { method?: string; headers?: FieldsInit; body?: Uint8Array };
  const request = new SimRequest(url, { method, headers, body });
  return { url, method, headers: request.headers, body: body ?? new Uint8Array() };
}
