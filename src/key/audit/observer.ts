/**
 * What callers were told and the ledger has not been: gathered while earlier ones are being written, so that a key that is asked often
 * costs one row for many. Memory only: what it holds when the object dies is lost.
 */
import type { Seen } from "../../core/audit/observe.ts";
import { FLUSH_RETRY_MS, OBSERVED_WAITING_MAX } from "../../core/limits.ts";
import { isPaused } from "../../core/pause.ts";

export class KeyObserver {
  #waiting: Seen[] = [];
  #dropped = 0;
  #isWriting = false;
  /** Until then the outbox is taken for full. */
  #fullUntil = 0;

  get waiting(): readonly Seen[] {
    return this.#waiting;
  }

  /** True: nobody is writing, so the caller has to begin. */
  note(seen: readonly Seen[], now: number): boolean {
    const isFull = isPaused(this.#fullUntil, now, FLUSH_RETRY_MS);
    const room = isFull ? 0 : OBSERVED_WAITING_MAX - this.#waiting.length;
    this.#waiting.push(...seen.slice(0, room));
    this.#dropped += Math.max(0, seen.length - room);
    if (this.#isWriting || this.#waiting.length === 0) return false;
    this.#isWriting = true;
    return true;
  }

  /** All that waits. Empty: there is nothing more, and whoever notes the next one has to begin. */
  takeAll(): readonly Seen[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#isWriting = taken.length > 0;
    return taken;
  }

  /** They were written along with something else. */
  letGo(): void {
    this.#waiting = [];
  }

  /** There was no room for so many: nothing is gathered for a while. */
  refuse(count: number, now: number): void {
    this.#dropped += count;
    this.#fullUntil = now + FLUSH_RETRY_MS;
  }

  /** How many were dropped since this was asked last. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}
