/**
 * Bounded load for a while, and whether memory, descriptors and rows come back to what they were: a warm-up and a rest, the rest of the
 * load and another rest, and what the second rest has that the first one had not.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "../../support/client.ts";
import { OPERATORS } from "../../support/gateway.ts";
import { listObjectFiles, readRows } from "../../support/object-store.ts";
import { startOrigin } from "../../support/origin.ts";
import { captureGateway, Runtime, withInspector } from "../../support/runtime.ts";
import type { HeaderPair } from "../../support/wire.ts";
import { Caller, PREFIX } from "../caller.ts";
import { SHARDS } from "../gateway.ts";
import { type Fact, isSuccess, type Operation } from "../history.ts";
import { Recorder } from "../recorder.ts";
import { HeapWatch } from "./heap-watch.ts";
import { judgeSoak, type Rest, type Sample, type SoakFigures } from "./judge-soak.ts";

const CALLERS = 4;
const CALLS_A_KEY = 3;
const SAMPLE_MS = 1_000;
/** Of the load, before anything is compared with anything. */
const WARM_UP = 1 / 3;
/** Objects leave memory after some ten seconds without a call; their keys are free long before. */
const REST_MS = 25_000;
/** Arrivals that the origin remembers before it forgets them all. */
const ARRIVALS_KEPT = 1_000;
const BODY = "x".repeat(4_000);
const SHELF = resolve(import.meta.dirname, "../../../.wrangler/chaos");
const LEAKY_ENTRY = "test/chaos/soak/leaky/worker.ts";

export type SoakOptions = {
  /** Of load. */
  seconds: number;
  /** With a Worker that keeps something of every request: has to fail. */
  isLeaky: boolean;
};

export type SoakRun = SoakFigures & {
  seconds: number;
  samples: Sample[];
  /** Behind the warm-up: megabytes, and descriptors, a minute. */
  slopes: { megabytes: number; descriptors: number };
  failures: string[];
};

/** Counts what it is told, and keeps none of it. */
class Counter extends Recorder {
  calls = 0;
  successes = 0;

  override note(fact: Fact): void {
    if (fact.kind === "called") this.calls += 1;
    if (fact.kind === "told" && isSuccess(fact.told)) this.successes += 1;
  }
}

