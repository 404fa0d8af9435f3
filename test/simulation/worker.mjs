/**
 * One process of a simulation. It is told what to do in its arguments, as JSON, and answers in lines of JSON on its standard output:
 * `{ job: "run", from, histories, jobs, part }` runs seeds; `{ job: "mutants", names, kept, from, most }` looks for the death of each;
 * `{ job: "show", seed, without, ... }` prints one run; `{ job: "shrink", seed }` makes one small.
 */
import { prepareMutant } from "./load.mjs";
import { MUTANTS } from "./mutants/list.mjs";
import { nextBuildOf } from "./next-build.mjs";

const ANSWER_EVERY = 500;
const VIOLATIONS_MAX = 10;

const [{ openSimulator, emptyTally, count, SHARE }, { shrink }] = await Promise.all([
  import("./simulate.ts"),
  import("./shrink.ts"),
]);
const task = JSON.parse(process.argv[2] ?? "{}");

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function mutantOf(name) {
  const found = MUTANTS.find((mutant) => mutant.name === name);
  if (found === undefined) throw new Error(`no mutant is called ${name}`);
  return found;
}

/** The product, or a mutant of it, and the build that comes after it. */
async function openProduct(name) {
  const mutant = name === null ? null : mutantOf(name);
  const next = nextBuildOf(mutant);
  if (mutant !== null) prepareMutant(mutant);
  prepareMutant(next);
  const load = async (query) => (await import(`./world/deployment.ts${query}`)).deployment;
  const queryOf = ({ name }) => `?mutant=${encodeURIComponent(name)}`;
  return openSimulator(await load(mutant === null ? "" : queryOf(mutant)), await load(queryOf(next)));
}

/** Promises are carried to their end by hand, which works only from outside of any promise. */
function outside(act) {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(act());
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Every `jobs`-th of the kept seeds and of those that follow, beginning with the one of number `part`. */
function* listSeeds({ kept, from, histories, jobs, part }) {
  for (let at = part; at < kept.length + histories; at += jobs)
    yield at < kept.length ? kept[at] : from + at - kept.length;
}

async function runSeeds({ mutant, ...portion }) {
  const simulator = await openProduct(mutant);
  const seeds = listSeeds(portion);
  for (let isOver = false; !isOver; ) {
    const tally = emptyTally();
    await outside(() => {
      while (tally.histories < ANSWER_EVERY && tally.violations.length < VIOLATIONS_MAX) {
        const { done, value } = seeds.next();
        isOver = done === true;
        if (isOver) return;
        count(tally, simulator.run(value));
      }
    });
    say({ kind: "tally", tally });
    if (tally.violations.length >= VIOLATIONS_MAX) return;
  }
}

/** A mutant dies at the first history that is judged wrong. */
async function hunt({ names, most, ...portion }) {
  for (const name of names) {
    const simulator = await openProduct(name);
    const death = await outside(() => {
      let history = 0;
      for (const seed of listSeeds({ ...portion, histories: most, jobs: 1, part: 0 })) {
        history += 1;
        const { violation } = simulator.run(seed);
        if (violation !== null) return { history, seed, ...violation };
      }
      return null;
    });
    say({ kind: "hunted", name, death });
  }
}

async function show({ seed, mutant, without, factor, clients, ledger, isTraced }) {
  const simulator = await openProduct(mutant);
  const damping = { without: new Set(without), factor };
  const share = { clients: clients ?? SHARE.clients, ledger: ledger ?? SHARE.ledger };
  const trace = isTraced ? (text) => process.stdout.write(`${text}\n`) : undefined;
  const { history, violation } = await outside(() => simulator.run(seed, { damping, share, trace }));
  say({
    kind: "shown",
    violation,
    events: history.events,
    digest: history.digest,
    rows: history.rows.length,
  });
}

async function makeSmall({ seed, mutant }) {
  const simulator = await openProduct(mutant);
  const small = await outside(() => shrink(simulator, seed));
  say({
    kind: "small",
    small: small && { ...small, without: [...small.damping.without], factor: small.damping.factor },
  });
}

const JOBS = { run: runSeeds, mutants: hunt, show, shrink: makeSmall };
await JOBS[task.job](task);
