/**
 * `npm run bench`: what the gateway costs, as a multiple of the least that any Worker doing this must cost.
 *
 * Each row sends the same requests to the gateway (the bundle that `wrangler deploy` uploads) and to a floor
 * (a minimal Worker from `floors/`). Each server is a miniflare process with its own workerd on a direct
 * socket, all of the same binary, with its storage in memory (/dev/shm); the origin and the load generator
 * are processes of their own and are not counted. A request is a POST of 110 bytes, its answer has 111.
 *
 * - CPU per request: run time of all the server's processes, kernel time included, over the requests answered
 *   between the first and the last of a point. "later" is what the server still spends in the second after,
 *   per request: work put off until after the answer, and what merely being there costs.
 * - Ratio: gateway over floor within one round, median of the rounds (quartiles). Other load on the machine
 *   moves both sides of a round alike, so ratios can be compared across runs and microseconds cannot. Rows,
 *   and the two sides of a row, take turns in an order shuffled anew each round.
 * - Wall: closed loop, so latency is that of a server kept busy by so many connections.
 * - New keys: few a point, and 12 s of rest between two points of a process. Each object that is still in
 *   memory makes the next new one dearer, and would do so to whichever side had been faster.
 * - Replay from the object: on a route with `audit = "durable"`, which turns the isolate's cache off. Such a
 *   replay also records itself; the floor's does not.
 * - Noted replays: with `audit = "eager"` and the ledger in D1, each replay from the isolate's memory is told to its key's object after the
 *   answer, and by that to the ledger. The floor notes it in the object and keeps no ledger. Here what is spent later counts.
 * - Every answer's status and Idempotency-Status is checked; one wrong answer fails the run.
 *
 * Rows of the ledger (`ledger/`) have no floor: each prints its own figures and their aim.
 *
 * `--self` puts the floors on both sides. `--memory` measures memory instead (`memory.mjs`). Linux only.
 */
import { writeFileSync } from "node:fs";
import { startChild, stopChildren, stopChildrenAtExit } from "./children.mjs";
import { LEDGER_ROWS } from "./ledger/rows.mjs";
import { measureRound, prepareRow } from "./measure.mjs";
import { measureMemory } from "./memory.mjs";
import { parseOptions, USAGE } from "./options.mjs";
import { describeMachine, printMachine, printTable, summarise } from "./report.mjs";
import { ROWS, SELF_ROWS } from "./rows.mjs";
import { seedRandom, shuffle } from "./statistics.mjs";
import { buildGateway } from "./targets.mjs";

async function main(options) {
  const machine = describeMachine();
  printMachine(machine);
  const bundle = options.self ? null : buildGateway();
  const origin = await startChild("origin.mjs");
  const run = { options, bundle, originPort: origin.port, random: seedRandom(options.seed) };
  const results = options.memory ? await measureMemory(run) : await measureAll(run);
  if (options.json !== null) {
    writeFileSync(options.json, `${JSON.stringify({ machine, options, results }, null, 2)}\n`);
  }
}

/** The table, then what of the ledger was asked for. */
async function measureAll(run) {
  const ledgerRows = LEDGER_ROWS.filter((row) => run.options.rows.includes(row.id));
  const isTable = ledgerRows.length < run.options.rows.length;
  const results = isTable ? await measureRows(run) : [];
  for (const { id, measure } of ledgerRows) results.push({ id, found: await measure(run) });
  return results;
}

async function measureRows(run) {
  const { rounds, seconds, connections, seed } = run.options;
  const sides = run.options.self ? "the floors on both sides, " : "";
  console.log(`${sides}${rounds} rounds, ${seconds} s a point, ${connections} connections, seed ${seed}\n`);
  run.load = await startChild("load.mjs");
  const chosen = (run.options.self ? SELF_ROWS : ROWS).filter((row) => run.options.rows.includes(row.id));
  const prepared = [];
  for (const row of chosen) prepared.push({ ...(await prepareRow(row, run)), rounds: [] });
  for (let round = 0; round < rounds; round++) {
    console.error(`round ${round + 1} of ${rounds}`);
    for (const each of shuffle(prepared, run.random)) each.rounds.push(await measureRound(each, run));
  }
  const summaries = prepared.map(({ row, rounds: points }) => summarise(row, points));
  printTable(summaries);
  return summaries;
}

stopChildrenAtExit();
try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) console.log(USAGE);
  else await main(options);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  stopChildren();
}
