/** Objects that break while somebody stands in them: what their memory held is gone, and the process lives. */
import type { Caller } from "./caller.ts";
import type { Control, Expectation } from "./control.ts";
import type { CrashRule, Executor, Operation } from "./history.ts";
import type { ChaosOrigin } from "./origin-script.ts";
import { groupOf, POINTS, type Point } from "./points.ts";
import type { Recorder } from "./recorder.ts";

/** Where objects break; `grant-unheard`, where they do too, is among the kills. */
export const BREAK_POINTS = [
  "granted",
  "on-the-wire",
  "effect-done",
  "answer-read",
  "settled",
  "outbox-full",
  "appended",
  "purge-due",
] as const satisfies readonly Point[];

export type BreakPoint = (typeof BREAK_POINTS)[number];

/** `number` counts from 1. */
export type PlannedBreak = { number: number; point: BreakPoint; crashRule: CrashRule };

const POINT_MS_MAX = 5_000;
/** A key is free again this long after its answer at the earliest: its window, and the alarm that ends it. */
const PURGE_MS_MAX = 6_000;
const RULES: readonly CrashRule[] = ["hold", "probe", "retry"];

/** Each point in its turn, and at each of them each rule. */
export function planBreak(number: number): PlannedBreak {
  const turn = number - 1;
  const point = BREAK_POINTS[turn % BREAK_POINTS.length] ?? "granted";
  const crashRule = RULES[Math.floor(turn / BREAK_POINTS.length) % RULES.length] ?? "hold";
  return { number, point, crashRule: point === "purge-due" ? "hold" : crashRule };
}

/** A shard that breaks, or stands still, at these takes from the kill what it is aimed at, and from the break what it waits for. */
const OF_THE_LEDGER = new Set(["c11", "c12", "ledger", "database", "probe"]);

/** Whether there can be a break in a life of the process that ends at this point. */
export function allowsBreak(point: Point): boolean {
  return !OF_THE_LEDGER.has(groupOf(point));
}

type Scene = { caller: Caller; control: Control; origin: ChaosOrigin; recorder: Recorder };

/** One operation of each executor stands at the point; their objects, or all shards, break; the clients hear of it, and try again. */
export async function breakOnce(scene: Scene, planned: PlannedBreak): Promise<void> {
  const { caller, control, origin, recorder } = scene;
  const { point } = planned;
  const operations = makeOperations(planned);
  const keys = operations.map(({ key }) => key);
  recorder.add(operations);
  const standing =
    POINTS[point].build === "gated"
      ? control.expect(point, point === "appended" ? null : keys, "hold")
      : null;
  if (point === "on-the-wire") for (const key of keys) origin.stop(key, "arrived");
  if (point === "effect-done") for (const key of keys) origin.stop(key, "executed");
  const calls = operations.map((operation) => caller.call(operation, "first"));
  const hit = await standsThere(scene, planned, operations, standing);
  for (const { key } of operations) recorder.note({ kind: "broken", key, point, hit });
  const broken =
    point === "appended" ? [caller.breakShards()] : operations.map((each) => caller.breakKey(each));
  const isMissing = (await Promise.all(broken)).includes(false);
  if (hit && isMissing) throw new Error(`there was nothing to break at ${point}`);
  standing?.release();
  origin.release("answer", keys);
  await Promise.all(calls);
  const again = operations.filter(({ isBrief, crashRule }) => !isBrief && crashRule !== "probe");
  await Promise.all(again.map((operation) => caller.call(operation, "retry")));
}

async function standsThere(
  { recorder }: Scene,
  { point }: PlannedBreak,
  operations: readonly Operation[],
  standing: Expectation | null,
): Promise<boolean> {
  if (standing !== null) return standing.waitForAll(point === "purge-due" ? PURGE_MS_MAX : POINT_MS_MAX);
  return recorder.waitForAll(point === "on-the-wire" ? "arrived" : "executed", operations, POINT_MS_MAX);
}

function makeOperations({ number, point, crashRule }: PlannedBreak): Operation[] {
  return (["object", "worker"] as const).map(
    (executor: Executor): Operation => ({
      key: `broken-${number}-${executor}`,
      executor,
      crashRule,
      point,
      kill: 0,
      isBrief: point === "purge-due",
    }),
  );
}
