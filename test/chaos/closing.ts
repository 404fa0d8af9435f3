/** The end of a run: every key is asked until it has ended, and the ledger comes to rest. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Build, SHARDS } from "./gateway.ts";
import { isSuccess, isUnknown, type Operation } from "./history.ts";
import { readLedger } from "./inspect-store.ts";
import { checkEntries } from "./ledger-rules.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { reconcileToRest } from "./reconciling.ts";
import type { ChaosStage } from "./stage.ts";

/** Every lease is over, and every key has ended, well within this. */
const CLOSING_MS_MAX = 45_000;
const CLOSING_CALLERS = 8;
const RETRY_PAUSE_MS_MAX = 1_000;
/** With all alarms rung, no entry is under way longer than this. */
const REST_MS_MAX = 30_000;
const REST_PAUSE_MS = 300;
/** Number of a check that no kill comes before. */
const LAST_CHECK = 0;

/** Starts the gateway anew, with a build that can read what is stored. It still runs when this returns. */
export async function closeAll(
  stage: ChaosStage,
  watch: LedgerWatch,
  build: Exclude<Build, "product"> = "gated",
): Promise<void> {
  const { recorder, caller, control, gateway, store } = stage;
  recorder.note({ kind: "restarting" });
  await gateway.kill();
  control.arm([]);
  await gateway.start(build);
  recorder.note({ kind: "restarted" });
  caller.connectTo(gateway.port);
  await askAll(stage);
  await comeToRest(stage);
  recorder.note(await watch.check(LAST_CHECK));
  // What was shown is looked for in what is kept, so that is read last.
  for (let shard = 0; shard < SHARDS; shard += 1) await caller.readCheckpoint(`1:${shard}`);
  const { entered, kept } = readLedger(store);
  for (const fact of [...entered, ...kept]) recorder.note(fact);
  await reconcileToRest(stage);
}

async function askAll(stage: ChaosStage): Promise<void> {
  const waiting = [...stage.recorder.history.operations];
  const endsAt = performance.now() + CLOSING_MS_MAX;
  const serve = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await (next.isBrief ? waitUntilFree(stage, next, endsAt) : ask(stage, next, endsAt));
    }
  };
  await Promise.all(Array.from({ length: CLOSING_CALLERS }, serve));
}

/** Each key is asked until it has ended, and its state is read. */
async function ask(stage: ChaosStage, operation: Operation, endsAt: number): Promise<void> {
  if (operation.crashRule === "probe") await waitUntilClosed(stage, operation, endsAt);
  await callUntilEnded(stage, operation, endsAt);
  await stage.caller.look(operation);
}

/** As a client does that minds `Retry-After`, up to a bound. */
async function callUntilEnded({ caller }: ChaosStage, operation: Operation, endsAt: number): Promise<void> {
  for (;;) {
    const told = await caller.call(operation, "last");
    if (told !== null && (isSuccess(told) || isUnknown(told))) return;
    if (performance.now() > endsAt) return;
    await sleep(Math.min((told?.retryAfterS ?? 0) * 1_000, RETRY_PAUSE_MS_MAX));
  }
}

/** A key whose window is over is looked at until it is gone. */
async function waitUntilFree({ caller }: ChaosStage, operation: Operation, endsAt: number): Promise<void> {
  for (;;) {
    const { state } = await caller.look(operation);
    if (state === null || state === "unknown" || performance.now() > endsAt) return;
    await sleep(REST_PAUSE_MS);
  }
}

/** What the origin can be asked about ends by itself: it is looked at, and nobody tries again. */
async function waitUntilClosed({ caller }: ChaosStage, operation: Operation, endsAt: number): Promise<void> {
  for (;;) {
    const { state } = await caller.look(operation);
    if ((state !== "unknown" && state !== "in-flight") || performance.now() > endsAt) return;
    await sleep(REST_PAUSE_MS);
  }
}

/** Rings every alarm until nothing is missing from the ledger, or for as long as it may take. */
async function comeToRest({ recorder, caller, store }: ChaosStage): Promise<void> {
  const endsAt = performance.now() + REST_MS_MAX;
  const { operations, facts } = recorder.history;
  for (;;) {
    const { entered } = readLedger(store);
    const found = checkEntries({ operations, facts: [...facts, ...entered] });
    if (found.length === 0 || performance.now() > endsAt) return;
    const keys = new Set(found.map(({ key }) => key));
    for (const operation of operations.filter(({ key }) => keys.has(key))) {
      await caller.ringKey(operation);
      await caller.look(operation);
    }
    await caller.ringShards();
    await sleep(REST_PAUSE_MS);
  }
}
