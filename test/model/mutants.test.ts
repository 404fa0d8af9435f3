import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { step } from "../../src/core/step.ts";
import type { Step } from "./history.ts";
import { INVARIANTS } from "./invariants.ts";
import { MUTANTS } from "./mutants.ts";
import { check } from "./run.ts";
import { type Judging, Violation } from "./world.ts";

const RUNS = 6_000;
// One seed for all: a mutant dies at the same run everywhere, and the whole machine lives through it.
const SEED = 20_240_229;

/** Where a machine dies and by what, or null if it lives. */
function findDeath(machine: Step, judging: Judging): { run: number; by: string } | null {
  const found = fc.check(
    check(machine, judging, () => {}),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  if (!found.failed) return null;
  const cause = found.errorInstance;
  if (!(cause instanceof Violation)) throw new Error("the machine threw", { cause });
  return { run: found.numRuns, by: cause.by };
}

describe("the model run", () => {
  it("finds nothing wrong with the machine as it is", () => {
    expect(findDeath(step, { by: "all" })).toBeNull();
  });

  it.each(MUTANTS)("kills the machine in which $name", ({ name, make }) => {
    const death = findDeath(make(step), { by: "all" });
    expect(death).not.toBeNull();
    console.info(`run ${death?.run}, ${death?.by}: ${name}`);
  });
});

describe("an invariant alone", () => {
  const pairs = MUTANTS.flatMap(({ name, make, seenBy }) => seenBy.map((by) => ({ by, name, make })));

  it.each(pairs)("$by kills the machine in which $name", ({ by, make }) => {
    expect(findDeath(make(step), { by: "invariant", name: by })?.by).toBe(by);
  });

  it.each(INVARIANTS.map(([name]) => name))("%s is broken by some machine", (name) => {
    expect(pairs.map(({ by }) => by)).toContain(name);
  });
});
