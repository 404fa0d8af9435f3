/**
 * The globals that the product's code calls, answered by the run that is under way: time, timers, chance, digests, messages. Put in place
 * once in a process that does nothing else.
 */
import { SimAbortController, SimHeaders, SimSignal } from "./fields.ts";
import { SimRequest, SimResponse } from "./http.ts";
import type { Random } from "./random.ts";
import type { Scheduler, Task } from "./scheduler.ts";
import { DigestStream, subtle } from "./subtle.ts";

/** True time at the beginning of every run. */
export const START = Date.UTC(2035, 0, 1);

export type Run = {
  scheduler: Scheduler;
  random: Random;
  /** The product writes a log line. */
  log: (line: string) => void;
  fetch: (url: string, init: RequestInit) => Promise<unknown>;
  /** A promise of a living process was rejected and nobody listened. */
  escaped: (error: unknown) => void;
};

let run: Run | null = null;

export function underWay(): Run {
  if (run === null) throw new Error("no run is under way");
  return run;
}

export function startRun(next: Run | null): void {
  run = next;
}

function readClock(): number {
  if (run === null) return START;
  return START + run.scheduler.now + run.scheduler.current.clock.offset;
}

function startTimer(act: () => void, ms: number): Task {
  const { scheduler } = underWay();
  return scheduler.after(Math.max(0, ms), scheduler.current, "timer", act);
}

function stopTimer(task: Task | undefined): void {
  if (task !== undefined) task.act = null;
}

function wait(ms: number, how: { signal?: AbortSignal } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    if (how.signal?.aborted === true) return reject(new Error("aborted"));
    const timer = startTimer(resolve, ms);
    how.signal?.addEventListener("abort", () => {
      stopTimer(timer);
      reject(new Error("aborted"));
    });
  });
}

function fill(bytes: Uint8Array): Uint8Array {
  const { random } = underWay();
  for (let i = 0; i < bytes.length; i++) bytes[i] = random.bits() & 255;
  return bytes;
}

const uuid = Buffer.alloc(16);

function makeUuid(): string {
  fill(uuid);
  const hex = uuid.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

const POOL_BYTES = 65_536;
const POOLED_CHARS_MAX = 1_024;
let pool = Buffer.from(new ArrayBuffer(POOL_BYTES));
let pooled = 0;
const encodeAlone = TextEncoder.prototype.encode;

/** Texts as bytes, many in one piece of memory: a piece for each costs more than the text. */
function encode(this: TextEncoder, text = ""): Uint8Array {
  if (text.length > POOLED_CHARS_MAX) return encodeAlone.call(this, text);
  if (pooled + 3 * text.length > POOL_BYTES) {
    pool = Buffer.from(new ArrayBuffer(POOL_BYTES));
    pooled = 0;
  }
  const size = pool.write(text, pooled);
  pooled += size;
  return new Uint8Array(pool.buffer, pooled - size, size);
}

function timeOut(ms: number): SimSignal {
  const controller = new SimAbortController();
  startTimer(() => controller.abort(), ms);
  return controller.signal;
}

export function replaceGlobals(): void {
  // Errors are values here, and where one was made nobody asks.
  Error.stackTraceLimit = 0;
  const others: Record<string, unknown> = {
    setTimeout: startTimer,
    clearTimeout: stopTimer,
    setInterval: undefined,
    scheduler: { wait },
    fetch: (url: string, init: RequestInit) => underWay().fetch(url, init),
    AbortController: SimAbortController,
    Headers: SimHeaders,
    Request: SimRequest,
    Response: SimResponse,
    crypto: { subtle, DigestStream, getRandomValues: fill, randomUUID: makeUuid },
  };
  for (const [name, value] of Object.entries(others)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  Object.assign(TextEncoder.prototype, { encode });
  Date.now = readClock;
  Math.random = () => underWay().random.next();
  Object.assign(AbortSignal, { timeout: timeOut, any: SimSignal.any });
  console.log = (line: unknown) => run?.log(String(line));
  process.on("unhandledRejection", (error) => {
    if (run === null) throw error;
    if (run.scheduler.current.isAlive) run.escaped(error);
  });
}
