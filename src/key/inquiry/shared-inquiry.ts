/** One question to the origin at a time, however many ask for it, and not the next one right behind it. Memory only. */
import { PROBE_FIRST_MS } from "../../core/limits.ts";
import type { Inquired } from "./inquire.ts";

export class SharedInquiry {
  #underWay: Promise<Inquired> | null = null;
  #beganAt: number | null = null;

  /** What the question that is under way brings, or what `ask` does; `put-off` within a second of the last one's beginning. */
  once(now: number, ask: () => Promise<Inquired>): Promise<Inquired> {
    if (this.#underWay !== null) return this.#underWay;
    const beganAt = this.#beganAt;
    if (beganAt !== null && beganAt <= now && now < beganAt + PROBE_FIRST_MS)
      return Promise.resolve("put-off");
    this.#beganAt = now;
    this.#underWay = ask().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }
}
