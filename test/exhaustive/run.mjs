/**
 * The exhaustive search over the key's state machine: `node test/exhaustive/run.mjs [--attempts N] [--states N] [--case NAME] [--how reduced|plain|both]
 * [--clock "far back"]`.
 * Every case is searched to its end, or up to N states; `both` compares what the two ways see, and kills every machine that breaks
 * a rule in both. Exit code 1 at the first violation, with the way to it, or at the first difference.
 */
import { parseArgs } from "node:util";
import { step } from "../../src/core/step.ts";
import { MUTANTS } from "../model/mutants.ts";
import { CASES } from "./cases.ts";
import { compareSearches } from "./compare.ts";
import { IGNORE } from "./describe.ts";
import { searchPlainly } from "./plain/search.ts";
import { searchReduced } from "./reduced/search.ts";

const { values } = parseArgs({
  options: {
    attempts: { type: "string", default: "2" },
    states: { type: "string", default: "4000000" },
    case: { type: "string", default: "" },
    how: { type: "string", default: "reduced" },
    clock: { type: "string", default: "a little back" },
  },
});
const attemptsMax = Number(values.attempts);
const statesMax = Number(values.states);
const cases = CASES.filter(({ name }) => name.startsWith(values.case));
let total = 0;
let searches = 0;
let ended = 0;

for (const about of cases) {
  const startedAt = process.cpuUsage();
  const search = { step, about, attemptsMax, dispatches: "in-time", clock: values.clock };
  if (values.how === "both") {
    const { plain, reduced, seen, lost, extra } = compareSearches(search, statesMax);
    report(`${about.name}, plain`, plain, startedAt);
    report(`${about.name}, reduced`, reduced, startedAt);
    const isSame = lost.length + extra.length === 0;
    const isWhole = plain.complete && reduced.complete;
    process.stdout.write(
      `  seen by both: ${seen}${isSame ? "" : `; lost ${lost.length}, more ${extra.length}`}\n`,
    );
    if (!isSame && isWhole) end([...lost, ...extra].slice(0, 10).join("\n"));
  } else {
    const found = (values.how === "plain" ? searchPlainly : searchReduced)(search, statesMax, IGNORE);
    report(about.name, found, startedAt);
  }
}
process.stdout.write(`${total} states, 0 violations, ${ended} of ${searches} searches to the end\n`);
if (values.how === "both") killAll();

function report(name, found, startedAt) {
  const { user, system } = process.cpuUsage(startedAt);
  if (found.kind === "broken")
    end(`${name}: ${found.what}\n${found.path.map((move) => `  ${move}\n`).join("")}`);
  const { states, moves, depth, complete } = found;
  total += states;
  searches += 1;
  ended += complete ? 1 : 0;
  const extent = complete ? "to the end" : "not to the end";
  const seconds = ((user + system) / 1e6).toFixed(1);
  process.stdout.write(
    `${name}: ${states} states, ${moves} moves, depth ${depth}, ${extent}, ${seconds} s of CPU\n`,
  );
}

/** Each machine that breaks a rule, in the first case that shows it either way. */
function killAll() {
  for (const { name, make } of MUTANTS) {
    const [plain, reduced] = [searchPlainly, searchReduced].map((how) => findDeadly(make(step), how));
    if (plain === null || reduced === null) end(`${name}: is not killed`);
    process.stdout.write(`${name}: plain by ${plain}, reduced by ${reduced}\n`);
  }
  process.stdout.write(`${MUTANTS.length} of ${MUTANTS.length} killed both ways\n`);
}

function findDeadly(machine, how) {
  for (const clock of ["a little back", "far back"]) {
    for (const about of CASES) {
      const search = { step: machine, about, attemptsMax: 2, dispatches: "in-time", clock };
      const found = how(search, 10_000, IGNORE);
      if (found.kind === "broken") return found.by;
    }
  }
  return null;
}

function end(text) {
  process.stdout.write(`${text}\n`);
  process.exit(1);
}
