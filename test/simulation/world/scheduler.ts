/**
 * Virtual time and one thread. Everything that happens is an event of one process: a piece of code that has its own clock and can be
 * paused or ended. Promises are carried to their end within the event that resolves them, so nothing is left to the order of real time.
 */

/** Carries all promise reactions to their end, now. Node's own, and the only way to do so without going back to its event loop. */
const drain = (process as unknown as { _tickCallback: () => void })._tickCallback;

/** Milliseconds by which a machine's clock is ahead of true time. */
export type Clock = { offset: number };

/** A number that follows from the text alone. */
function numberOf(text: string): number {
  let number = 0;
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 16_777_619);
  return number;
}

export class Process {
  readonly name: string;
  /** Its name in the digest of a run. */
  readonly number: number;
  readonly clock: Clock;
  /** Which of the deployed builds and settings it runs. */
  readonly version: number;
  isAlive = true;
  pausedUntil = 0;

  constructor(name: string, clock: Clock, version: number) {
    this.name = name;
    this.number = numberOf(name);
    this.clock = clock;
    this.version = version;
  }

  /** A pause within a longer one changes nothing. */
  pause(until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until);
  }

  /** Does what leaves the process. Processes with a store wait here until it is durable. */
  emit(act: () => void): void {
    if (this.isAlive) act();
  }
}

/** `isHeld`: its process was paused when it was to happen. */
export type Task = {
  at: number;
  order: number;
  process: Process;
  label: string;
  act: (() => void) | null;
  isHeld: boolean;
};

/** Where everything that has no process of its own happens: the network, the injector. */
export const OUTSIDE = new Process("outside", { offset: 0 }, 0);

export class Scheduler {
  /** Milliseconds since the run began. */
  now = 0;
  current: Process = OUTSIDE;
  events = 0;
  /** Of everything that has happened, in order. */
  digest = 0;
  readonly #heap: Task[] = [];
  #orders = 0;
  readonly #onEvent: ((task: Task) => void) | null;
  readonly #onThrow: (error: unknown) => void;

  /** `onThrow` is told of what a living process threw at nobody. */
  constructor(onEvent: ((task: Task) => void) | null, onThrow: (error: unknown) => void) {
    this.#onEvent = onEvent;
    this.#onThrow = onThrow;
  }

  at(at: number, process: Process, label: string, act: () => void): Task {
    this.#orders += 1;
    const task = {
      at: Math.max(this.now, Math.ceil(at)),
      order: this.#orders,
      process,
      label,
      act,
      isHeld: false,
    };
    this.#push(task);
    return task;
  }

  after(ms: number, process: Process, label: string, act: () => void): Task {
    return this.at(this.now + ms, process, label, act);
  }

  /** Within the event that happens now, lets another process act. */
  enter(process: Process, act: () => void): void {
    const outer = this.current;
    this.current = process;
    this.#act(act);
    this.current = outer;
  }

  #act(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (this.current.isAlive) this.#onThrow(error);
    }
    drain();
  }

  /** Ends a pause before its time: what was held back by it happens now. */
  resume(process: Process): void {
    process.pausedUntil = 0;
    for (const task of this.#heap.splice(0)) {
      if (task.process === process && task.isHeld) task.at = this.now;
      this.#push(task);
    }
  }

  /** What is still to happen. */
  left(): readonly Task[] {
    return this.#heap.filter(({ act, process: { isAlive } }) => act !== null && isAlive);
  }

  /** False: there was nothing left to happen before `until`. */
  step(until: number): boolean {
    const task = this.#heap[0];
    if (task === undefined || task.at > until) return false;
    this.#pop();
    const { act, process } = task;
    if (act === null || !process.isAlive) return true;
    if (process.pausedUntil > task.at) {
      task.at = process.pausedUntil;
      task.isHeld = true;
      this.#push(task);
      return true;
    }
    this.now = task.at;
    this.events += 1;
    this.#note(task);
    this.current = process;
    this.#act(act);
    this.current = OUTSIDE;
    return true;
  }

  #note(task: Task): void {
    const what = (task.process.number << 16) ^ numberOf(task.label);
    this.digest = Math.imul(Math.imul(this.digest ^ task.at, 16_777_619) ^ what, 16_777_619);
    this.#onEvent?.(task);
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let i = heap.push(task) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(task, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = task;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      let least = heap[child];
      if (least === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, least)) {
        child += 1;
        least = right;
      }
      if (isBefore(last, least)) break;
      heap[i] = least;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
