/**
 * A run: bring operations to a crash point, kill every process of the gateway, start it on the same store, let the
 * clients try again with the same keys; and so on. At the end every key is asked once more, and the history is checked.
 */
import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { Caller } from "./caller.ts";
import { checkHistory, type Violation } from "./checker.ts";
import { DRIVES, type Scene } from "./drive.ts";
import { type Executor, type History, isSuccess, isUnknown, type Operation } from "./history.ts";
import { findDamage } from "./inspect-store.ts";
import { type ChaosOrigin, startChaosOrigin } from "./origin-script.ts";
import { Recorder } from "./recorder.ts";
import { makeSchedule, type PlannedKill, quotaOf, seedRandom } from "./schedule.ts";

export type ChaosOptions = {
  kills: number;
  /** Decides where, when and in which order; the same seed aims the same. */
  seed: number;
  executors: readonly Executor[];
  /** No kill begins later than this after the start. */
  msMax: number;
  /** Told of every kill. */
  onKill: (kill: number, planned: PlannedKill, hit: boolean) => void;
  /** Aborts between two kills. */
  stop: AbortSignal;
};

export type ChaosRun = {
  seed: number;
  /** As asked for; a run that was stopped has made fewer. */
  kills: number;
  quota: number;
  history: History;
  violations: Violation[];
  /** Folder of the store; it stays where something was wrong. */
  store: string;
  /** A store in memory makes every write fast, and the races that a kill is aimed at narrow. */
  medium: "disk" | "memory";
  tookMs: number;
};

/** Keys that stand at the point of one kill. */
const KEYS_PER_KILL = 3;
/** Keys of earlier kills that are asked after each restart. */
const RECHECKS = 2;
const ORIGIN_TIMEOUT_S = 3;
/** Every lease is over, and every key has ended, well within this. */
const CLOSING_MS_MAX = 30_000;
const CLOSING_CALLERS = 8;
const RETRY_PAUSE_MS_MAX = 1_000;

/** `statfs(2)`: the type of a file system in memory. */
const TMPFS = 0x01021994;

const SHELF = resolve(import.meta.dirname, "../../.wrangler/chaos");

type Run = {
  options: ChaosOptions;
  random: () => number;
  recorder: Recorder;
  caller: Caller;
  origin: ChaosOrigin;
  gateway: Gateway;
};

/** Starts an origin and a gateway with a store on disk, runs, and ends both whatever happened. */
export async function runChaos(options: ChaosOptions): Promise<ChaosRun> {
  const beganAt = performance.now();
  await mkdir(SHELF, { recursive: true });
  const store = await mkdtemp(join(SHELF, "store-"));
  const medium = (await statfs(store)).type === TMPFS ? "memory" : "disk";
  const recorder = new Recorder();
  const origin = await startChaosOrigin(recorder);
  try {
    const gateway = await startGateway({ origin: origin.url, routes: describeRoutes(), persist: store });
    const caller = new Caller(recorder);
    const run = { options, random: seedRandom(options.seed), recorder, caller, origin, gateway };
    try {
      caller.connectTo(gateway.port);
      await killAgainAndAgain(run, beganAt + options.msMax);
      await closeAll(run);
    } finally {
      await gateway.stop();
    }
  } finally {
    await origin.close();
  }
  const violations = [...checkHistory(recorder.history), ...(await findDamage(store))];
  if (violations.length === 0) await rm(store, { recursive: true, force: true });
  const { kills, seed, executors } = options;
  const tookMs = performance.now() - beganAt;
  const quota = quotaOf(kills, executors);
  return { seed, kills, quota, history: recorder.history, violations, store, medium, tookMs };
}

function describeRoutes(): Record<string, unknown>[] {
  const shared = { methods: ["POST"], key: "required", origin_timeout: `${ORIGIN_TIMEOUT_S}s`, window: "1h" };
  return (["object", "worker"] as const).flatMap((executor) => [
    { ...shared, executor, id: `${executor}-hold`, match: `/${executor}-hold/*` },
    {
      ...shared,
      executor,
      id: `${executor}-retry`,
      match: `/${executor}-retry/*`,
      on_crash: "retry",
      origin_key: "derived",
    },
  ]);
}

async function killAgainAndAgain(run: Run, endsAt: number): Promise<void> {
  const { kills, executors, stop } = run.options;
  const schedule = makeSchedule(kills, executors, run.random);
  for (const [index, planned] of schedule.entries()) {
    if (stop.aborted || performance.now() > endsAt) return;
    const earlier = [...run.recorder.history.operations];
    const operations = makeOperations(index + 1, planned);
    run.recorder.add(operations);
    await killOnce(run, planned, operations);
    const rechecked = pickSome(earlier, RECHECKS, run.random);
    await Promise.all([
      ...operations.map((operation) => run.caller.call(operation, "retry")),
      ...rechecked.map((operation) => run.caller.call(operation, "recheck")),
    ]);
  }
}

function makeOperations(kill: number, { point, executor, crashRule }: PlannedKill): Operation[] {
  return Array.from({ length: KEYS_PER_KILL }, (_, n) => ({
    key: `key-${kill}-${n + 1}`,
    executor,
    crashRule,
    point,
    kill,
  }));
}

/** Everything that was under way has ended, and a new gateway stands on the same store, when this returns. */
async function killOnce(run: Run, planned: PlannedKill, operations: readonly Operation[]): Promise<void> {
  const { recorder, caller, origin, gateway } = run;
  const { point, executor, crashRule, delayMs, isLate } = planned;
  const scene: Scene = { operations, delayMs, origin, caller, recorder, calls: [] };
  const hit = await DRIVES[point](scene);
  const kill = operations[0]?.kill ?? 0;
  recorder.note({ kind: "killed", kill, point, executor, crashRule, hit });
  await gateway.kill();
  origin.release(isLate ? "execute" : "drop");
  await Promise.all(scene.calls);
  await gateway.restart();
  recorder.note({ kind: "started", kill });
  caller.connectTo(gateway.port);
  run.options.onKill(kill, planned, hit);
}

/** Each key is asked until it has ended, then once more, and its state is read. */
async function closeAll(run: Run): Promise<void> {
  const waiting = [...run.recorder.history.operations];
  const endsAt = performance.now() + CLOSING_MS_MAX;
  const serve = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await retryUntilEnded(run, next, endsAt);
      await run.caller.call(next, "last");
      await run.caller.look(next);
    }
  };
  await Promise.all(Array.from({ length: CLOSING_CALLERS }, serve));
}

/** As a client does that minds `Retry-After`, up to a bound. */
async function retryUntilEnded({ caller }: Run, operation: Operation, endsAt: number): Promise<void> {
  for (;;) {
    const told = await caller.call(operation, "retry");
    if (told !== null && (isSuccess(told) || isUnknown(told))) return;
    if (performance.now() > endsAt) return;
    await sleep(Math.min((told?.retryAfterS ?? 0) * 1_000, RETRY_PAUSE_MS_MAX));
  }
}

function pickSome<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  if (items.length === 0) return [];
  const picked = Array.from({ length: count }, () => items[Math.floor(random() * items.length)]);
  return [...new Set(picked.filter((item) => item !== undefined))];
}