export async function runSoak({ seconds, isLeaky }: SoakOptions): Promise<SoakRun> {
  await mkdir(SHELF, { recursive: true });
  const folder = await mkdtemp(join(SHELF, "soak-"));
  const origin = await startOrigin((_arrival, reply) => {
    if (origin.arrivals.length >= ARRIVALS_KEPT) origin.forget();
    reply.send(201, [["Content-Type", "text/plain"]], BODY);
  });
  const runtime = new Runtime();
  try {
    const store = join(folder, "store");
    const capture = await captureGateway(
      {
        origin: origin.url,
        routes: describeRoutes(),
        persist: store,
        vars: { LEDGER_SHARDS: String(SHARDS) },
        ...(isLeaky ? { entry: LEAKY_ENTRY } : {}),
      },
      folder,
    );
    const port = await runtime.start(withInspector(capture));
    const heap = await HeapWatch.open(runtime.inspector ?? 0);
    const soak = new Soak(runtime.pid ?? 0, port, heap);
    const measured = await soak.run(seconds);
    heap.close();
    await runtime.kill();
    const figures = { ...measured, rowsLeft: await countRows(store) };
    return { ...figures, seconds, failures: judgeSoak(figures) };
  } finally {
    await runtime.close();
    await origin.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of each executor one whose keys are free again soon. */
function describeRoutes(): Record<string, unknown>[] {
  return (["object", "worker"] as const).map((executor) => {
    const id = `${executor}-brief`;
    const brief = { window: "1s", quarantine: "0s", origin_timeout: "10s" };
    return { methods: ["POST"], key: "required", executor, id, match: `/${id}/*`, ...brief };
  });
}

class Soak {
  readonly #pid: number;
  readonly #port: number;
  readonly #heap: HeapWatch;
  readonly #counter = new Counter();
  readonly #caller = new Caller(this.#counter);
  readonly #beganAt = performance.now();
  readonly #samples: Sample[] = [];
  #keys = 0;

  constructor(pid: number, port: number, heap: HeapWatch) {
    this.#pid = pid;
    this.#port = port;
    this.#heap = heap;
    this.#caller.connectTo(port);
  }

  async run(seconds: number): Promise<Omit<SoakRun, "rowsLeft" | "seconds" | "failures">> {
    const first = await this.#takeSample();
    await this.#load(seconds * WARM_UP);
    const warm = await this.#rest();
    const warmed = this.#samples.length;
    await this.#load(seconds * (1 - WARM_UP));
    const behind = this.#samples.slice(warmed);
    const last = await this.#rest();
    const slopes = {
      megabytes: slopeOf(behind.map(({ at, megabytes }) => [at, megabytes])),
      descriptors: slopeOf(behind.map(({ at, descriptors }) => [at, descriptors])),
    };
    const { calls, successes } = this.#counter;
    return { first, warm, last, calls, successes, slopes, samples: this.#samples };
  }

  /** New keys whose windows are short, each called a few times, as fast as a few callers can. */
  async #load(seconds: number): Promise<void> {
    const endsAt = performance.now() + seconds * 1_000;
    const serve = async (): Promise<void> => {
      while (performance.now() < endsAt) {
        this.#keys += 1;
        const operation = makeOperation(this.#keys);
        for (let call = 1; call <= CALLS_A_KEY; call += 1) {
          await this.#caller.call(operation, call === 1 ? "first" : "duplicate");
        }
      }
    };
    const watch = async (): Promise<void> => {
      while (performance.now() < endsAt) {
        await sleep(SAMPLE_MS);
        this.#samples.push(await this.#takeSample());
      }
    };
    await Promise.all([watch(), ...Array.from({ length: CALLERS }, serve)]);
  }

  async #rest(): Promise<Rest> {
    await sleep(REST_MS);
    const heapBytes = await this.#heap.measure(() => this.#get(`${PREFIX}/problems/in-flight`));
    const metrics = await this.#get(`${PREFIX}/metrics`, [
      ["Authorization", `Bearer ${OPERATORS.reader.token}`],
    ]);
    const cachedBytes = Number(/^oncegate_cache_bytes\{[^}]*\} (\d+)$/m.exec(metrics)?.[1]);
    const sample = await this.#takeSample();
    return { ...sample, aliveBytes: heapBytes - cachedBytes, cachedBytes, keys: this.#keys };
  }

  async #takeSample(): Promise<Sample> {
    const status = await readFile(`/proc/${this.#pid}/status`, "utf8");
    const kilobytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
    const { length: descriptors } = await readdir(`/proc/${this.#pid}/fd`);
    const at = (performance.now() - this.#beganAt) / 1_000;
    return { at, megabytes: kilobytes / 1_024, descriptors };
  }

  async #get(target: string, headers: HeaderPair[] = []): Promise<string> {
    const connection = await Connection.open(this.#port);
    try {
      return (await connection.send({ method: "GET", target, headers })).text();
    } finally {
      connection.close();
    }
  }
}

function makeOperation(n: number): Operation {
  const executor = n % 2 === 0 ? "object" : "worker";
  return { key: `soak-${n}`, executor, crashRule: "hold", point: "answer-given", kill: 0, isBrief: true };
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

export function describeSoak(run: SoakRun): string {
  const { seconds, calls, successes, samples, first, warm, last, slopes, rowsLeft, failures } = run;
  const most = (pick: (sample: Sample) => number): number => Math.max(...samples.map(pick));
  const line = (name: string, pick: (sample: Sample) => number, slope: number): string =>
    `${name}: ${Math.round(pick(first))} before, ${Math.round(most(pick))} at most, ${Math.round(pick(warm))} at rest behind ` +
    `the warm-up, ${Math.round(pick(last))} at the end, ${slope.toFixed(1)} a minute under load`;
  const kilobytes = (bytes: number): string => `${Math.round(bytes / 1_024)} KiB`;
  return [
    `soak: ${seconds} s of load, ${last.keys} keys, ${warm.keys} of them in the warm-up, ${calls} calls, ${successes} successes`,
    `alive: ${kilobytes(warm.aliveBytes)} behind the warm-up, ${kilobytes(last.aliveBytes)} at the end, ` +
      `beside ${kilobytes(warm.cachedBytes)} and ${kilobytes(last.cachedBytes)} of answers`,
    line("megabytes", ({ megabytes }) => megabytes, slopes.megabytes),
    line("descriptors", ({ descriptors }) => descriptors, slopes.descriptors),
    `rows of keys left: ${rowsLeft}`,
    ...failures.map((text) => `FAILED ${text}`),
    `verdict: ${failures.length === 0 ? "everything came back" : "FAILED"}`,
  ].join("\n");
}
