/**
 * What callers were told from this isolate's memory, for the key objects that were not asked. It is told after the answer, one call for all
 * that came while the call before was under way. Bounded by what can be under way, and what was begun within the patience; what is lost
 * here is lost.
 */
import type { Seen } from "../../core/audit/observe.ts";
import { OBSERVED_WAITING_MAX, OBSERVER_PATIENCE_MS } from "../../core/limits.ts";
import type { KeyPort, Report } from "../../core/ports.ts";

/** `since`: when the call that is under way was begun. */
type Line = { since: number; waiting: Seen[]; dropped: number };

export class Observer {
  /** By name, the keys whose object is being told, the call that was begun first before all others. */
  readonly #lines = new Map<string, Line>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Gives the work that is left to do after the answer; null: a call that is under way is followed by another. */
  note(keys: Pick<KeyPort, "observe">, name: string, seen: Seen, now: number): Promise<void> | null {
    const line = this.#lines.get(name);
    // A request that was ended while it told leaves its line behind.
    if (line !== undefined && now - line.since < OBSERVER_PATIENCE_MS) {
      if (line.waiting.length < OBSERVED_WAITING_MAX) line.waiting.push(seen);
      else line.dropped += 1;
      return null;
    }
    const begun: Line = { since: now, waiting: [seen], dropped: line === undefined ? 0 : giveUp(line) };
    this.#place(name, begun);
    this.#forgetEnded(now);
    return this.#tell(keys, name, begun);
  }

  #place(name: string, line: Line): void {
    this.#lines.delete(name);
    this.#lines.set(name, line);
  }

  /** Keys that nobody asks again would leave their lines here for ever. */
  #forgetEnded(now: number): void {
    for (const [name, line] of this.#lines) {
      if (now - line.since < OBSERVER_PATIENCE_MS) break;
      this.#lines.delete(name);
      const count = giveUp(line);
      if (count > 0) this.#report("observations-dropped", { operation: name, count });
    }
  }

  async #tell(keys: Pick<KeyPort, "observe">, name: string, line: Line): Promise<void> {
    await scheduler.wait(0);
    while (line.waiting.length > 0) {
      const batch = line.waiting;
      line.waiting = [];
      line.since = Date.now();
      if (this.#lines.get(name) === line) this.#place(name, line);
      const isNoted = await keys.observe(name, batch);
      const count = line.dropped + (isNoted ? 0 : batch.length);
      line.dropped = 0;
      if (count > 0) this.#report("observations-dropped", { operation: name, count });
    }
    if (this.#lines.get(name) === line) this.#lines.delete(name);
  }
}

/** How many of it are lost. A call of it that is under way after all tells nothing more. */
function giveUp(line: Line): number {
  const count = line.dropped + line.waiting.length;
  line.waiting = [];
  line.dropped = 0;
  return count;
}
