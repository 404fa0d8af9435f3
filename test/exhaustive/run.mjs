/**
 * The exhaustive search over the key's state machine: `node test/exhaustive/run.mjs [--states N] [--attempts N] [--case NAME] [--clock "far back"]`. Every case is searched
 * up to its share of N states, or to its end; exit code 1 at the first violation, with the way to it.
 */
import { parseArgs } from "node:util";
import { step } from "../../src/core/step.ts";
import { CASES } from "./cases.ts";
import { searchAll } from "./search.ts";

const { values } = parseArgs({
  options: {
    states: { type: "string", default: "2400000" },
    attempts: { type: "string", default: "2" },
    case: { type: "string", default: "" },
    clock: { type: "string", default: "a little back" },
  },
});
const attemptsMax = Number(values.attempts);
let left = Number(values.states);
const cases = CASES.filter(({ name }) => name.startsWith(values.case));
let total = 0;
const startedAt = performance.now();
for (const [i, about] of cases.entries()) {
  const share = Math.ceil(left / (cases.length - i));
  const caseAt = performance.now();
  const found = searchAll({ step, about, attemptsMax, dispatches: "in-time", clock: values.clock }, share);
  total += found.states;
  left -= found.states;
  const seconds = (performance.now() - caseAt) / 1_000;
  if (found.kind === "broken") {
    process.stdout.write(`${about.name}: ${found.what}\n${found.path.map((name) => `  ${name}\n`).join("")}`);
    process.exit(1);
  }
  const { states, moves, depth, complete } = found;
  const extent = complete ? "complete" : `to depth ${depth}`;
  process.stdout.write(
    `${about.name}: ${states} states, ${moves} moves, ${extent}, ${Math.round(states / seconds)} states/s\n`,
  );
}
const seconds = (performance.now() - startedAt) / 1_000;
process.stdout.write(`${total} states, 0 violations, ${Math.round(total / seconds)} states/s\n`);
