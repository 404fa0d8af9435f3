/** Brings operations to the point at which they are to be killed. Each driver says whether they got there. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Caller, Sent } from "./caller.ts";
import type { Operation, Point, Told, Use } from "./history.ts";
import type { ChaosOrigin, Stop } from "./origin-script.ts";
import type { Recorder } from "./recorder.ts";

/** One kill's stage. `calls` collects what is under way, to be awaited after the kill. */
export type Scene = {
  operations: readonly Operation[];
  delayMs: number;
  origin: ChaosOrigin;
  caller: Caller;
  recorder: Recorder;
  calls: Promise<Told | null>[];
};

/** Longest time operations may take to their point; then the kill comes all the same and has missed. */
const POINT_MS_MAX = 2_500;
const DUPLICATES = 2;
const WAIT_S = 10;
/** A duplicate has surely come to its wait after this, on top of the drawn delay. */
const WAIT_BEGUN_MS = 60;
const REPLAYS_MAX = 500;

/** True where every operation of the scene stands at the point when the driver returns. */
type Drive = (scene: Scene) => Promise<boolean>;

export const DRIVES: Readonly<Record<Point, Drive>> = {
  async "body-sending"(scene) {
    await sendAll(scene, "first", { kind: "half" });
    await sleep(scene.delayMs);
    return isUnanswered(scene);
  },

  async "body-sent"(scene) {
    await sendAll(scene, "first");
    await sleep(scene.delayMs);
    return !scene.recorder.hasAll("told", scene.operations);
  },

  async "on-the-wire"(scene) {
    const isThere = await stopAt(scene, "arrived", "arrived");
    return isThere && scene.recorder.hasNone("executed", scene.operations) && isUnanswered(scene);
  },

  async "effect-done"(scene) {
    const isThere = await stopAt(scene, "executed", "executed");
    return isThere && scene.recorder.hasNone("replied", scene.operations) && isUnanswered(scene);
  },

  async "answer-begun"(scene) {
    const isThere = await stopAt(scene, "half", "replied");
    await sleep(scene.delayMs);
    return isThere && isUnanswered(scene);
  },

  async "answer-ended"(scene) {
    const isThere = await stopAt(scene, "executed", "executed");
    scene.origin.release("answer");
    const isReplied = await scene.recorder.waitForAll("replied", scene.operations, POINT_MS_MAX);
    if (scene.delayMs > 0) await sleep(scene.delayMs);
    return isThere && isReplied;
  },

  async "answer-given"(scene) {
    await sendAll(scene, "first");
    return scene.recorder.waitForAll("told", scene.operations, POINT_MS_MAX);
  },

  async replaying(scene) {
    await sendAll(scene, "first");
    const isSettled = await scene.recorder.waitForAll("told", scene.operations, POINT_MS_MAX);
    for (const operation of scene.operations) scene.calls.push(replayUntilSilence(scene, operation));
    await sleep(scene.delayMs);
    return isSettled;
  },

  async waiting(scene) {
    const isThere = await stopAt(scene, "arrived", "arrived");
    for (let n = 0; n < DUPLICATES; n += 1) {
      await sendAll(scene, "duplicate", { kind: "waiting", seconds: WAIT_S });
    }
    await sleep(WAIT_BEGUN_MS + scene.delayMs);
    return isThere && isUnanswered(scene);
  },
};

/** Begins one call for each operation, all at once, and comes back when all their bytes are on their way. */
async function sendAll(scene: Scene, use: Use, sent: Sent = { kind: "whole" }): Promise<void> {
  const calls = scene.operations.map((operation): Call => scene.caller.begin(operation, use, sent));
  scene.calls.push(...calls.map(({ told }) => told));
  await Promise.all(calls.map((call) => call.sent));
}

async function stopAt(scene: Scene, stop: Stop, sign: "arrived" | "executed" | "replied"): Promise<boolean> {
  for (const { key } of scene.operations) scene.origin.stop(key, stop);
  await sendAll(scene, "first");
  return scene.recorder.waitForAll(sign, scene.operations, POINT_MS_MAX);
}

function isUnanswered({ recorder, operations }: Scene): boolean {
  return recorder.hasNone("told", operations) && recorder.hasNone("silence", operations);
}

/** One replay after the other until the gateway is gone. */
async function replayUntilSilence({ caller }: Scene, operation: Operation): Promise<Told | null> {
  for (let n = 0; n < REPLAYS_MAX; n += 1) {
    if ((await caller.call(operation, "duplicate")) === null) return null;
  }
  return null;
}
