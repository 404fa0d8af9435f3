/** Runs histories one after another in this process, which does nothing else from then on. */
import { checkHistory, type Violation } from "./check/check.ts";
import type { History } from "./check/history.ts";
import { Sqlite } from "./world/database.ts";
import type { Base, Deployment } from "./world/deployment.ts";
import { type Damping, UNDAMPED } from "./world/faults.ts";
import { replaceGlobals } from "./world/globals.ts";
import { World } from "./world/world.ts";

/** How much of a run's cost goes where: which share of runs keeps a ledger, and how many clients there are at most. */
export type Share = { ledger: number; clients: number };
export const SHARE: Share = { ledger: 0.3, clients: 3 };

export type Judged = { history: History; violation: Violation | null };

export type Simulator = {
  run: (seed: number, how?: { damping?: Damping; share?: Share; trace?: (text: string) => void }) => Judged;
};

let sqlite: Sqlite | null = null;

/** The modules that run the product's code, as it is or as a mutant: the build that is deployed, and the one that comes after it. */
export async function openSimulator(product: Deployment, next: Deployment): Promise<Simulator> {
  replaceGlobals();
  const base: Base = await product.makeBase();
  sqlite ??= new Sqlite();
  const database = sqlite;
  return {
    run(seed, { damping = UNDAMPED, share = SHARE, trace } = {}) {
      database.empty();
      const world = new World({ product, next, base }, database, {
        seed,
        damping,
        share,
        trace: trace ?? null,
      });
      const history = world.run();
      return { history, violation: checkHistory(history) };
    },
  };
}

/** What many runs came to. */
export type Tally = {
  histories: number;
  events: number;
  calls: number;
  answered: number;
  finals: number;
  ledgers: number;
  databases: number;
  marks: Record<string, number>;
  digest: number;
  violations: { seed: number; invariant: string; text: string }[];
};

export function emptyTally(): Tally {
  return {
    histories: 0,
    events: 0,
    calls: 0,
    answered: 0,
    finals: 0,
    ledgers: 0,
    databases: 0,
    marks: {},
    digest: 0,
    violations: [],
  };
}

export function count(tally: Tally, { history, violation }: Judged): void {
  tally.histories += 1;
  tally.events += history.events;
  tally.digest = (Math.imul(tally.digest, 31) + history.digest) | 0;
  if (history.ledger.lines !== null) tally.ledgers += 1;
  if (history.ledger.database !== null) tally.databases += 1;
  for (const [mark, times] of history.marks) tally.marks[mark] = (tally.marks[mark] ?? 0) + times;
  for (const row of history.rows) {
    if (row.do === "call") tally.calls += 1;
    if (row.do !== "return") continue;
    tally.answered += 1;
    if (row.answer.slug === "" || row.answer.slug === "key-expired") tally.finals += 1;
  }
  if (violation !== null) tally.violations.push({ seed: history.seed, ...violation });
}

/** Puts `one` on top of `all`. */
export function add(all: Tally, one: Tally): void {
  for (const name of [
    "histories",
    "events",
    "calls",
    "answered",
    "finals",
    "ledgers",
    "databases",
  ] as const) {
    all[name] += one[name];
  }
  all.digest = (all.digest + one.digest) | 0;
  for (const [mark, times] of Object.entries(one.marks)) all.marks[mark] = (all.marks[mark] ?? 0) + times;
  all.violations.push(...one.violations);
}
