/** Calls that meet an unused key at the same time are one new key: they take from the quota once. */
import type { QuotaPort } from "../core/ports.ts";

type Taken = ReturnType<QuotaPort["take"]>;

export class SharedTake {
  #underWay: Taken | null = null;

  /** What `take` gives, or what the take that is under way gives. */
  once(take: () => Taken): Taken {
    this.#underWay ??= take().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }
}
