import { describe, expect, it } from "vitest";
import { checkKeys, RULE_NAMES } from "./checker.ts";
import { checkLedger, LEDGER_RULE_NAMES } from "./ledger-rules.ts";
import { BAD, GOOD } from "./planted.ts";
import { BAD_LEDGERS, GOOD_LEDGERS } from "./planted-ledger.ts";
import { bucketOf, CRASH_POINTS, groupOf, listAims } from "./points.ts";
import { makeSchedule, quotasOf, seedRandom } from "./schedule.ts";

describe("the checker of histories", () => {
  it.each(GOOD)("accepts %s", (_name, history) => {
    expect(checkKeys(history)).toEqual([]);
  });

  it.each(BAD.map(([rule, history], n) => ({ rule, history, n })))(
    "rejects planted history $n by $rule",
    ({ rule, history }) => {
      expect(checkKeys(history).map((violation) => violation.rule)).toContain(rule);
    },
  );

  it("has a planted history for every rule", () => {
    expect([...new Set(BAD.map(([rule]) => rule))].sort()).toEqual([...RULE_NAMES].sort());
  });
});

describe("the checker of ledgers", () => {
  it.each(GOOD_LEDGERS)("accepts %s", (_name, history) => {
    expect(checkLedger(history)).toEqual([]);
  });

  it.each(BAD_LEDGERS.map(([rule, history], n) => ({ rule, history, n })))(
    "rejects planted history $n by $rule alone",
    ({ rule, history }) => {
      expect(new Set(checkLedger(history).map((violation) => violation.rule))).toEqual(new Set([rule]));
    },
  );

  it("has a planted history for every rule", () => {
    expect([...new Set(BAD_LEDGERS.map(([rule]) => rule))].sort()).toEqual([...LEDGER_RULE_NAMES].sort());
  });
});

describe("the schedule of kills", () => {
  const both = ["object", "worker"] as const;

  it("is the same for the same seed, and another for another", () => {
    const plan = (seed: number) =>
      makeSchedule({ kills: 60, mix: "short", executors: both }, seedRandom(seed));
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it.each([24, 100, 200, 1_500].flatMap((kills) => [[kills, "long"] as const, [kills, "short"] as const]))(
    "of %i kills gives every bucket its quota in the %s mix",
    (kills, mix) => {
      const plan = { kills, mix, executors: both };
      const planned = makeSchedule(plan, seedRandom(kills));
      const made = Map.groupBy(planned, ({ point }) => bucketOf(point));
      const short = [...quotasOf(plan)].filter(([bucket, quota]) => (made.get(bucket)?.length ?? 0) < quota);
      expect(planned).toHaveLength(kills);
      expect(short).toEqual([]);
    },
  );

  it.each([
    ["short", 100, 5],
    ["long", 1_500, 100],
  ] as const)("of the %s mix of %i kills gives every crash point %i at least", (mix, kills, least) => {
    const planned = makeSchedule({ kills, mix, executors: both }, seedRandom(1));
    const made = Map.groupBy(planned, ({ point }) => groupOf(point));
    expect(CRASH_POINTS.filter((group) => (made.get(group)?.length ?? 0) < least)).toEqual([]);
  });

  it("aims at every point with each executor and crash rule", () => {
    const planned = makeSchedule({ kills: 1_500, mix: "long", executors: both }, seedRandom(1));
    const aims = planned.map(({ point, executor, crashRule }) => `${point} ${executor} ${crashRule}`);
    expect(new Set(aims).size).toBe(listAims(both).length);
  });
});
