/**
 * What may go wrong in a run, and how often. Each fault is off in many runs and of random strength in the others (swarm testing): a run
 * in which everything goes wrong never gets far enough to meet the rare things.
 */
import type { Random } from "./random.ts";

/** Probabilities each time it could happen, at their highest. */
const MOST = {
  "rpc request lost": 0.15,
  "rpc reply lost": 0.15,
  "rpc line lost": 0.15,
  "rpc slow": 0.1,
  "rpc very slow": 0.06,
  "rpc overloaded": 0.04,
  "client request lost": 0.1,
  "client reply lost": 0.2,
  "storage refuses": 0.06,
  "crash before commit": 0.05,
  "crash after commit and lose it": 0.05,
  "crash after commit and keep it": 0.08,
  "alarm late": 0.3,
  "alarm again": 0.3,
  "alarm lost": 0.25,
  "origin refuses connection": 0.15,
  "origin hears late": 0.25,
  "origin hangs": 0.15,
  "origin resets before": 0.1,
  "origin resets after": 0.2,
  "origin cuts its answer": 0.12,
  "origin is slow": 0.2,
  "origin fails after effect": 0.15,
  "origin fails before effect": 0.15,
  "origin refuses without effect": 0.2,
  "path speaks": 0.15,
  "path never sent": 0.08,
  "origin echoes evidence": 0.15,
  "origin proves no effect": 0.15,
  "origin redirects": 0.1,
  "origin answers at length": 0.1,
  "origin streams": 0.06,
  "probe lost": 0.5,
  "probe slow": 0.7,
  "probe redirects": 0.15,
  "ledger hangs": 0.08,
  "ledger fails": 0.3,
  "database fails before": 0.15,
  "database fails after": 0.15,
  "database does it later": 0.3,
  "database is slow": 0.1,
  "database reads what was": 1,
  "other request": 0.12,
  "caller without right": 0.1,
  duplicate: 0.4,
} as const;

export type Fault = keyof typeof MOST;

/** Things the injector does at times of its own choosing: how often in a run, at most. */
const DEEDS_MOST = {
  "pause object": 3,
  "pause worker": 3,
  "crash object": 3,
  "crash worker": 2,
  "another instance": 3,
  evict: 4,
  "clock forward": 2,
  "clock back": 2,
  "origin restarts": 2,
  "new version": 1,
  "next build": 1,
  "record of the future": 1,
  "alarm early": 3,
  "forged delivery": 4,
  "database down": 1,
  "ledger down": 1,
  reconcile: 4,
  "operators speak": 3,
} as const;

export type Deed = keyof typeof DEEDS_MOST;

export const FAULTS = Object.keys(MOST) as readonly Fault[];
export const DEEDS = Object.keys(DEEDS_MOST) as readonly Deed[];

export type Swarm = { rates: ReadonlyMap<Fault, number>; deeds: readonly Deed[] };

/** Faults that a run leaves out, and a factor on all others: what the shrinker turns. */
export type Damping = { without: ReadonlySet<string>; factor: number };

export const UNDAMPED: Damping = { without: new Set(), factor: 1 };

export function drawSwarm(random: Random, damping: Damping): Swarm {
  const isCalm = random.chance(0.03);
  const share = random.pick([0.15, 0.3, 0.5]);
  const rates = new Map<Fault, number>();
  for (const fault of FAULTS) {
    const strength = random.next();
    const isOn = random.chance(share) && !isCalm && !damping.without.has(fault);
    if (isOn) rates.set(fault, MOST[fault] * strength * damping.factor);
  }
  const deeds: Deed[] = [];
  for (const deed of DEEDS) {
    const times = random.chance(share) && !isCalm ? random.between(1, DEEDS_MOST[deed]) : 0;
    for (let i = 0; i < times; i++) {
      const isDone = random.next() < damping.factor;
      if (isDone && !damping.without.has(deed)) deeds.push(deed);
    }
  }
  return { rates, deeds };
}

/** Says when a fault happens, and notes that it did. After `heal` nothing goes wrong any more. */
export class Injector {
  readonly swarm: Swarm;
  readonly #random: Random;
  readonly #mark: (name: string) => void;
  isHealed = false;

  constructor(swarm: Swarm, random: Random, mark: (name: string) => void) {
    this.swarm = swarm;
    this.#random = random;
    this.#mark = mark;
  }

  strikes(fault: Fault): boolean {
    if (this.isHealed) return false;
    const rate = this.swarm.rates.get(fault);
    if (rate === undefined || !this.#random.chance(rate)) return false;
    this.#mark(fault);
    return true;
  }
}
