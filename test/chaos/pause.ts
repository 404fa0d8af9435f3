/**
 * The gateway is stopped while attempts are at the origin, for longer than their leases and any short window, and goes on. The origin
 * goes on meanwhile: its answers come while nobody reads them.
 */
import type { Call } from "./caller.ts";
import type { CrashRule, Executor, Fact, Operation } from "./history.ts";
import type { Release, Stop } from "./origin-script.ts";
import { WINDOW_KEY } from "./pause-rules.ts";
import type { Point } from "./points.ts";
import type { ChaosStage } from "./stage.ts";

/** The longest lease of these routes is 8 s; the window that some of them have is 1 s. */
const PAUSE_MS = 9_000;
const ARRIVAL_MS_MAX = 5_000;

const EXECUTORS: readonly Executor[] = ["object", "worker"];

const KINDS: readonly { crashRule: CrashRule; isBrief: boolean }[] = [
  { crashRule: "hold", isBrief: false },
  { crashRule: "retry", isBrief: false },
  { crashRule: "probe", isBrief: false },
  { crashRule: "hold", isBrief: true },
];

/** Where attempts stand when the gateway stops, and how the origin goes on with them; `sign`: the fact that says that they are there. */
type Stand = { point: Point; stop: Stop; sign: Fact["kind"]; release: Release };

const EFFECT_DONE: Stand = { point: "effect-done", stop: "executed", sign: "executed", release: "answer" };
const STANDS: readonly Stand[] = [
  EFFECT_DONE,
  { point: "answer-begun", stop: "half", sign: "replied", release: "answer" },
  { point: "on-the-wire", stop: "arrived", sign: "arrived", release: "execute" },
  { point: "on-the-wire", stop: "arrived", sign: "arrived", release: "drop" },
];

/** `pause` counts from 1: the stands take turns. */
export async function pauseOnce(stage: ChaosStage, pause: number): Promise<void> {
  const { recorder, caller, origin, gateway } = stage;
  const stand = STANDS[(pause - 1) % STANDS.length] ?? EFFECT_DONE;
  const windows = EXECUTORS.map((executor) => makeWindow(pause, executor));
  await Promise.all(windows.map((operation) => fillWindow(stage, operation)));
  const operations = makeOperations(pause, stand);
  recorder.add(operations);
  for (const { key } of operations) origin.stop(key, stand.stop);
  const calls = operations.map((operation): Call => caller.begin(operation, "first"));
  await recorder.waitForAll(stand.sign, operations, ARRIVAL_MS_MAX);
  const paused = gateway.pause(PAUSE_MS);
  origin.release(stand.release);
  await paused;
  recorder.note({ kind: "paused", ms: PAUSE_MS });
  await Promise.all(windows.map((operation) => caller.call(operation, "retry")));
  await Promise.all(calls.map(({ told }) => told));
  const again = operations.filter(({ isBrief }) => !isBrief);
  await Promise.all(again.map((operation) => caller.call(operation, "retry")));
}

function makeOperations(pause: number, { point }: Stand): Operation[] {
  return EXECUTORS.flatMap((executor) =>
    KINDS.map((kind, n): Operation => {
      const key = `paused-${pause}-${executor}-${n}`;
      return { ...kind, key, executor, point, kill: 0 };
    }),
  );
}

/** Its window and quarantine end while the gateway stands still. It is none of the history's operations: it may run once a window. */
function makeWindow(pause: number, executor: Executor): Operation {
  const key = `${WINDOW_KEY}${pause}-${executor}`;
  return { key, executor, crashRule: "hold", point: "answer-given", kill: 0, isBrief: true };
}

/** An answer is stored, given again by the key's object, and again by the isolate's memory. */
async function fillWindow({ caller }: ChaosStage, operation: Operation): Promise<void> {
  await caller.call(operation, "first");
  await caller.call(operation, "duplicate");
  await caller.call(operation, "duplicate");
}
