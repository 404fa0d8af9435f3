/** `npm run chaos`: many kills, pauses, a full disk, a table, a verdict. Exit code 0 only if every promise was kept. */
import { parseArgs } from "node:util";
import { runFullDisk } from "./full-disk.ts";
import { POINT_NAMES } from "./points.ts";
import { describeRun, listShortfalls } from "./report.ts";
import { runChaos } from "./run-chaos.ts";
import { describeSoak, runSoak } from "./soak/run-soak.ts";

const USAGE = `npm run chaos -- [options]
  --kills N          1 to 5000 (1500)
  --mix WHICH        long: even over the crash points; short: as in npm test (long)
  --seed N           where and when each kill falls (from the clock; printed)
  --executor WHICH   object, worker or both (both)
  --point NAME       only kills of this point (all of them)
  --lanes N          gateways that are killed at the same time, each on a store of its own, 1 to 8 (2)
  --pauses N         times that the gateway is stopped for longer than a lease, 0 to 50 (8)
  --verbose          a line for every kill
  --soak SECONDS     instead of all that: load, and what is left of it; 10 to 86400
  --leak             with --soak, of a Worker that keeps something of every request: has to fail`;
const EXECUTORS = { object: ["object"], worker: ["worker"], both: ["object", "worker"] };
const MIXES = ["long", "short"];
/** A kill, with its restart and its retries, takes half a second; a machine that needs much more is too slow to aim on. */
const KILL_MS_MAX = 5_000;
const KILLS_PER_LINE = 50;

function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      kills: { type: "string", default: "1500" },
      mix: { type: "string", default: "long" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      executor: { type: "string", default: "both" },
      point: { type: "string" },
      lanes: { type: "string", default: "2" },
      pauses: { type: "string", default: "8" },
      soak: { type: "string" },
      leak: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return { kind: "help" };
  if (values.soak !== undefined)
    return { kind: "soak", seconds: readNumber("soak", values.soak, 10, 86_400), isLeaky: values.leak };
  const { mix, verbose } = values;
  const executors = Object.hasOwn(EXECUTORS, values.executor) ? EXECUTORS[values.executor] : null;
  if (executors === null) throw new Error(`--executor: "${values.executor}" is not object, worker or both`);
  if (!MIXES.includes(mix)) throw new Error(`--mix: "${mix}" is not long or short`);
  const kills = readNumber("kills", values.kills, 1, 5_000);
  const seed = readNumber("seed", values.seed, 0, 4_294_967_295);
  const { point } = values;
  if (point !== undefined && !POINT_NAMES.includes(point))
    throw new Error(`--point: "${point}" is none of ${POINT_NAMES.join(", ")}`);
  const points = point === undefined ? POINT_NAMES : [point];
  const pauses = readNumber("pauses", values.pauses, 0, 50);
  const lanes = readNumber("lanes", values.lanes, 1, 8);
  return { kind: "run", kills, mix, seed, executors, points, lanes, pauses, verbose };
}

function readNumber(name, text, least, most) {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`--${name}: "${text}" is not a whole number from ${least} to ${most}`);
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.kind === "help") return process.stdout.write(`${USAGE}\n`);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  if (options.kind === "soak") return soak(options);
  const { seed, kills, mix, executors, points, lanes, pauses, verbose } = options;
  process.stdout.write(`seed ${seed}, ${kills} kills, ${mix} mix, executor ${executors.join(" and ")}\n`);
  const run = await runChaos({
    ...{ kills, mix, seed, executors, points, lanes, pauses },
    msMax: kills * KILL_MS_MAX,
    stop: stop.signal,
    onKill(kill, { point, executor, crashRule, delayMs }, hit) {
      const aim = `${point} ${executor} ${crashRule} +${delayMs} ms`;
      if (verbose || !hit || kill % KILLS_PER_LINE === 0)
        process.stdout.write(`kill ${kill}: ${aim}${hit ? "" : " (missed)"}\n`);
    },
  });
  process.stdout.write(`\n${describeRun(run)}\n`);
  const isDiskGood = await fillDisk();
  process.exitCode = run.violations.length === 0 && listShortfalls(run).length === 0 && isDiskGood ? 0 : 1;
}

async function fillDisk() {
  const run = await runFullDisk();
  if (run === null) {
    process.stdout.write("full disk: not tried, since no file system could be mounted\n");
    return true;
  }
  for (const { rule, key, text } of run.violations)
    process.stdout.write(`VIOLATION ${rule} ${key}: ${text}\n`);
  const verdict = run.violations.length === 0 ? "every promise was kept" : "FAILED";
  process.stdout.write(
    `full disk: ${run.keys} keys, ${run.refused} calls refused while it was full: ${verdict}\n`,
  );
  return run.violations.length === 0;
}

async function soak(options) {
  const run = await runSoak(options);
  process.stdout.write(`${describeSoak(run)}\n`);
  process.exitCode = run.failures.length === 0 ? 0 : 1;
}

await main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  process.exitCode = 1;
});
