/**
 * `npm run bench -- --memory`: peak resident memory of the gateway's processes above what they held before,
 * (a) while one 5 MiB answer is stored and then replayed, one request at a time, and
 * (b) while 1,000 callers come to wait (`Prefer: wait=5`) for one key whose origin takes 2 s. The gateway
 * bounds how many may wait: the others are refused before the first caller has its answer, not after a wait.
 */
import { Agent, request } from "node:http";
import { readMemory, resetPeak } from "./process-group.mjs";
import { median } from "./statistics.mjs";
import { startTarget } from "./targets.mjs";

const BIG_BYTES = 5 * 1024 * 1024;
const REPLAYS = 5;
const WAITERS = 1_000;
const LEADER_AHEAD_MS = 300;
const TIMEOUT_MS = 20_000;
const ROUTES = [{ id: "bench", match: "/*", key: "required", response_max: "8MiB", wait_max: "10s" }];

/** Prints as it goes; resolves to { answer, waiters }. */
export async function measureMemory(run) {
  if (run.bundle === null) throw new Error("--memory measures the gateway: not with --self");
  return { answer: await measureBigAnswer(run), waiters: await measureWaiters(run) };
}

async function measureBigAnswer(run) {
  const { server, post } = await startGateway(run);
  await post("/warm-up", "warm-up", {});
  const stored = await trackPeak(server, () => postWhole(post, "executed"));
  const replayed = await trackPeak(server, async () => {
    for (let replay = 0; replay < REPLAYS; replay++) await postWhole(post, "replayed");
  });
  server.stop();
  console.log(`\none answer of 5 MiB: peak memory above ${inMb(stored.before)} MB`);
  console.log(`  stored   +${inMb(stored.delta)} MB`);
  console.log(`  replayed +${inMb(replayed.delta)} MB (${REPLAYS} times, above ${inMb(replayed.before)} MB)`);
  return { stored, replayed };
}

async function postWhole(post, mark) {
  const answer = await post("/big", "big", {});
  if (answer.status === 200 && answer.mark === mark && answer.bytes === BIG_BYTES) return;
  throw new Error(`5 MiB: ${answer.status} ${answer.mark} of ${answer.bytes} bytes, not ${mark}`);
}

async function measureWaiters(run) {
  const { server, post } = await startGateway(run);
  await post("/warm-up", "warm-up", {});
  let answers = [];
  const peak = await trackPeak(server, async () => {
    const leader = post("/slow", "slow", {});
    await new Promise((resolve) => setTimeout(resolve, LEADER_AHEAD_MS));
    const waiters = Array.from({ length: WAITERS }, () => post("/slow", "slow", { Prefer: "wait=5" }));
    answers = await Promise.all([leader, ...waiters]);
  });
  server.stop();
  const [leader, ...others] = answers;
  const replayed = others.filter((answer) => answer.status === 200 && answer.mark === "replayed");
  const refused = others.filter((answer) => answer.status === 409);
  const atOnce = refused.filter((answer) => answer.endedAt < leader.endedAt);
  const counts = {
    leader: `${leader.status} ${leader.mark}`,
    replayed: replayed.length,
    refusedAtOnce: atOnce.length,
    refusedLater: refused.length - atOnce.length,
    other: others.length - replayed.length - refused.length,
  };
  console.log(
    `\n${WAITERS} waiters on one key: peak memory +${inMb(peak.delta)} MB above ${inMb(peak.before)} MB`,
  );
  console.log(`  first caller ${counts.leader}`);
  console.log(`  ${counts.replayed} replayed after ${medianMs(replayed)} ms (median)`);
  console.log(`  ${counts.refusedAtOnce} refused (409) at once, after ${medianMs(atOnce)} ms (median)`);
  console.log(`  ${counts.refusedLater} refused (409) later, ${counts.other} other`);
  return { peak, counts };
}

async function startGateway(run) {
  const server = await startTarget({ routes: ROUTES, vars: {} }, run);
  // One connection a request: what is waited for must not hold up what comes after it.
  const agent = new Agent({ keepAlive: false, maxSockets: WAITERS + 10 });
  return { server, post: (path, key, more) => postOnce({ port: server.port, agent, path }, key, more) };
}

async function trackPeak(server, work) {
  resetPeak(server.pid);
  const { now } = readMemory(server.pid);
  await work();
  const { peak } = readMemory(server.pid);
  return { before: now, delta: peak - now };
}

/** Never rejects: a broken connection is an answer of status 0. */
function postOnce({ port, agent, path }, key, more) {
  const headers = {
    Authorization: "Bearer bench",
    "Idempotency-Key": key,
    "Content-Type": "application/json",
    ...more,
  };
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (status, mark, bytes) => {
      const endedAt = performance.now();
      resolve({ status, mark, bytes, endedAt, tookMs: endedAt - started });
    };
    const outgoing = request({
      host: "127.0.0.1",
      port,
      agent,
      path,
      method: "POST",
      headers,
      timeout: TIMEOUT_MS,
    });
    outgoing.on("timeout", () => outgoing.destroy());
    outgoing.on("error", () => end(0, null, 0));
    outgoing.on("response", (response) => {
      let bytes = 0;
      response.on("data", (chunk) => {
        bytes += chunk.length;
      });
      response.on("error", () => end(0, null, bytes));
      response.on("end", () =>
        end(response.statusCode, response.headers["idempotency-status"] ?? null, bytes),
      );
    });
    outgoing.end('{"amount":1299}');
  });
}

function medianMs(answers) {
  return median(answers.map((answer) => answer.tookMs)).toFixed(0);
}

function inMb(bytes) {
  return (bytes / 2 ** 20).toFixed(0);
}
