/** Brings operations to the point at which they are to be killed. Each driver says whether they got there. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Caller, Sent } from "./caller.ts";
import type { Control } from "./control.ts";
import type { Operation, Told, Use } from "./history.ts";
import type { ChaosOrigin, Stop } from "./origin-script.ts";
import type { Point } from "./points.ts";
import type { Recorder } from "./recorder.ts";

/** One kill's stage. `calls` collects what is under way, to be awaited after the kill. */
export type Scene = {
  point: Point;
  operations: readonly Operation[];
  delayMs: number;
  origin: ChaosOrigin;
  control: Control;
  caller: Caller;
  recorder: Recorder;
  calls: Promise<Told | null>[];
};

/** Longest time operations may take to their point; then the kill comes all the same and has missed. */
const POINT_MS_MAX = 5_000;
/** A key is free again this long after its answer at the earliest: its window, and the alarm that ends it. */
const PURGE_MS_MAX = 6_000;
const DUPLICATES = 2;
const WAIT_S = 10;
/** A duplicate has surely come to its wait after this, on top of the drawn delay. */
const WAIT_BEGUN_MS = 60;
const REPLAYS_MAX = 500;
/** Time between two rings of the shards' alarms: the first may come before there is anything to bring out. */
const RING_PAUSE_MS = 50;

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

  unclaimed: standAndWait,
  "begin-received": standAndWait,
  granted: standAndWait,
  "answer-read": standAndWait,
  settled: standAndWait,
  "answer-ready": standAndWait,

  async "grant-unheard"(scene) {
    const breaking = scene.control.expect(scene.point, listKeys(scene), "abort");
    await sendAll(scene, "first");
    const isThere = await breaking.waitForAll(POINT_MS_MAX);
    await scene.recorder.waitForAll("told", scene.operations, POINT_MS_MAX);
    return isThere;
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

  "outbox-full": (scene) => standBehindAnswers(scene, listKeys(scene)),
  acknowledged: (scene) => standBehindAnswers(scene, listKeys(scene)),

  "purge-due": standInPurge,
  "purge-told": standInPurge,

  "append-received": (scene) => standBehindAnswers(scene, null),
  appended: (scene) => standBehindAnswers(scene, null),

  "round-begun": standInRound,
  "head-signed": standInRound,
  "bundles-written": standInRound,
  "bundles-noted": standInRound,
  "checkpoint-written": standInRound,
  shown: standInRound,

  async "database-writing"(scene) {
    const isThere = await ringUntilThere(scene, "count");
    await sleep(scene.delayMs);
    return isThere;
  },

  async "probe-heard"(scene) {
    const { recorder, operations, control, point } = scene;
    for (const { key } of operations) scene.origin.stop(key, "reset");
    await sendAll(scene, "first");
    const isTold = await recorder.waitForAll("told", operations, POINT_MS_MAX);
    const standing = control.expect(point, listKeys(scene), "hold");
    // A retry that meets an unknown outcome has the origin asked at once, but not twice within a second.
    await sendAll(scene, "duplicate");
    return isTold && (await standing.waitForAll(POINT_MS_MAX));
  },

  async "origin-failing"(scene) {
    const failures = ["reset", "cut", "executed"] as const;
    for (const [n, { key }] of scene.operations.entries()) scene.origin.stop(key, failures[n % 3] ?? "cut");
    await sendAll(scene, "first");
    const broken = scene.operations.filter((_, n) => n % 3 < 2);
    const isBroken = await scene.recorder.waitForAll("told", broken, POINT_MS_MAX);
    await sleep(scene.delayMs);
    return isBroken;
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

/** Whether those who stood at a place of the gated build when the driver came back still do, as far as their clients can tell. */
export function standsStill(scene: Scene): boolean {
  return DRIVES[scene.point] !== standAndWait || isUnanswered(scene);
}

function listKeys({ operations }: Scene): string[] {
  return operations.map(({ key }) => key);
}

/** All operations stand at the armed place, and none has its answer. */
async function standAndWait(scene: Scene): Promise<boolean> {
  const standing = scene.control.expect(scene.point, listKeys(scene), "hold");
  await sendAll(scene, "first");
  return (await standing.waitForAll(POINT_MS_MAX)) && isUnanswered(scene);
}

/** The same, at a place that is reached when the answer is given. `keys` null: whatever comes there stands. */
async function standBehindAnswers(scene: Scene, keys: readonly string[] | null): Promise<boolean> {
  const standing = scene.control.expect(scene.point, keys, "hold");
  await sendAll(scene, "first");
  const isTold = await scene.recorder.waitForAll("told", scene.operations, POINT_MS_MAX);
  return isTold && (await standing.waitForAll(POINT_MS_MAX));
}

/** All keys are on their way out of storage. */
async function standInPurge(scene: Scene): Promise<boolean> {
  const standing = scene.control.expect(scene.point, listKeys(scene), "hold");
  await sendAll(scene, "first");
  return standing.waitForAll(PURGE_MS_MAX);
}

async function standInRound(scene: Scene): Promise<boolean> {
  return ringUntilThere(scene, "hold");
}

/** Entries come to a shard, and its alarm is rung until its round has come to the armed place. */
async function ringUntilThere(scene: Scene, how: "hold" | "count"): Promise<boolean> {
  await sendAll(scene, "first");
  const isTold = await scene.recorder.waitForAll("told", scene.operations, POINT_MS_MAX);
  const standing = scene.control.expect(scene.point, null, how);
  const endsAt = performance.now() + POINT_MS_MAX;
  let isThere = false;
  while (!isThere && performance.now() < endsAt) {
    await scene.caller.ringShards();
    isThere = await standing.waitForAll(RING_PAUSE_MS);
  }
  return isTold && isThere;
}

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
