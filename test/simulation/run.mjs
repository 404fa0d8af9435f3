/** `npm run simulate`: many histories of the whole protocol, a verdict, and what they have been through. Exit code 0 only if all was right. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { MUTANTS } from "./mutants/list.mjs";
import { writeTable } from "./mutants/table.mjs";
import { runTask } from "./pool.mjs";
import { listShortfalls } from "./quotas.mjs";

const USAGE = `npm run simulate -- [options]
  --histories N   how many (50000)
  --seed S        the first of them; each has the number after the one before (from the clock; printed)
  --jobs N        processes (one a core, at most 8)
  --trace         prints every event; for one history
  --without A,B   leaves faults out
  --factor F      makes all faults rarer (1)
  --clients N     at most so many clients
  --ledger F      share of histories with a ledger
  --shrink        makes a failing seed small
  --mutant NAME   runs a mutant instead of the product
  --mutants       looks for the death of every mutant, in up to --histories each (20000)
  --only A,B      only these mutants
  --write         writes what became of them into the table in test/README.md`;

const OPTIONS = {
  histories: { type: "string" },
  seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  jobs: { type: "string", default: String(Math.min(8, availableParallelism())) },
  trace: { type: "boolean", default: false },
  without: { type: "string", default: "" },
  factor: { type: "string", default: "1" },
  clients: { type: "string" },
  ledger: { type: "string" },
  shrink: { type: "boolean", default: false },
  mutant: { type: "string" },
  mutants: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  write: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};

function readNumber(name, text, least, most) {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new Error(`--${name}: "${text}" is not a number from ${least} to ${most}`);
}

function readOptions() {
  const { values } = parseArgs({ args: process.argv.slice(2), options: OPTIONS });
  return {
    ...values,
    histories: readNumber(
      "histories",
      values.histories ?? (values.mutants ? "20000" : "50000"),
      1,
      100_000_000,
    ),
    seed: readNumber("seed", values.seed, 0, 4_294_967_295),
    jobs: readNumber("jobs", values.jobs, 1, 64),
    factor: readNumber("factor", values.factor, 0, 1),
    without: values.without.split(",").filter((name) => name !== ""),
    only: values.only.split(",").filter((name) => name !== ""),
    clients: values.clients === undefined ? null : readNumber("clients", values.clients, 1, 8),
    ledger: values.ledger === undefined ? null : readNumber("ledger", values.ledger, 0, 1),
    mutant: values.mutant ?? null,
  };
}

/** Seeds that failed once: they are run first. */
const KEPT = JSON.parse(readFileSync(new URL("seeds.json", import.meta.url), "utf8")).map(({ seed }) => seed);

async function runMany(options) {
  const { emptyTally, add } = await import("./simulate.ts");
  const total = emptyTally();
  const begun = performance.now();
  let shown = begun;
  const { seed: from, histories, jobs, mutant } = options;
  await Promise.all(
    Array.from({ length: jobs }, (_, part) =>
      runTask({ job: "run", kept: KEPT, from, histories, jobs, part, mutant }, ({ tally }) => {
        add(total, tally);
        for (const violation of tally.violations) tell(violation);
        if (performance.now() - shown < 10_000) return;
        shown = performance.now();
        process.stdout.write(`${total.histories} histories, ${total.violations.length} violations\n`);
      }),
    ),
  );
  return { total, seconds: (performance.now() - begun) / 1_000 };
}

function tell({ seed, invariant, text }) {
  process.stdout.write(
    `seed ${seed}: ${invariant}: ${text}\n  npm run simulate -- --histories 1 --seed ${seed} --trace\n`,
  );
}

function describe({ total, seconds }) {
  const per = (count) => (count / total.histories).toFixed(1);
  const rate = Math.round(total.histories / seconds);
  const lines = [
    `${total.histories} histories in ${seconds.toFixed(1)} s (${rate} a second), ${total.violations.length} violations`,
    `a history: ${per(total.events)} events, ${per(total.calls)} calls, ${per(total.finals)} answered for good`,
    `${total.ledgers} with a ledger, ${total.databases} with a database; digest ${total.digest >>> 0}`,
    "",
    ...Object.entries(total.marks)
      .toSorted(([, a], [, b]) => a - b)
      .map(([mark, times]) => `  ${String(times).padStart(9)}  ${mark}`),
  ];
  return lines.join("\n");
}

async function simulate(options) {
  process.stdout.write(`seed ${options.seed}, ${options.histories} histories, ${options.jobs} processes\n`);
  const run = await runMany(options);
  process.stdout.write(`\n${describe(run)}\n`);
  const shortfalls = listShortfalls(run.total);
  for (const shortfall of shortfalls) process.stdout.write(`too rare: ${shortfall}\n`);
  return run.total.violations.length === 0 && shortfalls.length === 0;
}

async function hunt(options) {
  const wanted = MUTANTS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const deaths = new Map();
  const portions = Array.from({ length: options.jobs }, (_, i) =>
    wanted.filter((_, at) => at % options.jobs === i),
  );
  await Promise.all(
    portions.map((portion) => {
      const names = portion.map(({ name }) => name);
      return runTask(
        { job: "mutants", names, kept: [], from: options.seed, most: options.histories },
        ({ name, death }) => {
          deaths.set(name, death);
          const how =
            death === null
              ? "LIVES"
              : `${death.history}, seed ${death.seed}, ${death.invariant}: ${death.text}`;
          process.stdout.write(`${name}: ${how}\n`);
        },
      );
    }),
  );
  if (options.write) writeTable(deaths, options);
  const living = wanted.filter(({ name }) => deaths.get(name) === null);
  process.stdout.write(`\n${wanted.length - living.length} of ${wanted.length} mutants dead\n`);
  return living.length === 0;
}

async function look(options) {
  const { seed, mutant, without, factor, clients, ledger, trace } = options;
  const task = {
    job: options.shrink ? "shrink" : "show",
    seed,
    mutant,
    without,
    factor,
    clients,
    ledger,
    isTraced: trace,
  };
  let isRight = true;
  await runTask(
    task,
    (message) => {
      if (message.kind === "shown") {
        const { violation, events, digest } = message;
        process.stdout.write(`seed ${seed}: ${events} events, digest ${digest >>> 0}\n`);
        process.stdout.write(
          violation === null ? "nothing is wrong\n" : `${violation.invariant}: ${violation.text}\n`,
        );
        isRight = violation === null;
      }
      if (message.kind === "small") process.stdout.write(`${describeSmall(seed, mutant, message.small)}\n`);
    },
    (line) => process.stdout.write(`${line}\n`),
  );
  return isRight;
}

function describeSmall(seed, mutant, small) {
  if (small === null) return `seed ${seed} does not fail`;
  const { without, factor, share } = small;
  const of = mutant === null ? "" : ` --mutant "${mutant}"`;
  return `npm run simulate -- --histories 1 --seed ${seed}${of} --clients ${share.clients} --ledger ${share.ledger} --factor ${factor} --without "${without.join(",")}" --trace`;
}

async function main() {
  const options = readOptions();
  if (options.help) return process.stdout.write(`${USAGE}\n`);
  const act = options.mutants ? hunt : options.histories === 1 ? look : simulate;
  process.exitCode = (await act(options)) ? 0 : 1;
}

await main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
