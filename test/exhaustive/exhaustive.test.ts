// Aim: no order of messages, crashes and times breaks a key. Method: breadth-first search over the real machine; the long form is `npm run exhaustive`.
import { describe, expect, it } from "vitest";
import { step } from "../../src/core/step.ts";
import type { Step } from "../model/history.ts";
import { MUTANTS } from "../model/mutants.ts";
import { CASES } from "./cases.ts";
import type { Search } from "./moves.ts";
import type { Case } from "./place.ts";
import { type Found, searchAll } from "./search.ts";

/** Attempts of a life that has one only are the same under both rules for a crash. */
const HELD = CASES.filter(({ name }) => /^hold.*object then worker$/.test(name));
/** Between them they meet every rule: of both executors, both kinds of probe, both rules for a crash. */
const MIXED = CASES.filter(({ name }) => /^(hold, observe|retry, seal), object then worker$/.test(name));

const IN_TIME = { step, dispatches: "in-time", clock: "a little back" } as const;

function search(machine: Step, about: Case, attemptsMax: number, statesMax: number): Found {
  return searchAll({ ...IN_TIME, step: machine, about, attemptsMax }, statesMax);
}

function caseOf(name: string): Case {
  const about = CASES.find((one) => one.name === name);
  if (about === undefined) throw new Error(`there is no case ${name}`);
  return about;
}

describe("one attempt, to the last state", () => {
  it.each(HELD)("breaks nothing: $name", (about) => {
    expect(search(step, about, 1, 100_000)).toMatchObject({ kind: "sound", complete: true });
  });
});

describe("an object's clock that steps back by more than a lease, and is set right later", () => {
  it("breaks nothing, as far as a short run goes, where a probe that has seen nothing is believed", () => {
    const about = caseOf("hold, observe, object then worker");
    const found = searchAll({ ...IN_TIME, about, attemptsMax: 1, clock: "far back" }, 15_000);
    expect(found).toMatchObject({ kind: "sound" });
  });
});

describe("three attempts, as far as a short run goes", () => {
  it.each(CASES)("break nothing: $name", (about) => {
    expect(search(step, about, 3, 700)).toMatchObject({ kind: "sound" });
  });
});

describe("the search", () => {
  it.each(MUTANTS)("kills the machine in which $name", ({ make }) => {
    const machine = make(step);
    const isDeadly = (clock: Search["clock"]) => (about: Case) =>
      searchAll({ ...IN_TIME, step: machine, about, attemptsMax: 2, clock }, 10_000).kind === "broken";
    expect(MIXED.some(isDeadly("a little back")) || MIXED.some(isDeadly("far back"))).toBe(true);
  });

  it("finds that an executor which dispatches after its lease may act on a key that was freed", () => {
    const about = caseOf("hold, observe, object then worker");
    const found = searchAll({ ...IN_TIME, about, attemptsMax: 1, dispatches: "late" }, 100_000);
    expect(found).toMatchObject({ kind: "broken", by: "I12" });
  });
});
