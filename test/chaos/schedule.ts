/** Which kill is aimed where: every bucket in its share at any time, in an order that a seed decides. */
import type { Executor } from "./history.ts";
import {
  type Aim,
  bucketOf,
  listAims,
  type Mix,
  POINT_NAMES,
  POINTS,
  type Point,
  shareOf,
} from "./points.ts";

/** `points`: those that are aimed at. */
export type Plan = { kills: number; mix: Mix; executors: readonly Executor[]; points: readonly Point[] };

export type PlannedKill = Aim & {
  /** Time between reaching the point and the kill, where the point is a race. */
  delayMs: number;
  /** The origin has its effect although its caller is gone. Only where it had none before the kill. */
  isLate: boolean;
};

/** At least half of the points allow a break in the life before the kill. */
const KILLS_PER_BREAK = 75;

type Bucket = { name: string; share: number; made: number; aims: Aim[]; waiting: Aim[] };

/** A kill and its number; `progress`: the share of kills that was given out before it. */
export type Aimed = { kill: number; planned: PlannedKill; progress: number };

/** What those who kill take their kills from. One that has missed is made again, as long as not more than a tenth of all have. */
export class KillQueue {
  readonly #waiting: PlannedKill[];
  readonly #count: number;
  readonly #msMax: number;
  #repeatsLeft: number;
  #taken = 0;
  #endsAt: number | null = null;

  /** `msMax`: none is given out later than this after the first. */
  constructor(schedule: readonly PlannedKill[], msMax: number) {
    this.#msMax = msMax;
    this.#waiting = [...schedule];
    this.#count = schedule.length;
    this.#repeatsLeft = Math.ceil(schedule.length / 10);
  }

  take(): Aimed | null {
    const now = performance.now();
    this.#endsAt ??= now + this.#msMax;
    if (now > this.#endsAt) this.stop();
    const planned = this.#waiting.shift();
    if (planned === undefined) return null;
    const progress = Math.min(this.#taken / this.#count, 1);
    this.#taken += 1;
    return { kill: this.#taken, planned, progress };
  }

  again(planned: PlannedKill): void {
    if (this.#repeatsLeft === 0) return;
    this.#repeatsLeft -= 1;
    this.#waiting.push(planned);
  }

  /** Gives out no more. */
  stop(): void {
    this.#waiting.length = 0;
    this.#repeatsLeft = 0;
  }
}

function listBuckets({ mix, executors, points }: Plan): Bucket[] {
  const byName = Map.groupBy(listAims(executors, points), ({ point }) => bucketOf(point));
  return [...byName].map(([name, aims]) => {
    const share = Math.max(...aims.map(({ point }) => shareOf(point, mix)));
    return { name, share, made: 0, aims, waiting: [] };
  });
}

/** Kills that each bucket gets at least. */
export function quotasOf(plan: Plan): Map<string, number> {
  const buckets = listBuckets(plan);
  const total = buckets.reduce((sum, { share }) => sum + share, 0);
  return new Map(buckets.map(({ name, share }) => [name, Math.floor((plan.kills * share) / total)]));
}

/** Breaks that each of their points gets at least, where every point is aimed at. */
export function breakQuotaOf({ kills, points }: Plan): number {
  return points.length === POINT_NAMES.length ? Math.floor(kills / KILLS_PER_BREAK) : 0;
}

/** The same seed gives the same schedule. */
export function makeSchedule(plan: Plan, random: () => number): PlannedKill[] {
  const buckets = listBuckets(plan);
  return Array.from({ length: plan.kills }, () => {
    // The greatest quotient next (d'Hondt): after any number of kills no bucket has less than its share, rounded down.
    const quotient = ({ share, made }: Bucket): number => share / (made + 1);
    const bucket = shuffle(buckets, random).reduce((most, each) =>
      quotient(each) > quotient(most) ? each : most,
    );
    bucket.made += 1;
    if (bucket.waiting.length === 0) bucket.waiting.push(...shuffle(bucket.aims, random));
    const aim = bucket.waiting.pop();
    if (aim === undefined) throw new Error(`nothing to aim at in ${bucket.name}`);
    // Short delays are the likely ones: how long a race lasts depends on the machine.
    const delayMs = Math.floor(random() ** 2 * (POINTS[aim.point].delayMsMax + 1));
    return { ...aim, delayMs, isLate: random() < 0.5 };
  });
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
