import * as fc from "fast-check";
import { expect, it } from "vitest";
import { step } from "../../src/core/step.ts";
import type { Row } from "./history.ts";
import { stateOf } from "./reference.ts";
import { check } from "./run.ts";

const RUNS = 15_000;
/** Fewer of one kind than this would mean that a rule was hardly tried. */
const SEEN_MIN = 20;

const STATES = ["absent", "in-flight", "unknown", "settled", "released"];
const EVENTS = [
  ...["begin", "renew", "settle", "report", "release", "orphan", "probed", "resolve", "acknowledge", "tick"],
];
const ANSWERS = [
  ...[
    "run",
    "replay",
    "authorize",
    "mismatch",
    "in-flight",
    "expired",
    "unknown",
    "done",
    "lapsed",
    "fenced",
  ],
  ...["proposed", "stale"],
];
const ENTRIES = [
  "granted",
  "settled",
  "released",
  "unknown",
  "fenced",
  "late",
  "contradiction",
  "proposed",
  "purged",
];

/** What one event was, in the terms that have to be covered. The state is the one before it. */
function marksOf({ expected, event, answer, entries, before, after }: Row): string[] {
  const isNewLife = before.state !== "absent" && after.state !== "absent" && before.inc !== after.inc;
  return [
    `${event.do} in ${stateOf(expected)}`,
    `answer ${answer.kind}`,
    ...entries.map(({ type }) => `entry ${type}`),
    ...(answer.kind === "run" && answer.repeated ? ["the same grant again"] : []),
    ...(after.state !== "absent" && after.n > 1 ? ["a later attempt"] : []),
    ...(isNewLife ? ["a new life on an old record"] : []),
    ...(event.do === "settle" && before.state === "unknown" && answer.kind === "done"
      ? ["a late settle"]
      : []),
  ];
}

/** Nobody can acknowledge a stream of a key that has none. */
const NEEDED = [
  ...STATES.flatMap((state) => EVENTS.map((event) => `${event} in ${state}`)).filter(
    (mark) => mark !== "acknowledge in absent",
  ),
  ...ANSWERS.map((answer) => `answer ${answer}`),
  ...ENTRIES.map((entry) => `entry ${entry}`),
  ...["the same grant again", "a later attempt", "a new life on an old record", "a late settle"],
];

it("a key does what the reference model says and breaks no invariant, and every rule is tried", () => {
  const seen = new Map<string, number>();
  const property = check(step, { by: "all" }, ({ history }) => {
    for (const mark of history.rows.flatMap(marksOf)) seen.set(mark, (seen.get(mark) ?? 0) + 1);
  });
  const failure = fc.check(property, { numRuns: RUNS });
  if (failure.failed) throw new Error(fc.defaultReportMessage(failure), { cause: failure.errorInstance });
  expect(NEEDED.filter((mark) => (seen.get(mark) ?? 0) < SEEN_MIN)).toEqual([]);
});
