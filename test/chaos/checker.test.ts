import { describe, expect, it } from "vitest";
import { BREAK_POINTS, planBreak } from "./breaks.ts";
import { checkKeys, RULE_NAMES } from "./checker.ts";
import { checkLater, LATER_RULE_NAMES } from "./later-rules.ts";
import { checkLedger, LEDGER_RULE_NAMES } from "./ledger-rules.ts";
import { checkPauses, PAUSE_RULE_NAMES } from "./pause-rules.ts";
import { BAD, GOOD } from "./planted.ts";
import { BAD_LEDGERS, GOOD_LEDGERS } from "./planted-ledger.ts";
import { BAD_PAUSES, GOOD_PAUSES } from "./planted-pause.ts";
import { BAD_PROBES, GOOD_PROBES } from "./planted-probe.ts";
import { BAD_LATER, BAD_RUNS, GOOD_LATER, GOOD_RUNS } from "./planted-reconcile.ts";
import { type Aim, bucketOf, CRASH_POINTS, groupOf, listAims, POINT_NAMES } from "./points.ts";
import { checkProbes, PROBE_RULE_NAMES } from "./probe-rules.ts";
import { checkReconciliation, RECONCILE_RULE_NAMES } from "./reconcile-rules.ts";
import { KillQueue, makeSchedule, type PlannedKill, quotasOf, seedRandom } from "./schedule.ts";

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

const GLOBAL = [
  { of: "ledgers", check: checkLedger, good: GOOD_LEDGERS, bad: BAD_LEDGERS, rules: LEDGER_RULE_NAMES },
  {
    of: "reconciliations",
    check: checkReconciliation,
    good: GOOD_RUNS,
    bad: BAD_RUNS,
    rules: RECONCILE_RULE_NAMES,
  },
  {
    of: "builds that take turns",
    check: checkLater,
    good: GOOD_LATER,
    bad: BAD_LATER,
    rules: LATER_RULE_NAMES,
  },
  { of: "probes", check: checkProbes, good: GOOD_PROBES, bad: BAD_PROBES, rules: PROBE_RULE_NAMES },
  { of: "pauses", check: checkPauses, good: GOOD_PAUSES, bad: BAD_PAUSES, rules: PAUSE_RULE_NAMES },
];

describe.each(GLOBAL)("the checker of $of", ({ check, good, bad, rules }) => {
  it.each(good)("accepts %s", (_name, history) => {
    expect(check(history)).toEqual([]);
  });

  it.each(bad.map(([rule, history], n) => ({ rule, history, n })))(
    "rejects planted history $n by $rule alone",
    ({ rule, history }) => {
      expect(new Set(check(history).map((violation) => violation.rule))).toEqual(new Set([rule]));
    },
  );

  it("has a planted history for every rule", () => {
    expect([...new Set(bad.map(([rule]) => rule))].sort()).toEqual([...rules].sort());
  });
});

describe("the schedule of kills", () => {
  const both = ["object", "worker"] as const;

  it("is the same for the same seed, and another for another", () => {
    const plan = (seed: number) =>
      makeSchedule({ kills: 60, mix: "short", executors: both, points: POINT_NAMES }, seedRandom(seed));
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it.each([24, 150, 200, 1_500].flatMap((kills) => [[kills, "long"] as const, [kills, "short"] as const]))(
    "of %i kills gives every bucket its quota in the %s mix",
    (kills, mix) => {
      const plan = { kills, mix, executors: both, points: POINT_NAMES };
      const planned = makeSchedule(plan, seedRandom(kills));
      const made = Map.groupBy(planned, ({ point }) => bucketOf(point));
      const short = [...quotasOf(plan)].filter(([bucket, quota]) => (made.get(bucket)?.length ?? 0) < quota);
      expect(planned).toHaveLength(kills);
      expect(short).toEqual([]);
    },
  );

  it.each([
    ["short", 150, 8, 3],
    ["long", 1_500, 100, 20],
  ] as const)(
    "of the %s mix of %i kills gives every crash point %i, and every gap of the ledger and D1 %i at least",
    (mix, kills, crash, gap) => {
      const quotas = quotasOf({ kills, mix, executors: both, points: POINT_NAMES });
      const gaps = POINT_NAMES.filter((point) => groupOf(point) === "ledger");
      expect(CRASH_POINTS.filter((group) => (quotas.get(group) ?? 0) < crash)).toEqual([]);
      expect([...gaps, "database"].filter((bucket) => (quotas.get(bucket) ?? 0) < gap)).toEqual([]);
    },
  );

  it("gives a kill that missed once more, behind all others, and no more of them than a tenth", () => {
    const plan = { kills: 20, mix: "short", executors: both, points: POINT_NAMES } as const;
    const schedule = makeSchedule(plan, seedRandom(1));
    const queue = new KillQueue(schedule, 60_000);
    const taken: PlannedKill[] = [];
    for (let aimed = queue.take(); aimed !== null; aimed = queue.take()) {
      taken.push(aimed.planned);
      queue.again(aimed.planned);
    }
    expect(taken).toEqual([...schedule, ...schedule.slice(0, 2)]);
  });

  it("breaks objects at each place, under each rule of what follows", () => {
    const planned = Array.from({ length: 24 }, (_, n) => planBreak(n + 1));
    const names = planned.map(({ point, crashRule }) => `${point} ${crashRule}`);
    const wanted = BREAK_POINTS.filter((point) => point !== "purge-due").flatMap((point) =>
      ["hold", "probe", "retry"].map((rule) => `${point} ${rule}`),
    );
    expect(new Set(names)).toEqual(new Set([...wanted, "purge-due hold"]));
  });

  it("aims at every point with each executor and crash rule", () => {
    const planned = makeSchedule(
      { kills: 1_500, mix: "long", executors: both, points: POINT_NAMES },
      seedRandom(1),
    );
    const name = ({ point, executor, crashRule }: Aim) => `${point} ${executor} ${crashRule}`;
    expect(new Set(planned.map(name))).toEqual(new Set(listAims(both, POINT_NAMES).map(name)));
  });
});
