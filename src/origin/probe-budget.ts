/**
 * How much an isolate may ask the origin: so many questions in a second, and none for a while once several in a row got no proper
 * answer, so that a storm of unknown outcomes doesn't hold down the origin that caused it.
 */
import { PROBE_FAILURES_MAX, PROBE_REST_MS, PROBES_PER_SECOND } from "../core/limits.ts";
import { isPaused } from "../core/pause.ts";

export class ProbeBudget {
  readonly #now: () => number;
  #tokens = PROBES_PER_SECOND;
  #filledAt: number;
  #failures = 0;
  /** While the origin doesn't answer: when the next trial may be made. */
  #restUntil = 0;

  /** `now`: milliseconds; a clock that runs backwards adds nothing, and prolongs no rest. */
  constructor(now: () => number) {
    this.#now = now;
    this.#filledAt = now();
  }

  /** Whether one question may be asked now. After a rest one is, and the others wait for what it brings. */
  take(): boolean {
    const now = this.#now();
    this.#fill(now);
    const isResting = this.#failures >= PROBE_FAILURES_MAX;
    if ((isResting && isPaused(this.#restUntil, now, PROBE_REST_MS)) || this.#tokens < 1) return false;
    if (isResting) this.#restUntil = now + PROBE_REST_MS;
    this.#tokens -= 1;
    return true;
  }

  /** The origin has answered a question properly, whatever it said; or it hasn't. */
  note(isProper: boolean): void {
    if (isProper) {
      this.#failures = 0;
      return;
    }
    this.#failures += 1;
    if (this.#failures >= PROBE_FAILURES_MAX) this.#restUntil = this.#now() + PROBE_REST_MS;
  }

  #fill(now: number): void {
    const passed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(PROBES_PER_SECOND, this.#tokens + (passed / 1_000) * PROBES_PER_SECOND);
    this.#filledAt = now;
  }
}
