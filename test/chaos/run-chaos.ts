/**
 * A run: bring operations to a crash point, kill the gateway, start it on the same store with one build or the other, let
 * the clients try again with the same keys; and so on. At the end every key is asked once more, the ledger is given time to
 * come to rest, and the history is checked.
 */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { checkHistory, type Violation } from "./checker.ts";
import { closeAll } from "./closing.ts";
import { DRIVES, type Scene } from "./drive.ts";
import { SHARDS } from "./gateway.ts";
import type { History, Operation } from "./history.ts";
import { findDamage } from "./inspect-store.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { pauseOnce } from "./pause.ts";
import { groupOf, POINTS } from "./points.ts";
import { makeSchedule, type Plan, type PlannedKill, quotasOf, seedRandom } from "./schedule.ts";
import { type ChaosStage, withStage } from "./stage.ts";

export type ChaosOptions = Plan & {
  /** Decides where, when and in which order; the same seed aims the same. */
  seed: number;
  /** No kill begins later than this after the start. */
  msMax: number;
  /** Times that the gateway is stopped for longer than a lease and a window, after the kills. */
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
  /** Kills that each bucket was to get. */
  quotas: ReadonlyMap<string, number>;
  history: History;
  violations: Violation[];
  /** Folder of the store; it stays where something was wrong. */
  store: string;
  medium: ChaosStage["medium"];
  /** Of the kills alone, and of everything. */
  killingMs: number;
  tookMs: number;
};

/** Keys that stand at the point of one kill. */
const KEYS_PER_KILL = 3;
/** Keys of earlier kills that are asked after each restart. */
const RECHECKS = 2;
/** The ledger is read whole by its verifier: after every kill at first, then less often. */
const OFTEN_CHECKED_KILLS = 40;
const CHECKED_EVERY = 10;

type Run = ChaosStage & { options: ChaosOptions; random: () => number; watch: LedgerWatch };

export function runChaos(options: ChaosOptions): Promise<ChaosRun> {
  const beganAt = performance.now();
  return withStage(async (stage) => {
    const { recorder, gateway, store, medium } = stage;
    const run: Run = { ...stage, options, random: seedRandom(options.seed), watch: new LedgerWatch(store) };
    const killingMs = await killAgainAndAgain(run, options.msMax);
    for (let pause = 1; pause <= options.pauses; pause += 1) await pauseOnce(stage, pause);
    await closeAll(stage, run.watch);
    await gateway.kill();
    const violations = [...checkHistory(recorder.history), ...(await findDamage(store))];
    if (violations.length === 0) await rm(dirname(store), { recursive: true, force: true });
    const { kills, seed } = options;
    const tookMs = performance.now() - beganAt;
    const quotas = quotasOf(options);
    return { seed, kills, quotas, history: recorder.history, violations, store, medium, killingMs, tookMs };
  });
}

async function killAgainAndAgain(run: Run, msMax: number): Promise<number> {
  const beganAt = performance.now();
  const { options, random } = run;
  const schedule = makeSchedule(options, random);
  await startFor(run, schedule[0]);
  for (const [index, planned] of schedule.entries()) {
    if (options.stop.aborted || performance.now() - beganAt > msMax) break;
    const kill = index + 1;
    const earlier = run.recorder.history.operations.filter(
      ({ isBrief, crashRule }) => !isBrief && crashRule !== "probe",
    );
    const operations = makeOperations(kill, planned);
    run.recorder.add(operations);
    await killOnce(run, planned, operations, schedule[kill]);
    const again = [
      ...operations.filter(isRetried).map((operation) => run.caller.call(operation, "retry")),
      ...pickSome(earlier, RECHECKS, run.random).map((operation) => run.caller.call(operation, "recheck")),
    ];
    await Promise.all(again);
    if (kill <= OFTEN_CHECKED_KILLS || kill % CHECKED_EVERY === 0) await checkLedgerNow(run, kill);
  }
  return performance.now() - beganAt;
}

/** Nobody may call twice with a brief key. One of those whose origin can be asked is left alone, and has to end by itself. */
function isRetried({ isBrief, crashRule }: Operation, index: number): boolean {
  return !isBrief && (crashRule !== "probe" || index > 0);
}

/** Starts the build that the next kill is aimed at, with its place armed. */
async function startFor({ control, gateway, caller }: Run, next: PlannedKill | undefined): Promise<void> {
  const build = next === undefined ? "product" : POINTS[next.point].build;
  control.arm(build === "gated" && next !== undefined ? next.point : null);
  await gateway.start(build);
  caller.connectTo(gateway.port);
}

function makeOperations(kill: number, { point, executor, crashRule }: PlannedKill): Operation[] {
  return Array.from({ length: KEYS_PER_KILL }, (_, n) => ({
    key: `key-${kill}-${n + 1}`,
    executor,
    crashRule,
    point,
    kill,
    isBrief: groupOf(point) === "c12",
  }));
}

/** Everything that was under way has ended, and a new gateway stands on the same store, when this returns. */
async function killOnce(
  run: Run,
  planned: PlannedKill,
  operations: readonly Operation[],
  next: PlannedKill | undefined,
): Promise<void> {
  const { recorder, caller, origin, control, gateway } = run;
  const { point, executor, crashRule, delayMs, isLate } = planned;
  const scene: Scene = { operations, delayMs, origin, control, caller, recorder, calls: [] };
  const hit = await DRIVES[point](scene);
  const kill = operations[0]?.kill ?? 0;
  recorder.note({ kind: "killed", kill, point, executor, crashRule, hit });
  await gateway.kill();
  origin.release(isLate ? "execute" : "drop");
  control.release();
  await Promise.all(scene.calls);
  await startFor(run, next);
  recorder.note({ kind: "started", kill });
  run.options.onKill(kill, planned, hit);
}

async function checkLedgerNow({ recorder, caller, watch }: Run, kill: number): Promise<void> {
  recorder.note(await watch.check(kill));
  for (let shard = 0; shard < SHARDS; shard += 1) await caller.readCheckpoint(`1:${shard}`);
}

function pickSome<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  if (items.length === 0) return [];
  const picked = Array.from({ length: count }, () => items[Math.floor(random() * items.length)]);
  return [...new Set(picked.filter((item) => item !== undefined))];
}
