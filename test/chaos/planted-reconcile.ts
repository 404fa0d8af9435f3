/** Small histories of runs and builds: good ones, and for each rule about them one that breaks it. */
import type { Fact, History } from "./history.ts";

const KEY = "key-1-1";
const EFFECT = "effect-1";

const ran = (
  id: number,
  startedAt: number,
  endedAt: number | null,
  ended: string | null = "finished",
): Fact => ({
  kind: "ran",
  id,
  startedAt,
  endedAt,
  ended: endedAt === null ? null : ended,
  scanned: 1,
});
const found = (effect = EFFECT): Fact => ({ kind: "found", effect, code: "unknown", failures: 0 });
const entered = (type: string): Fact => ({ kind: "entered", stream: "s", effect: EFFECT, type, at: 0 });
const looked = (state: string): Fact => ({ kind: "looked", key: KEY, state, effects: [EFFECT], toTell: 0 });

function describe(...facts: Fact[]): History {
  const rest = { executor: "object", crashRule: "hold", point: "granted", kill: 1, isBrief: false } as const;
  return { operations: [{ key: KEY, ...rest }], facts };
}

const open = [entered("granted"), entered("unknown"), looked("unknown")];
const closed = [entered("granted"), entered("settled"), looked("settled")];

export const GOOD_RUNS: readonly [name: string, history: History][] = [
  ["an open effect that is found", describe(ran(1, 0, 10), ...open, found())],
  ["a closed one that nobody finds any more", describe(ran(1, 0, 10), ran(2, 20, 30), ...closed)],
  [
    "a run that died, and one that came when its lease was over",
    describe(ran(1, 0, null), ran(2, 30_000, 30_010)),
  ],
  ["a run that was seen twice", describe(ran(1, 0, null), ran(1, 0, 10), ran(2, 20, 30))],
  ["no runs at all", describe(...open)],
];

export const BAD_RUNS: readonly [rule: string, history: History][] = [
  ["runs-overlap", describe(ran(1, 0, 10), ran(2, 5, 20))],
  ["runs-overlap", describe(ran(1, 0, null), ran(2, 5_000, 5_010))],
  ["run-failed", describe(ran(1, 0, 10, "lease-lost"), ran(2, 20, 30))],
  ["run-missing", describe(ran(1, 0, 10), ran(2, 20, null))],
  ["finding-missing", describe(ran(1, 0, 10), ...open)],
  ["finding-left", describe(ran(1, 0, 10), ...closed, found())],
  ["finding-invented", describe(ran(1, 0, 10), ...open, found(), found("effect-9"))],
];

const left = (isSame: boolean): Fact => ({ kind: "left", file: "a.sqlite", isSame });

export const GOOD_LATER: readonly [name: string, history: History][] = [
  ["a record that was left", describe(left(true))],
];

export const BAD_LATER: readonly [rule: string, history: History][] = [
  ["later-changed", describe(left(false))],
];
