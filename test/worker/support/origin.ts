/** What the gateway fetches, answered by a test. */
import { vi } from "vitest";
import { until } from "./clock.ts";

export type Arrival = { url: string; method: string; headers: Headers; body: string };

/** `number` counts the arrivals at this host from 1. */
export type Answerer = (arrival: Arrival, number: number) => Response | Promise<Response>;

export const ORIGIN_HOST = "origin.example";

/** 201 with a number that no other execution gives. */
export const answerCreated: Answerer = (_arrival, number) =>
  Response.json({ payment: number }, { status: 201 });

export type Origin = {
  /** In order, at any host. */
  arrivals: Arrival[];
  /** Arrivals at the origin: executions. */
  readonly count: number;
  countAt(host: string): number;
  /** Resolves when so many requests have reached the origin. */
  arrived(count: number): Promise<void>;
};

/** Answers every fetch until the end of the test. A fetch that is aborted fails as the runtime's own does. */
export function mockOrigin(
  answer: Answerer = answerCreated,
  others: Readonly<Record<string, Answerer>> = {},
): Origin {
  const arrivals: Arrival[] = [];
  const countAt = (host: string): number => arrivals.filter(({ url }) => new URL(url).host === host).length;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const { host } = new URL(request.url);
    const { url, method, headers, signal } = request;
    const arrival = { url, method, headers: new Headers(headers), body: await request.text() };
    arrivals.push(arrival);
    const answerer = host === ORIGIN_HOST ? answer : others[host];
    if (answerer === undefined) throw new TypeError(`nobody answers at ${host}`);
    return Promise.race([answerer(arrival, countAt(host)), rejectAtAbort(signal)]);
  });
  return {
    arrivals,
    get count() {
      return countAt(ORIGIN_HOST);
    },
    countAt,
    arrived: (count) => until(() => countAt(ORIGIN_HOST) >= count),
  };
}

function rejectAtAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
}

export type Gate = { passed: Promise<void>; open: () => void };

/** Something to wait at until the test says so. */
export function makeGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}
