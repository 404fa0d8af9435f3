// Aim: the checker of the simulation sees what it is there for. Method: planted histories, each sound but for one thing.
import { describe, expect, it } from "vitest";
import { INVARIANTS } from "./check/check.ts";
import { searchOrder } from "./check/linear.ts";
import { historyOf, PLANTED, SOUND } from "./check/planted.ts";
import { PLANTED_LEDGERS, PRUNED } from "./check/planted-ledger.ts";
import { viewOf } from "./check/view.ts";

/** Invariants that speak of what a planted history of a few rows can't hold: the mutants show that they see something. */
const BY_MUTANTS = ["I6", "L3"];

function brokenBy(history: Parameters<typeof viewOf>[0]): string[] {
  const view = viewOf(history);
  return INVARIANTS.filter(([, check]) => check(view) !== null).map(([name]) => name);
}

const ALL = [...PLANTED, ...PLANTED_LEDGERS];

describe("the checker", () => {
  it("finds nothing wrong with a sound history", () => {
    expect(brokenBy(historyOf(SOUND))).toEqual([]);
  });

  it("finds nothing wrong with bodies that are deleted when they are old and everybody was told", () => {
    expect(brokenBy(PRUNED).filter((name) => name.startsWith("I18"))).toEqual([]);
  });

  it.each(ALL)("%s rejects %s", (invariant, _what, history) => {
    expect(brokenBy(history)).toContain(invariant);
  });

  it.each(INVARIANTS.map(([name]) => name).filter((name) => !BY_MUTANTS.includes(name)))(
    "has a planted history for %s",
    (name) => {
      expect(ALL.map(([invariant]) => invariant)).toContain(name);
    },
  );
});

describe("the search for an order", () => {
  const run = (from: number, to: number) => ({ from, to, needs: { kind: "run" } as const });
  const read = (from: number, to: number, body: string) => ({
    from,
    to,
    needs: { kind: "settled", body } as const,
  });

  it("finds the one order that overlapping calls allow", () => {
    expect(searchOrder([read(0, 100, "a"), run(10, 20), read(5, 90, "a")], false)).toBe("found");
  });

  it("finds none where an answer comes before the run that it needs", () => {
    expect(searchOrder([read(0, 5, "a"), run(10, 20)], false)).toBe("none");
  });

  it("finds none for two answers of one run", () => {
    expect(searchOrder([run(0, 5), read(10, 20, "a"), read(30, 40, "b")], false)).toBe("none");
  });

  it("finds none for a run after the answer", () => {
    expect(searchOrder([run(0, 5), read(10, 20, "a"), run(30, 40)], false)).toBe("none");
  });
});
