/** The cron's handler runs while keys are called and killed, and once more when everything has come to rest. */
import { setTimeout as sleep } from "node:timers/promises";
import { type FactOf, selectFacts } from "./history.ts";
import { readReconciliation } from "./inspect-store.ts";
import { checkReconciliation } from "./reconcile-rules.ts";
import type { ChaosStage } from "./stage.ts";

/** A run that was killed holds its lease for another half minute. */
const REST_MS_MAX = 45_000;
const REST_PAUSE_MS = 500;
const POLL_MS = 2;

/** One run to its end, or none where somebody holds the lease. */
export async function reconcileOnce(stage: ChaosStage): Promise<void> {
  await stage.caller.reconcile();
  noteRuns(stage);
}

/** Comes back while a run is under way, where the lease is free and there is enough to do; `over` is when that is over, or killed. */
export async function beginRun({ caller, store }: ChaosStage): Promise<{ over: Promise<unknown> }> {
  const last = lastRun(store)?.id ?? 0;
  let isOver = false;
  const over = caller
    .reconcile()
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  while (!isOver && (lastRun(store)?.id ?? 0) === last) await sleep(POLL_MS);
  return { over };
}

/** Notes what is new of the runs. Gives the last one. */
export function noteRuns({ recorder, store }: ChaosStage): FactOf<"ran"> | null {
  const last = selectFacts(recorder.history.facts, "ran").at(-1)?.id ?? 0;
  const { ran } = readReconciliation(store);
  // The last one that was seen may have come to its end since.
  for (const fact of ran) if (fact.id >= last) recorder.note(fact);
  return ran.at(-1) ?? null;
}

function lastRun(store: string): FactOf<"ran"> | null {
  return readReconciliation(store).ran.at(-1) ?? null;
}

/** Runs until one has found all that is open, or for as long as it may take. */
export async function reconcileToRest(stage: ChaosStage): Promise<void> {
  const { recorder, store } = stage;
  const { operations, facts } = recorder.history;
  const endsAt = performance.now() + REST_MS_MAX;
  for (;;) {
    await reconcileOnce(stage);
    const { found } = readReconciliation(store);
    const isAtRest = checkReconciliation({ operations, facts: [...facts, ...found] }).length === 0;
    if (isAtRest || performance.now() > endsAt) {
      for (const fact of found) recorder.note(fact);
      return;
    }
    await sleep(REST_PAUSE_MS);
  }
}
