/**
 * What callers were told from this isolate's memory, for the key objects that were not asked. It is told after the answer, one call for all
 * that came while the call before was under way. Bounded by what can be under way; what is lost here is lost.
 */
import type { Seen } from "../../core/audit/observe.ts";
import { OBSERVED_WAITING_MAX, OBSERVER_PATIENCE_MS } from "../../core/limits.ts";
import type { KeyPort, Report } from "../../core/ports.ts";

/** `since`: when the call that is under way was begun. */
type Line = { since: number; waiting: Seen[]; dropped: number };

export class Observer {
  /** By name, the keys whose object is being told. */
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
    const lost = line === undefined ? 0 : line.dropped + line.waiting.length;
    const begun: Line = { since: now, waiting: [seen], dropped: lost };
    this.#lines.set(name, begun);
    return this.#tell(keys, name, begun);
  }

  async #tell(keys: Pick<KeyPort, "observe">, name: string, line: Line): Promise<void> {
    await scheduler.wait(0);
    while (line.waiting.length > 0) {
      const batch = line.waiting;
      line.waiting = [];
      line.since = Date.now();
      const isNoted = await keys.observe(name, batch);
      const count = line.dropped + (isNoted ? 0 : batch.length);
      line.dropped = 0;
      if (count > 0) this.#report("observations-dropped", { operation: name, count });
    }
    if (this.#lines.get(name) === line) this.#lines.delete(name);
  }
}
