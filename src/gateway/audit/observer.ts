/**
 * What callers were told from this isolate's memory, for the key objects that were not asked. It is told after the answer, one call for all
 * that came while the call before was under way. Bounded by what can be under way, and what was begun within the patience; what is lost
 * here is lost.
 */
import type { Seen } from "../../core/audit/observe.ts";
import { OBSERVED_WAITING_MAX, OBSERVER_PATIENCE_MS } from "../../core/limits.ts";
import type { KeyPort, Report } from "../../core/ports.ts";

/** `since`: when the call that is under way was begun. */
type Queue = { since: number; waiting: Seen[]; dropped: number };

export class IsolateObserver {
  /** By name, the keys whose object is being told, the call that was begun first before all others. */
  readonly #queues = new Map<string, Queue>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Gives the work that is left to do after the answer; null: a call that is under way is followed by another. */
  note(keys: Pick<KeyPort, "observe">, name: string, seen: Seen, now: number): Promise<void> | null {
    const queue = this.#queues.get(name);
    // A request that was ended while it told leaves its queue behind.
    if (queue !== undefined && isPatientWith(queue, now)) {
      if (queue.waiting.length < OBSERVED_WAITING_MAX) queue.waiting.push(seen);
      else queue.dropped += 1;
      return null;
    }
    const begun: Queue = { since: now, waiting: [seen], dropped: queue === undefined ? 0 : giveUp(queue) };
    this.#place(name, begun);
    this.#forgetEnded(now);
    return this.#tell(keys, name, begun);
  }

  #place(name: string, queue: Queue): void {
    this.#queues.delete(name);
    this.#queues.set(name, queue);
  }

  /** Keys that nobody asks again would leave their queues here for ever. */
  #forgetEnded(now: number): void {
    for (const [name, queue] of this.#queues) {
      if (isPatientWith(queue, now)) break;
      this.#queues.delete(name);
      const count = giveUp(queue);
      if (count > 0) this.#report("observations-dropped", { operation: name, count });
    }
  }

  async #tell(keys: Pick<KeyPort, "observe">, name: string, queue: Queue): Promise<void> {
    await scheduler.wait(0);
    while (queue.waiting.length > 0) {
      const batch = queue.waiting;
      queue.waiting = [];
      queue.since = Date.now();
      if (this.#queues.get(name) === queue) this.#place(name, queue);
      const isNoted = await keys.observe(name, batch);
      const count = queue.dropped + (isNoted ? 0 : batch.length);
      queue.dropped = 0;
      if (count > 0) this.#report("observations-dropped", { operation: name, count });
    }
    if (this.#queues.get(name) === queue) this.#queues.delete(name);
  }
}

/** One that was begun at a time that is far ahead was begun before the clock went back: how long ago is not known. */
function isPatientWith({ since }: Queue, now: number): boolean {
  return Math.abs(now - since) < OBSERVER_PATIENCE_MS;
}

/** How many of it are lost. A call of it that is under way after all tells nothing more. */
function giveUp(queue: Queue): number {
  const count = queue.dropped + queue.waiting.length;
  queue.waiting = [];
  queue.dropped = 0;
  return count;
}
