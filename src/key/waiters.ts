/**
 * Callers that wait for a key to change. Each has a timer and a promise of its own, and nothing about a
 * waiter is stored: when the object dies, its callers' next try finds the record.
 */
import { WAITERS_MAX } from "../core/limits.ts";

export class Waiters {
  readonly #wakes = new Set<() => void>();

  /** One more would be turned away. */
  get isFull(): boolean {
    return this.#wakes.size >= WAITERS_MAX;
  }

  /** Resolves at the next change, or after `ms`. `full`: the bound is reached and the caller must be answered at once. */
  wait(ms: number): Promise<"changed" | "over"> | "full" {
    if (this.isFull) return "full";
    return new Promise((resolve) => {
      const end = (how: "changed" | "over"): void => {
        clearTimeout(timer);
        this.#wakes.delete(wake);
        resolve(how);
      };
      const wake = (): void => end("changed");
      const timer = setTimeout(() => end("over"), ms);
      this.#wakes.add(wake);
    });
  }

  wakeAll(): void {
    for (const wake of [...this.#wakes]) wake();
  }
}
