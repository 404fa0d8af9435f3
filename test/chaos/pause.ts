/**
 * The gateway is stopped where attempts stand, at the origin or between two durable writes, for longer than their leases and any short window,
 * and goes on. Whatever they wait for goes on meanwhile: the origin's answers come while nobody reads them.
 */
import { DRIVES, type Scene } from "./drive.ts";
import type { Build } from "./gateway.ts";
import type { CrashRule, Executor, Operation } from "./history.ts";
import type { Release } from "./origin-script.ts";
import { WINDOW_KEY } from "./pause-rules.ts";
import { POINTS, type Point } from "./points.ts";
import type { ChaosStage } from "./stage.ts";

/** The longest lease of these routes is 8 s; the window that some of them have is 1 s. */
const PAUSE_MS = 9_000;

const EXECUTORS: readonly Executor[] = ["object", "worker"];

const KINDS: readonly { crashRule: CrashRule; isBrief: boolean }[] = [
  { crashRule: "hold", isBrief: false },
  { crashRule: "retry", isBrief: false },
  { crashRule: "probe", isBrief: false },
  { crashRule: "hold", isBrief: true },
];

/** Where attempts stand when the gateway stops, and how the origin goes on with those that stand there. */
type Stand = { point: Point; release: Release };

const EFFECT_DONE: Stand = { point: "effect-done", release: "answer" };
const STANDS: readonly Stand[] = [
  EFFECT_DONE,
  { point: "granted", release: "answer" },
  { point: "answer-begun", release: "answer" },
  { point: "answer-read", release: "answer" },
  { point: "on-the-wire", release: "execute" },
  { point: "settled", release: "answer" },
  { point: "on-the-wire", release: "drop" },
  { point: "probe-heard", release: "answer" },
];

/** `pause` counts from 1: the stands take turns. `build` runs, or is what may run on the store where the gateway itself has to stand still. */
export async function pauseOnce(
  stage: ChaosStage,
  pause: number,
  build: Exclude<Build, "product">,
): Promise<void> {
  const { recorder, caller, origin, control, gateway } = stage;
  const { point, release } = STANDS[(pause - 1) % STANDS.length] ?? EFFECT_DONE;
  if (POINTS[point].build === "gated") await restartFor(stage, point, build);
  const windows = EXECUTORS.map((executor) => makeWindow(pause, executor));
  await Promise.all(windows.map((operation) => fillWindow(stage, operation)));
  const operations = makeOperations(pause, point);
  recorder.add(operations);
  const scene: Scene = { point, operations, delayMs: 0, origin, control, caller, recorder, calls: [] };
  const hit = await DRIVES[point](scene);
  const paused = gateway.pause(PAUSE_MS);
  origin.release(release);
  control.release();
  await paused;
  recorder.note({ kind: "paused", ms: PAUSE_MS, point, hit });
  await Promise.all(windows.map((operation) => caller.call(operation, "retry")));
  await Promise.all(scene.calls);
  const again = operations.filter(({ isBrief }) => !isBrief);
  await Promise.all(again.map((operation) => caller.call(operation, "retry")));
}

/** Nobody is calling. */
async function restartFor(stage: ChaosStage, point: Point, build: Build): Promise<void> {
  const { recorder, caller, control, gateway } = stage;
  recorder.note({ kind: "restarting" });
  await gateway.kill();
  control.arm([point]);
  await gateway.start(build);
  recorder.note({ kind: "restarted" });
  caller.connectTo(gateway.port);
}

function makeOperations(pause: number, point: Point): Operation[] {
  const rules: readonly CrashRule[] = POINTS[point].rules;
  const kinds = KINDS.filter(({ crashRule }) => rules.includes(crashRule));
  return EXECUTORS.flatMap((executor) =>
    kinds.map((kind, n): Operation => {
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
