import { describe, expect, it } from "vitest";
import { checkHistory, RULE_NAMES } from "./checker.ts";
import { POINTS } from "./history.ts";
import { BAD, GOOD } from "./planted.ts";
import { listAims, makeSchedule, quotaOf, seedRandom } from "./schedule.ts";

describe("the checker of histories", () => {
  it.each(GOOD)("accepts %s", (_name, history) => {
    expect(checkHistory(history)).toEqual([]);
  });

  it.each(BAD.map(([rule, history], n) => ({ rule, history, n })))(
    "rejects planted history $n by $rule",
    ({ rule, history }) => {
      expect(checkHistory(history).map((violation) => violation.rule)).toContain(rule);
    },
  );

  it("has a planted history for every rule", () => {
    expect([...new Set(BAD.map(([rule]) => rule))].sort()).toEqual([...RULE_NAMES].sort());
  });
});

describe("the schedule of kills", () => {
  const both = ["object", "worker"] as const;

  it("is the same for the same seed, and another for another", () => {
    const plan = (seed: number) => makeSchedule(60, both, seedRandom(seed));
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it.each([24, 100, 200])("of %i kills gives every aim its quota", (kills) => {
    const planned = makeSchedule(kills, both, seedRandom(kills));
    const counts = listAims(both).map(
      (aim) =>
        planned.filter(
          (kill) =>
            kill.point === aim.point && kill.executor === aim.executor && kill.crashRule === aim.crashRule,
        ).length,
    );
    expect(planned).toHaveLength(kills);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(quotaOf(kills, both));
    expect(new Set(planned.map(({ point }) => point)).size).toBe(POINTS.length);
  });
});
