/** One shard object, with callers that do nothing but send it entries (`driver.js`). */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { diffCpu, readCpu } from "../process-group.mjs";
import { median, quantile } from "../statistics.mjs";
import { startTarget } from "../targets.mjs";

const CALLERS = 16;
const WARM_UP_SECONDS = 1;
const ANSWER_MS_MAX = 30_000;
const PUBLISHED_MS_MAX = 30_000;
const LOOK_MS = 200;

const ROUTES = [{ id: "bench", match: "/payments", key: "required" }];
const AIM_PER_SECOND = 2_000;
const AIM_ENTRIES_A_ROW = 50;

/** Entries a second that a shard takes. CPU is that of the whole process: callers, who hash their entries, shard and D1. */
export async function measureAppend(run) {
  const shard = await startShard(run);
  await shard.append(WARM_UP_SECONDS);
  const points = [];
  for (let round = 0; round < run.options.rounds; round++) {
    const before = readCpu(shard.pid);
    const { entries, seconds } = await shard.append(run.options.seconds);
    const cpu = diffCpu(before, readCpu(shard.pid)).total / 1_000 / entries;
    points.push({ perSecond: entries / seconds, cpu });
  }
  shard.stop();
  const rates = points.map(({ perSecond }) => perSecond);
  const cpu = median(points.map((point) => point.cpu));
  console.log(
    `\nledger-append: one shard object, ${CALLERS} callers, two entries a call\n` +
      `  ${median(rates).toFixed(0)} entries/s (${quantile(rates, 0.25).toFixed(0)}–${quantile(rates, 0.75).toFixed(0)}), ` +
      `aim ${AIM_PER_SECOND}; ${cpu.toFixed(0)} µs CPU an entry, so ${(1e6 / cpu).toFixed(0)} entries/s of a whole core`,
  );
  return points;
}

/** Rows that D1 says it has written, once everything is published. The table of effects has one of them for every effect. */
export async function measureRows(run) {
  const shard = await startShard(run);
  const { entries } = await shard.append(run.options.seconds);
  const deadline = performance.now() + PUBLISHED_MS_MAX;
  let told = await shard.rows();
  while (told.published < entries && performance.now() < deadline) {
    await sleep(LOOK_MS);
    told = await shard.rows();
  }
  shard.stop();
  if (told.published < entries) throw new Error(`ledger-rows: ${told.published} of ${entries} published`);
  const others = told.rows - told.effects;
  console.log(
    `\nledger-rows: ${entries} entries of ${told.effects} effects, published\n` +
      `  ${told.rows} rows written in D1: one an effect, and one for ${(entries / others).toFixed(0)} entries, ` +
      `aim ${AIM_ENTRIES_A_ROW}`,
  );
  return { entries, ...told };
}

async function startShard(run) {
  const target = {
    driver: fileURLToPath(new URL("driver.js", import.meta.url)),
    routes: ROUTES,
    vars: { LEDGER_SINKS: '["d1"]' },
  };
  const { pid, port, stop } = await startTarget(target, run);
  const ask = async (path, init) => {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`, { ...init, signal });
    if (answer.status !== 200) throw new Error(`the shard's driver answered ${answer.status}`);
    return answer.json();
  };
  return {
    pid,
    stop,
    append: (seconds) =>
      ask("append", { method: "POST", body: JSON.stringify({ callers: CALLERS, seconds }) }),
    rows: () => ask("rows", {}),
  };
}
