/**
 * A run: bring operations to a crash point, kill the gateway, start it on the same store with one build or another, let the
 * clients try again with the same keys; and so on. At the end every key is asked once more, the ledger is given time to come
 * to rest, and the history is checked. A few gateways, each on a store of its own, take their kills from one queue.
 */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type PlannedBreak, planBreak } from "./breaks.ts";
import { checkHistory, type Violation } from "./checker.ts";
import { closeAll } from "./closing.ts";
import type { History } from "./history.ts";
import { findDamage } from "./inspect-store.ts";
import { Lane, type LaneOptions } from "./lane.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { pauseOnce } from "./pause.ts";
import {
  breakQuotaOf,
  KillQueue,
  makeSchedule,
  type Plan,
  type PlannedKill,
  quotasOf,
  seedRandom,
} from "./schedule.ts";
import { type ChaosStage, withStage } from "./stage.ts";

export type ChaosOptions = Plan & {
  /** Decides where, when and in which order; the same seed aims the same. */
  seed: number;
  /** Gateways that are killed at the same time; between two kills one mostly waits for the disk. */
  lanes: number;
  /** No kill begins later than this after the first. */
  msMax: number;
  /** Times that a gateway is stopped for longer than a lease and a window, after its kills. */
  pauses: number;
  /** Told of every kill. */
  onKill: (kill: number, planned: PlannedKill, hit: boolean) => void;
  /** Aborts between two kills. */
  stop: AbortSignal;
};

export type ChaosRun = {
  seed: number;
  /** As asked for; a run that was stopped has made fewer. */
  kills: number;
  /** Kills that each bucket was to get, and breaks that each of their points was. */
  quotas: ReadonlyMap<string, number>;
  breakQuota: number;
  /** Of all gateways, one behind the other. */
  history: History;
  violations: Violation[];
  /** Folders of the stores; those stay where something was wrong. */
  stores: string[];
  medium: ChaosStage["medium"];
  /** Of the kills alone, and of everything. */
  killingMs: number;
  tookMs: number;
};

type LaneRun = {
  history: History;
  violations: Violation[];
  store: string;
  medium: ChaosStage["medium"];
  killingMs: number;
};

export async function runChaos(options: ChaosOptions): Promise<ChaosRun> {
  const beganAt = performance.now();
  const { kills, seed, lanes } = options;
  const random = seedRandom(seed);
  const queue = new KillQueue(makeSchedule(options, random), options.msMax);
  options.stop.addEventListener("abort", () => queue.stop());
  let breaks = 0;
  const nextBreak = (): PlannedBreak => {
    breaks += 1;
    return planBreak(breaks);
  };
  const shared = { queue, random, nextBreak, onKill: options.onKill };
  const running = Array.from({ length: lanes }, (_, lane) =>
    runLane(shared, listPauses(options, lane)).catch((error: unknown) => {
      queue.stop();
      throw error;
    }),
  );
  // All come to their end, whatever becomes of one of them.
  await Promise.allSettled(running);
  const runs = await Promise.all(running);
  return {
    ...{ seed, kills, quotas: quotasOf(options), breakQuota: breakQuotaOf(options) },
    history: {
      operations: runs.flatMap(({ history }) => history.operations),
      facts: runs.flatMap(({ history }) => history.facts),
    },
    violations: runs.flatMap(({ violations }) => violations),
    stores: runs.map(({ store }) => store),
    medium: runs[0]?.medium ?? "disk",
    killingMs: Math.max(...runs.map(({ killingMs }) => killingMs)),
    tookMs: performance.now() - beganAt,
  };
}

/** Numbers of a gateway's pauses, counted from 1 over all. */
function listPauses({ pauses, lanes }: ChaosOptions, lane: number): number[] {
  return Array.from({ length: pauses }, (_, n) => n + 1).filter((pause) => pause % lanes === lane);
}

type Shared = Omit<LaneOptions, "watch">;

function runLane(shared: Shared, pauses: readonly number[]): Promise<LaneRun> {
  return withStage(async (stage) => {
    const beganAt = performance.now();
    const { recorder, gateway, store, medium } = stage;
    const { history } = recorder;
    const watch = new LedgerWatch(store);
    const lane = new Lane(stage, { ...shared, watch });
    const build = await lane.run();
    const killingMs = performance.now() - beganAt;
    const wrapped = build === "later" ? "later" : "gated";
    for (const pause of pauses) await pauseOnce(stage, pause, wrapped);
    await closeAll(stage, watch, wrapped);
    await gateway.kill();
    const violations = [...checkHistory(history), ...(await findDamage(store))];
    if (violations.length === 0) await rm(dirname(store), { recursive: true, force: true });
    return { history, violations, store, medium, killingMs };
  });
}
