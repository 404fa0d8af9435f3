// Aim: however many outcomes are unknown, the origin is asked no more than it can bear.
import { describe, expect, it } from "vitest";
import { PROBE_FAILURES_MAX, PROBE_REST_MS, PROBES_PER_SECOND } from "../../../src/core/limits.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";

const DAY = 24 * 3_600_000;

function makeBudget(): { budget: ProbeBudget; pass: (ms: number) => void } {
  let now = 1_000_000;
  return {
    budget: new ProbeBudget(() => now),
    pass: (ms) => {
      now += ms;
    },
  };
}

const countTaken = (budget: ProbeBudget): number =>
  Array.from({ length: 1_000 }, () => budget.take()).filter(Boolean).length;

function fail(budget: ProbeBudget, times: number): void {
  for (let failed = 0; failed < times; failed++) budget.note(false);
}

describe("the budget of questions", () => {
  it("is so many a second, and none of a quiet hour is saved up", () => {
    const { budget, pass } = makeBudget();
    expect(countTaken(budget)).toBe(PROBES_PER_SECOND);
    pass(500);
    expect(countTaken(budget)).toBe(PROBES_PER_SECOND / 2);
    pass(3_600_000);
    expect(countTaken(budget)).toBe(PROBES_PER_SECOND);
  });

  it("gets nothing from a clock that runs backwards", () => {
    const { budget, pass } = makeBudget();
    countTaken(budget);
    pass(-60_000);
    expect(budget.take()).toBe(false);
    pass(1_000);
    expect(countTaken(budget)).toBe(PROBES_PER_SECOND);
  });

  it("is nothing for a while after so many failures in a row, and not after fewer", () => {
    const { budget, pass } = makeBudget();
    fail(budget, PROBE_FAILURES_MAX - 1);
    expect(budget.take()).toBe(true);
    fail(budget, 1);
    expect(budget.take()).toBe(false);
    pass(PROBE_REST_MS - 1);
    expect(budget.take()).toBe(false);
  });

  it.each([-1, -365])("rests no longer where the clock goes back by %i days", (days) => {
    const { budget, pass } = makeBudget();
    fail(budget, PROBE_FAILURES_MAX);
    pass(days * DAY);
    expect(countTaken(budget)).toBe(1);
    pass(PROBE_REST_MS - 1);
    expect(budget.take()).toBe(false);
    pass(1);
    expect(budget.take()).toBe(true);
  });

  it("is one trial after the rest, and another rest where that fails", () => {
    const { budget, pass } = makeBudget();
    fail(budget, PROBE_FAILURES_MAX);
    for (let round = 0; round < 3; round++) {
      pass(PROBE_REST_MS);
      expect(countTaken(budget)).toBe(1);
      fail(budget, 1);
      expect(budget.take()).toBe(false);
    }
  });

  it("is whole again once a trial is answered", () => {
    const { budget, pass } = makeBudget();
    fail(budget, PROBE_FAILURES_MAX);
    pass(PROBE_REST_MS);
    expect(budget.take()).toBe(true);
    budget.note(true);
    expect(budget.take()).toBe(true);
    fail(budget, PROBE_FAILURES_MAX - 1);
    expect(budget.take()).toBe(true);
  });

  it("makes another trial where the first one's end was never told", () => {
    const { budget, pass } = makeBudget();
    fail(budget, PROBE_FAILURES_MAX);
    pass(PROBE_REST_MS);
    expect(countTaken(budget)).toBe(1);
    pass(PROBE_REST_MS);
    expect(countTaken(budget)).toBe(1);
  });
});
