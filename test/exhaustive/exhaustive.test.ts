// Aim: no order of messages, crashes and times breaks a key. Method: breadth-first search over the real machine; the long form is `npm run exhaustive`.
import { describe, expect, it } from "vitest";
import { step } from "../../src/core/step.ts";
import type { Step } from "../model/history.ts";
import { MUTANTS } from "../model/mutants.ts";
import { CASES } from "./cases.ts";
import { compareSearches } from "./compare.ts";
import { IGNORE } from "./describe.ts";
import type { Case } from "./place.ts";
import { searchPlainly } from "./plain/search.ts";
import { searchReduced } from "./reduced/search.ts";
import type { Found, Search } from "./search.ts";

function searchFor(machine: Step, about: Case, attemptsMax: number): Search {
  return { step: machine, about, attemptsMax, dispatches: "in-time", clock: "a little back" };
}

function find(name: string): Case {
  const about = CASES.find((one) => one.name === name);
  if (about === undefined) throw new Error(`there is no case ${name}`);
  return about;
}

/** Between them they meet every rule: of both executors, both kinds of probe, both rules for a crash. */
const MIXED = [
  find("hold, observe, object then worker"),
  find("retry, seal, object then worker"),
  find("retry, observe, object then worker"),
];
/** More than any case with two attempts has. */
const STATES_MAX = 50_000;

/** Where both attempts run alike is a part of the long form. */
const UNLIKE = CASES.filter(({ name }) => /object then worker|worker then object/.test(name));

describe("two clients and two attempts, to the last state", () => {
  it.each(UNLIKE)("break nothing: $name", (about) => {
    const found = searchReduced(searchFor(step, about, 2), STATES_MAX, IGNORE);
    expect(found).toMatchObject({ kind: "sound", complete: true });
  });
});

describe("an object's clock that steps back by more than a lease, and is set right later", () => {
  it.each(UNLIKE)("breaks nothing that one attempt can meet, to the last state: $name", (about) => {
    const search: Search = { ...searchFor(step, about, 1), clock: "far back" };
    expect(searchReduced(search, 100_000, IGNORE)).toMatchObject({ kind: "sound", complete: true });
  });
});

describe("what a search leaves out", () => {
  it.each([find("hold, seal, object then worker"), find("retry, none, object then object")])(
    "is nothing that anybody could tell apart: $name",
    (about) => {
      const { plain, reduced, lost, extra } = compareSearches(searchFor(step, about, 1), 100_000);
      expect([plain, reduced]).toMatchObject([
        { kind: "sound", complete: true },
        { kind: "sound", complete: true },
      ]);
      expect([lost, extra]).toEqual([[], []]);
    },
  );
});

describe("the search", () => {
  it.each(MUTANTS)("kills the machine in which $name", ({ make }) => {
    const machine = make(step);
    const isDeadly = (clock: Search["clock"]) => (about: Case) =>
      searchReduced({ ...searchFor(machine, about, 2), clock }, 10_000, IGNORE).kind === "broken";
    expect(MIXED.some(isDeadly("a little back")) || MIXED.some(isDeadly("far back"))).toBe(true);
  });

  it.each([
    ["reduced", searchReduced],
    ["plain", searchPlainly],
  ] as const)(
    "finds that an executor which dispatches after its lease may act on a key that was freed: %s",
    (_, search) => {
      const about = find("hold, observe, object then worker");
      const found: Found = search({ ...searchFor(step, about, 1), dispatches: "late" }, 100_000, IGNORE);
      expect(found).toMatchObject({ kind: "broken", by: "I12" });
    },
  );
});
