/** Those who look after the deployment: operators, who ask the origin themselves and may speak of what has long changed, and the cron. */
import type { Datum } from "../check/history.ts";
import type { Base, Deployment, Surroundings } from "./deployment.ts";
import type { Host } from "./host.ts";
import type { Origin } from "./origin.ts";
import type { Random } from "./random.ts";
import { OUTSIDE, Process, type Scheduler } from "./scheduler.ts";

export type StaffParts = {
  scheduler: Scheduler;
  random: Random;
  product: (version: number) => Deployment;
  base: Base;
  around: Surroundings;
  origin: Origin;
  version: () => number;
  clock: () => { offset: number };
  note: (row: Datum) => void;
};

export const OPERATORS_REQUIRED = 2;

/** Between an operator's look at the origin and the word on it. */
const THINKING_MS = 60_000;

export class Staff {
  readonly #parts: StaffParts;
  readonly #paused: Process[] = [];
  #runs = 0;

  constructor(parts: StaffParts) {
    this.#parts = parts;
  }

  /** A run of the cron; some are paused in the middle, longer than their lease, and go on when another has taken it. */
  reconcile(until: number): void {
    const { scheduler, random, product, base, around, version, clock } = this.#parts;
    if (around.database === null) return;
    this.#runs += 1;
    const process = new Process(`cron${this.#runs}`, clock(), version());
    scheduler.enter(
      process,
      () =>
        void product(process.version)
          .openCron(base, around, process.version)()
          .catch(() => undefined),
    );
    if (!random.chance(0.4)) return;
    scheduler.after(random.below(300), OUTSIDE, "pause cron", () => {
      process.pause(until);
      this.#paused.push(process);
    });
  }

  /** Runs that stand still go on. */
  resume(): void {
    for (const process of this.#paused) this.#parts.scheduler.resume(process);
  }

  /** Two operators, or one of them twice, say of some attempt of a key what the origin has told them: it may not be the current one any more. */
  speak(host: Host | null, labels: ReadonlyMap<Host, string>): void {
    const { scheduler, random, origin } = this.#parts;
    const record = host?.durable.kv.get("record") as { effect: string } | undefined;
    const key = host === null ? undefined : labels.get(host);
    if (host === null || record === undefined || key === undefined) return;
    const { effect } = record;
    // Who says that nothing was done has seen to it that nothing will be.
    const answer = origin.attest(effect);
    for (const operator of [random.pick(["op1", "op2"] as const), random.pick(["op1", "op2"] as const)]) {
      scheduler.after(random.below(THINKING_MS), OUTSIDE, "operator speaks", () =>
        this.#say(host, key, effect, operator, answer),
      );
    }
  }

  #say(host: Host, key: string, effect: string, operator: string, answer: unknown): void {
    const outcome = answer === null ? { kind: "not-committed" } : { kind: "committed", answer };
    const grounds = { code: null, target: null, digest: "0".repeat(64) };
    this.#parts.note({ do: "resolve", key, effect, operator, outcome: outcome.kind });
    host.call(
      "resolve",
      [{ effect, operator, operatorsRequired: OPERATORS_REQUIRED, grounds, outcome }],
      () => undefined,
    );
  }
}
