/** The gateway is stopped while attempts are at the origin, for longer than their leases and any short window, and goes on. */
import type { Call } from "./caller.ts";
import type { CrashRule, Executor, Operation } from "./history.ts";
import type { ChaosStage } from "./stage.ts";

/** The longest lease of these routes is 8 s; the window that some of them have is 1 s. */
const PAUSE_MS = 9_000;
const ARRIVAL_MS_MAX = 5_000;

const KINDS: readonly { crashRule: CrashRule; isBrief: boolean }[] = [
  { crashRule: "hold", isBrief: false },
  { crashRule: "retry", isBrief: false },
  { crashRule: "probe", isBrief: false },
  { crashRule: "hold", isBrief: true },
];

/** The origin's answers come while nobody reads them. */
export async function pauseOnce(stage: ChaosStage, pause: number): Promise<void> {
  const { recorder, caller, origin, gateway } = stage;
  const operations = makeOperations(pause);
  recorder.add(operations);
  for (const { key } of operations) origin.stop(key, "executed");
  const calls = operations.map((operation): Call => caller.begin(operation, "first"));
  await recorder.waitForAll("executed", operations, ARRIVAL_MS_MAX);
  const paused = gateway.pause(PAUSE_MS);
  origin.release("answer");
  await paused;
  recorder.note({ kind: "paused", ms: PAUSE_MS });
  await Promise.all(calls.map(({ told }) => told));
  const again = operations.filter(({ isBrief }) => !isBrief);
  await Promise.all(again.map((operation) => caller.call(operation, "retry")));
}

function makeOperations(pause: number): Operation[] {
  return (["object", "worker"] as const).flatMap((executor: Executor) =>
    KINDS.map((kind, n): Operation => {
      const key = `paused-${pause}-${executor}-${n}`;
      return { ...kind, key, executor, point: "effect-done", kill: 0 };
    }),
  );
}
