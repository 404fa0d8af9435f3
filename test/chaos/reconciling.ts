/** The cron's handler runs while keys are called and killed, and once more when everything has come to rest. */
import { setTimeout as sleep } from "node:timers/promises";
import { selectFacts } from "./history.ts";
import { readReconciliation } from "./inspect-store.ts";
import { checkReconciliation } from "./reconcile-rules.ts";
import type { ChaosStage } from "./stage.ts";

/** A run that was killed holds its lease for another half minute. */
const REST_MS_MAX = 45_000;
const REST_PAUSE_MS = 500;

/** One run to its end, or none where somebody holds the lease. */
export async function reconcileOnce({ recorder, caller, store }: ChaosStage): Promise<void> {
  await caller.reconcile();
  const last = selectFacts(recorder.history.facts, "ran").at(-1)?.id ?? 0;
  // The last one that was seen may have come to its end since.
  for (const fact of readReconciliation(store).ran) if (fact.id >= last) recorder.note(fact);
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
