/** Which kill is aimed where: every combination equally often, in an order that a seed decides. */
import { type CrashRule, type Executor, POINTS, type Point } from "./history.ts";

export type Aim = { point: Point; executor: Executor; crashRule: CrashRule };

export type PlannedKill = Aim & {
  /** Time between reaching the point and the kill, where the point is a race. */
  delayMs: number;
  /** The origin has its effect although its caller is gone. Only where it had none before the kill. */
  isLate: boolean;
};

/** Points at which an origin that drops repeats makes a difference. */
const RETRY_POINTS: readonly Point[] = ["on-the-wire", "effect-done", "answer-begun"];

/** Longest delay of a race, in milliseconds: a new key's claim, or its settlement, takes less. */
const DELAY_MS_MAX: Readonly<Record<Point, number>> = {
  "body-sending": 120,
  "body-sent": 40,
  "on-the-wire": 0,
  "effect-done": 0,
  "answer-begun": 20,
  "answer-ended": 14,
  "answer-given": 0,
  replaying: 30,
  waiting: 120,
};

/** All combinations of crash point, executor and crash rule that a run aims at. */
export function listAims(executors: readonly Executor[]): Aim[] {
  return executors.flatMap((executor) => [
    ...POINTS.map((point): Aim => ({ point, executor, crashRule: "hold" })),
    ...RETRY_POINTS.map((point): Aim => ({ point, executor, crashRule: "retry" })),
  ]);
}

/** Kills that each combination gets at least. */
export function quotaOf(kills: number, executors: readonly Executor[]): number {
  return Math.floor(kills / listAims(executors).length);
}

/** The same seed gives the same schedule. */
export function makeSchedule(
  kills: number,
  executors: readonly Executor[],
  random: () => number,
): PlannedKill[] {
  const planned: PlannedKill[] = [];
  while (planned.length < kills) {
    for (const aim of shuffle(listAims(executors), random)) {
      // Short delays are the likely ones: how long a race lasts depends on the machine.
      const delayMs = Math.floor(random() ** 2 * (DELAY_MS_MAX[aim.point] + 1));
      planned.push({ ...aim, delayMs, isLate: random() < 0.5 });
    }
  }
  return planned.slice(0, kills);
}

/** Mulberry32: numbers from 0 (inclusive) to 1, the same for the same seed. Good enough to shuffle, for nothing else. */
export function seedRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
