/** A reconciliation with everything around it in the hand of a test: its clock, its findings, and what happens in between. */
import { checkBounds } from "../../src/core/reconcile/bounds.ts";
import type { Cursor, Finding, Learned } from "../../src/core/reconcile/finding.ts";
import { isAfter, isDue } from "../../src/core/reconcile/finding.ts";
import type { LeaseStore, Result, RunEvent, Work } from "../../src/core/reconcile/ports.ts";
import { type MemoryLeases, makeMemoryLeases } from "../../src/reconcile/memory.ts";
import { reconcile } from "../../src/reconcile/run.ts";

export const NAME = "effects";
export const LEASE_MS = 30_000;

export type Row = { at: number; id: string; isOpen: boolean };

type Pausing = { until: number; wake: () => void };

/** Every step of a run that another process or a person may come between. */
export type Step = "acquire" | "renew" | "scan" | "handle" | "checkpoint" | "release";

export class World {
  now = 1_000_000;
  rows: Row[];
  readonly leases: MemoryLeases = makeMemoryLeases({ isProduction: false, allowed: [] });
  readonly events: RunEvent[] = [];
  readonly asked: string[] = [];
  readonly calls: Step[] = [];
  /** Called before each step; may throw. */
  before: (step: Step, nth: number) => void | Promise<void> = () => undefined;
  learn: (id: string, stop: AbortSignal) => Promise<Learned> = async (id) => this.close(id);
  observe: (event: RunEvent) => void = () => undefined;
  next: (page: readonly Finding[], next: Cursor | null) => Cursor | null = (_page, next) => next;
  readonly #pausing = new Set<Pausing>();
  #tokens = 0;

  constructor(count: number) {
    this.rows = Array.from({ length: count }, (_, i) => ({
      at: 100 + Math.floor(i / 3),
      id: `id-${String(i).padStart(4, "0")}`,
      isOpen: true,
    }));
  }

  close(id: string): Learned {
    for (const row of this.rows) if (row.id === id) row.isOpen = false;
    return { kind: "closed", code: "committed" };
  }

  advance(ms: number): void {
    this.now += ms;
    for (const pausing of this.#pausing) if (pausing.until <= this.now) pausing.wake();
  }

  async #step(step: Step): Promise<void> {
    this.calls.push(step);
    await this.before(step, this.calls.filter((call) => call === step).length);
  }

  #stepped(): LeaseStore {
    const { leases } = this;
    return {
      acquire: async (claim) => this.#step("acquire").then(() => leases.acquire(claim)),
      renew: async (held, until) => this.#step("renew").then(() => leases.renew(held, until)),
      checkpoint: async (held, kept) => this.#step("checkpoint").then(() => leases.checkpoint(held, kept)),
      release: async (held, how) => this.#step("release").then(() => leases.release(held, how)),
    };
  }

  #work(): Work<Finding> {
    return {
      name: NAME,
      scan: async (after, stale, limit) => {
        await this.#step("scan");
        const open = this.rows.filter((row) => row.isOpen && row.at < stale.before && isAfter(row, after));
        const found = open.slice(0, limit);
        const last = found.length < limit ? undefined : found.at(-1);
        const findings = found.map((row) => this.#findingOf(row));
        return {
          findings,
          next: this.next(findings, last === undefined ? null : { at: last.at, id: last.id }),
        };
      },
      filter: isDue,
      handle: async ({ id }, stop) => {
        await this.#step("handle");
        this.asked.push(id);
        return this.learn(id, stop);
      },
      observe: (event) => {
        this.events.push(event);
        return this.observe(event);
      },
    };
  }

  #findingOf({ id }: Row): Finding {
    const known = this.leases.read(NAME).verdicts.get(id);
    const { failures = 0, dueAt = 0 } = known ?? {};
    return { id, kind: "ambiguous", operation: `operation of ${id}`, failures, dueAt };
  }

  run(
    bounds: Parameters<typeof checkBounds>[0] = {},
    abort: AbortSignal = new AbortController().signal,
  ): Promise<Result> {
    const pause = (ms: number, stop: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const pausing = { until: this.now + ms, wake: () => resolve() };
        this.#pausing.add(pausing);
        if (stop.aborted) resolve();
        stop.addEventListener("abort", () => resolve(), { once: true });
      });
    const using = {
      leases: this.#stepped(),
      time: { now: () => this.now, pause },
      random: () => `token-${++this.#tokens}`,
      staleMs: 0,
    };
    const checked = checkBounds({ leaseMs: LEASE_MS, batch: 10, concurrency: 1, ...bounds });
    return reconcile(this.#work(), using, { startedBy: "test", bounds: checked, abort });
  }

  get kept(): ReturnType<MemoryLeases["read"]> {
    return this.leases.read(NAME);
  }

  /** Another holder has taken the lease, as it may once this one's time is over by its own clock. */
  async takeOver(): Promise<boolean> {
    Object.assign(this.kept, { until: this.now });
    const claim = { name: NAME, owner: "other", token: "other", startedBy: "other", now: this.now };
    const acquired = await this.leases.acquire({ ...claim, until: this.now + LEASE_MS });
    return acquired.kind === "held";
  }

  kinds(): string[] {
    return this.events.map(({ kind }) => kind);
  }
}
