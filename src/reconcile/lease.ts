/** A lease while it is held: renewed before every page and on a timer during it. Losing it fires `lost`. */
import { isPaused } from "../core/pause.ts";
import type { Held, LeaseStore } from "../core/reconcile/ports.ts";

/** Resolves after a time, or at once when `stop` fires. */
export type Pause = (ms: number, stop: AbortSignal) => Promise<void>;

export type Time = { now: () => number; pause: Pause };

/** Renewed so often in the time it holds: one renewal may fail. */
const RENEWALS = 3;

export class RunLease {
  readonly #store: LeaseStore;
  readonly #held: Held;
  readonly #leaseMs: number;
  readonly #time: Time;
  readonly #lost = new AbortController();
  #until: number;

  constructor(store: LeaseStore, held: Held, leaseMs: number, time: Time, until: number) {
    this.#store = store;
    this.#held = held;
    this.#leaseMs = leaseMs;
    this.#time = time;
    this.#until = until;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** When a lease ends that is taken or renewed now: counted from before the call, so that it ends here no later than there. */
  nextEnd(): number {
    return this.#time.now() + this.#leaseMs;
  }

  /** False: it is lost. Rejects where the store does not answer. */
  async renew(): Promise<boolean> {
    const until = this.nextEnd();
    const isHeld = await this.#store.renew(this.#held, until);
    return this.note(isHeld, until);
  }

  /** Notes what the store has said of a call that holds the lease up to `until`. */
  note(isHeld: boolean, until: number): boolean {
    if (isHeld) this.#until = until;
    else this.#lost.abort();
    return isHeld && !this.lost.aborted;
  }

  /** As far as is known here: where the clock has gone back, the lease may be over. */
  #isHeldStill(): boolean {
    return isPaused(this.#until, this.#time.now(), this.#leaseMs);
  }

  /** Renews until it is told to stop or the lease is lost. A store that does not answer is asked again until the lease is over. */
  keepRenewing(): { stop: () => Promise<void> } {
    const ended = new AbortController();
    const renewing = this.#renewUntil(AbortSignal.any([ended.signal, this.lost]));
    return {
      stop: () => {
        ended.abort();
        return renewing;
      },
    };
  }

  async #renewUntil(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await this.#time.pause(Math.max(1, Math.floor(this.#leaseMs / RENEWALS)), ended);
      if (ended.aborted) return;
      const isHeld = await this.renew().catch(() => this.#isHeldStill());
      if (!isHeld) this.#lost.abort();
    }
  }
}
