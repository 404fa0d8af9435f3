import { expect, it } from "vitest";
import { selectFacts } from "./history.ts";
import { POINT_NAMES } from "./points.ts";
import { describeRun, listShortfalls } from "./report.ts";
import { runChaos } from "./run-chaos.ts";

/** Eight for each crash point, three for each gap of the ledger, twenty while D1 writes, three for each way out of unknown, one for each race. */
const KILLS = 150;
const SEED = 1;
/** The verifier runs after each of the first kills, then less often. */
const CHECKS_LEAST = 40;
/** A minute on two idle cores. */
const KILLING_MS_MAX = 240_000;

it(
  "keeps every promise through kills at each crash point, in each gap of the ledger and while D1 writes",
  async () => {
    const run = await runChaos({
      kills: KILLS,
      mix: "short",
      seed: SEED,
      executors: ["object", "worker"],
      points: POINT_NAMES,
      lanes: 2,
      pauses: 1,
      msMax: KILLING_MS_MAX,
      onKill: () => {},
      stop: new AbortController().signal,
    });
    const told = describeRun(run);
    expect(run.violations, told).toEqual([]);
    expect(listShortfalls(run), told).toEqual([]);
    const sound = selectFacts(run.history.facts, "verified").filter(({ verdict }) => verdict === "sound");
    expect(sound.length, told).toBeGreaterThanOrEqual(CHECKS_LEAST);
  },
  2 * KILLING_MS_MAX,
);
