/** Small histories of one key whose window ends in a pause: good ones, and for each rule about that one that breaks it. */
import type { Fact, History, Use } from "./history.ts";
import { WINDOW_KEY } from "./pause-rules.ts";

const KEY = `${WINDOW_KEY}1-object`;

const paused: Fact = { kind: "paused", ms: 9_000, point: "effect-done", hit: true };
const called = (call: number, use: Use = "first"): Fact => ({ kind: "called", key: KEY, call, use });
const told = (call: number, mark: string, digest: string, status = 201): Fact => ({
  kind: "told",
  key: KEY,
  call,
  told: { status, mark, slug: status === 201 ? null : "in-flight", retryAfterS: null, digest, fields: "" },
});

function describe(...facts: Fact[]): History {
  return { operations: [], facts };
}

const kept = [called(1), told(1, "executed", "d1"), called(2, "duplicate"), told(2, "replayed", "d1")];
const ran = [called(9, "retry"), told(9, "executed", "d2")];

export const GOOD_PAUSES: readonly [name: string, history: History][] = [
  ["a window that is over", describe(...kept, paused, ...ran)],
  [
    "a call from within the window",
    describe(...kept, called(3, "duplicate"), paused, told(3, "replayed", "d1"), ...ran),
  ],
  ["a history without a pause", describe(...kept)],
];

export const BAD_PAUSES: readonly [rule: string, history: History][] = [
  [
    "replayed-past-window",
    describe(
      ...kept,
      paused,
      called(9, "retry"),
      told(9, "replayed", "d1"),
      called(10),
      told(10, "executed", "d2"),
    ),
  ],
  ["unanswered-behind-pause", describe(...kept, paused, called(9, "retry"), told(9, "in-flight", "", 409))],
  ["unanswered-behind-pause", describe(...kept, called(3, "duplicate"), paused, told(3, "replayed", "d1"))],
];
