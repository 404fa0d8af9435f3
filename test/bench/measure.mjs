/** Measures one row: a floor and the gateway, each in a process of its own, one point at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { diffCpu, readCpu } from "./process-group.mjs";
import { shuffle } from "./statistics.mjs";
import { startTarget } from "./targets.mjs";

const WARM_UP_SECONDS = 1.5;
const LEAD_IN_SECONDS = 0.3;
const LEAD_IN_FRESH = 40;
const LATER_MS = 1_000;
/**
 * workerd lets go of an object 10 s after its last request, and objects that it holds make new ones dearer.
 */
const REST_MS = 12_000;
/** Three file descriptors an object: far below any limit, and few enough not to be felt within the point. */
const FRESH_KEYS_MAX = 1_500;
const REQUESTS_MAX = 60_000;
const ANSWER_MS_MAX = 30_000;

/** Starts both servers of a row, stores the answers that it replays and lets the compilers see the code. */
export async function prepareRow(row, run) {
  const gateway = row.routes === null ? { floor: row.floor } : { routes: row.routes, vars: row.vars ?? {} };
  const sides = [
    { name: "floor", target: { floor: row.floor }, expect: { status: 200, mark: null } },
    {
      name: "gateway",
      target: gateway,
      expect: row.routes === null ? { status: 200, mark: null } : row.expect,
    },
  ];
  for (const side of sides) {
    side.server = await startTarget(side.target, run);
    if (row.load.mode === "cycle") await primeKeys(row, side, run);
    await runLoad(row, side, run, { seconds: WARM_UP_SECONDS });
    side.usedAt = performance.now();
  }
  return { row, sides };
}

/** One point for each side, in either order: { floor: point, gateway: point }. */
export async function measureRound({ row, sides }, run) {
  const points = {};
  for (const side of shuffle(sides, run.random)) points[side.name] = await measurePoint(row, side, run);
  return points;
}

async function measurePoint(row, side, run) {
  if (row.load.mode === "fresh") await sleep(Math.max(0, side.usedAt + REST_MS - performance.now()));
  await leadIn(row, side, run);
  const before = readCpu(side.server.pid);
  const result = await runLoad(row, side, run, { seconds: run.options.seconds });
  const after = readCpu(side.server.pid);
  side.usedAt = performance.now();
  await sleep(LATER_MS);
  const spent = diffCpu(before, after);
  const later = diffCpu(after, readCpu(side.server.pid));
  const perRequest = (nanoseconds) => nanoseconds / 1_000 / result.completed;
  return {
    requests: result.completed,
    perSecond: result.completed / result.seconds,
    cpu: perRequest(spent.total),
    cpuWorkerd: perRequest(spent.workerd),
    cpuLater: perRequest(later.total),
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

/** Objects that were let go since the last point come back here, outside the count. */
async function leadIn(row, side, run) {
  if (row.load.mode === "fresh") await runLoad(row, side, run, { seconds: 5, requests: LEAD_IN_FRESH });
  else await runLoad(row, side, run, { seconds: 5, requests: row.load.keys });
  if (row.load.mode !== "fresh") await runLoad(row, side, run, { seconds: LEAD_IN_SECONDS });
}

/** One request a key, so that no two meet. */
async function primeKeys(row, side, run) {
  const first = { status: 200, mark: null };
  const job = { ...row.load, connections: Math.min(run.options.connections, row.load.keys), expect: first };
  const requests = row.load.keys;
  await askLoad(
    run,
    { ...job, port: side.server.port, seconds: 20, requests },
    `${row.id}, ${side.name}, first use`,
  );
}

function runLoad(row, side, run, { seconds, requests }) {
  const bound = row.load.mode === "fresh" ? FRESH_KEYS_MAX : REQUESTS_MAX;
  const job = {
    ...row.load,
    body: row.measuredBody ?? row.load.body,
    port: side.server.port,
    connections: run.options.connections,
    seconds,
    requests: requests ?? bound,
    expect: side.expect,
  };
  return askLoad(run, job, `${row.id}, ${side.name}`);
}

/** A cheap wrong answer would pass for a fast one: any of them fails the run. */
async function askLoad(run, job, what) {
  const result = await run.load.ask(job, job.seconds * 1_000 + ANSWER_MS_MAX);
  const wanted = `${job.expect.status} ${job.expect.mark ?? ""}`;
  if (result.errors > 0) throw new Error(`${what}: ${result.errors} connections broke off`);
  if (result.wrong > 0)
    throw new Error(`${what}: ${result.wrong} answers were not ${wanted}: ${result.sample}`);
  if (result.completed === 0) throw new Error(`${what}: no request was answered`);
  return result;
}
