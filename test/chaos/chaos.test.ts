import { expect, it } from "vitest";
import { selectFacts } from "./history.ts";
import { describeRun, listShortfalls } from "./report.ts";
import { runChaos } from "./run-chaos.ts";

/** One kill for each crash point, executor and crash rule. */
const KILLS = 24;
const SEED = 1;
const HITS_LEAST = 18;

it("keeps every promise through one kill at each crash point, with both executors", async () => {
  const run = await runChaos({
    kills: KILLS,
    seed: SEED,
    executors: ["object", "worker"],
    msMax: 70_000,
    onKill: () => {},
    stop: new AbortController().signal,
  });
  const told = describeRun(run);
  expect(run.violations, told).toEqual([]);
  expect(listShortfalls(run), told).toEqual([]);
  const hits = selectFacts(run.history.facts, "killed").filter(({ hit }) => hit);
  expect(hits.length, told).toBeGreaterThanOrEqual(HITS_LEAST);
});
