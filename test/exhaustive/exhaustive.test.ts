// Aim: no order of messages, crashes and times breaks a key. Method: breadth-first search over the real machine; the long form is `npm run exhaustive`.
import { describe, expect, it } from "vitest";
import { step } from "../../src/core/step.ts";
import type { Step } from "../model/history.ts";
import { MUTANTS } from "../model/mutants.ts";
import { CASES } from "./cases.ts";
import { type Found, searchAll } from "./search.ts";

/** Attempts of a life that has one only are the same under both rules for a crash. */
const HELD = CASES.filter(({ name }) => /^hold.*object then worker$/.test(name));
/** Between them they meet every rule: of both executors, both kinds of probe, both rules for a crash. */
const MIXED = CASES.filter(({ name }) => /^(hold, observe|retry, seal), object then worker$/.test(name));

function search(machine: Step, about: (typeof CASES)[number], attemptsMax: number, statesMax: number): Found {
  return searchAll({ step: machine, about, attemptsMax, dispatches: "in-time" }, statesMax);
}

describe("one attempt, to the last state", () => {
  it.each(HELD)("breaks nothing: $name", (about) => {
    expect(search(step, about, 1, 100_000)).toMatchObject({ kind: "sound", complete: true });
  });
});

describe("three attempts, as far as a short run goes", () => {
  it.each(CASES)("break nothing: $name", (about) => {
    expect(search(step, about, 3, 700)).toMatchObject({ kind: "sound" });
  });
});

describe("the search", () => {
  it.each(MUTANTS)("kills the machine in which $name", ({ make }) => {
    const isDeadly = (about: (typeof CASES)[number]) =>
      search(make(step), about, 2, 10_000).kind === "broken";
    expect(MIXED.some(isDeadly)).toBe(true);
  });

  it("finds that an executor which dispatches after its lease may act on a key that was freed", () => {
    const about = CASES.find(({ name }) => name === "hold, observe, object then worker");
    if (about === undefined) throw new Error("there is no such case");
    const found = searchAll({ step, about, attemptsMax: 1, dispatches: "late" }, 100_000);
    expect(found).toMatchObject({ kind: "broken", by: "I12" });
  });
});
