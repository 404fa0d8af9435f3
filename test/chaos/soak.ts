/** Bounded load for a while, and whether memory, descriptors and rows come back to what they were. */
import { readdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { listObjectFiles, readRows } from "../support/object-store.ts";
import type { Operation } from "./history.ts";
import { type ChaosStage, withStage } from "./stage.ts";

const CALLERS = 4;
const CALLS_A_KEY = 3;
const SAMPLE_MS = 1_000;
/** Objects leave memory after some ten seconds without a call; their keys are free long before. */
const REST_MS = 25_000;
/** A runtime at rest may keep a few more than before its first request. */
const DESCRIPTORS_MORE_MAX = 40;
/** From the middle of the load to its end. */
const GROWTH_MAX = 1.5;

/** `at`: seconds since the start. `megabytes`: resident. */
export type Sample = { at: number; megabytes: number; descriptors: number };

export type SoakRun = {
  seconds: number;
  operations: number;
  calls: number;
  samples: Sample[];
  /** Before the load, and after the rest that follows it. */
  first: Sample;
  last: Sample;
  /** Of the second half of the load: megabytes, and descriptors, a minute. */
  slopes: { megabytes: number; descriptors: number };
  /** Rows that key objects still hold, at the end. */
  rowsLeft: number;
  failures: string[];
};

export async function runSoak(seconds: number): Promise<SoakRun> {
  return withStage(async (stage) => {
    const { gateway, caller, recorder, store } = stage;
    await gateway.start("product");
    caller.connectTo(gateway.port);
    const beganAt = performance.now();
    const first = await takeSample(gateway.pid, beganAt);
    const samples = await load(stage, beganAt, seconds);
    await sleep(REST_MS);
    const last = await takeSample(gateway.pid, beganAt);
    await gateway.kill();
    const rowsLeft = await countRows(store);
    const half = samples.slice(Math.floor(samples.length / 2));
    const slopes = {
      megabytes: slopeOf(half.map(({ at, megabytes }) => [at, megabytes])),
      descriptors: slopeOf(half.map(({ at, descriptors }) => [at, descriptors])),
    };
    const calls = recorder.history.facts.filter(({ kind }) => kind === "told").length;
    const { length: operations } = recorder.history.operations;
    const run = { seconds, operations, calls, samples, first, last, slopes, rowsLeft };
    await rm(dirname(store), { recursive: true, force: true });
    return { ...run, failures: judge(run, half) };
  });
}

/** New keys whose windows are short, each called a few times, as fast as a few callers can. */
async function load({ gateway, caller, recorder }: ChaosStage, beganAt: number, seconds: number) {
  const endsAt = beganAt + seconds * 1_000;
  let made = 0;
  const serve = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      made += 1;
      const operation = makeOperation(made);
      recorder.add([operation]);
      for (let call = 1; call <= CALLS_A_KEY; call += 1) {
        await caller.call(operation, call === 1 ? "first" : "duplicate");
      }
    }
  };
  const samples: Sample[] = [];
  const watch = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await sleep(SAMPLE_MS);
      samples.push(await takeSample(gateway.pid, beganAt));
    }
  };
  await Promise.all([watch(), ...Array.from({ length: CALLERS }, serve)]);
  return samples;
}

function makeOperation(n: number): Operation {
  const executor = n % 2 === 0 ? "object" : "worker";
  return { key: `soak-${n}`, executor, crashRule: "hold", point: "answer-given", kill: 0, isBrief: true };
}

async function takeSample(pid: number | null, beganAt: number): Promise<Sample> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kilobytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
  const { length: descriptors } = await readdir(`/proc/${pid}/fd`);
  return { at: (performance.now() - beganAt) / 1_000, megabytes: kilobytes / 1_024, descriptors };
}

async function countRows(store: string): Promise<number> {
  const files = await listObjectFiles(store, "KeyObject");
  return files.reduce((sum, file) => sum + readRows(file).length, 0);
}

/** Least squares, a minute. */
function slopeOf(points: readonly (readonly [seconds: number, value: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length;
  const at = mean(points.map(([seconds]) => seconds));
  const level = mean(points.map(([, value]) => value));
  const above = points.reduce((sum, [seconds, value]) => sum + (seconds - at) * (value - level), 0);
  const below = points.reduce((sum, [seconds]) => sum + (seconds - at) ** 2, 0);
  return below === 0 ? 0 : (60 * above) / below;
}

function judge({ first, last, rowsLeft }: Omit<SoakRun, "failures">, half: readonly Sample[]): string[] {
  const [middle, end] = [half[0]?.megabytes ?? 0, half.at(-1)?.megabytes ?? 0];
  return [
    ...(end > middle * GROWTH_MAX ? [`memory grew from ${middle} to ${end} MB in the second half`] : []),
    ...(last.descriptors > first.descriptors + DESCRIPTORS_MORE_MAX
      ? [`${last.descriptors} descriptors are left of ${first.descriptors}`]
      : []),
    ...(rowsLeft > 0 ? [`${rowsLeft} rows are left`] : []),
  ];
}

export function describeSoak(run: SoakRun): string {
  const { seconds, operations, calls, samples, first, last, slopes, rowsLeft, failures } = run;
  const most = (pick: (sample: Sample) => number): number => Math.max(...samples.map(pick));
  const line = (name: string, pick: (sample: Sample) => number, slope: number): string =>
    `${name}: ${Math.round(pick(first))} before, ${Math.round(most(pick))} at most, ${Math.round(pick(last))} at rest, ` +
    `${slope.toFixed(1)} a minute in the second half`;
  return [
    `soak: ${seconds} s, ${operations} keys, ${calls} answers`,
    line("megabytes", ({ megabytes }) => megabytes, slopes.megabytes),
    line("descriptors", ({ descriptors }) => descriptors, slopes.descriptors),
    `rows of keys left: ${rowsLeft}`,
    ...failures.map((text) => `FAILED ${text}`),
    `verdict: ${failures.length === 0 ? "everything came back" : "FAILED"}`,
  ].join("\n");
}
