/**
 * One run: take the lease, go on from its cursor page by page, let go. Wherever it stops, what was kept with the last checkpoint is true:
 *
 *   take the lease                          stopped behind it: nobody else runs until the lease is over
 *   renew, read a page, handle it           stopped: nothing of the page is kept; it is read and handled again, which changes nothing twice
 *   keep verdicts, cursor and progress      in one transaction that only the holder can make
 *   free the lease                          stopped before it: the next run waits for the lease's end and goes on from the cursor
 */
import type { Bounds } from "../core/reconcile/bounds.ts";
import { type Cursor, type Finding, isAfter, type Page } from "../core/reconcile/finding.ts";
import type {
  Ended,
  Held,
  LeaseStore,
  Progress,
  Result,
  RunEvent,
  Stale,
  Work,
} from "../core/reconcile/ports.ts";
import { RunLease, type Time } from "./lease.ts";
import { type HandledPage, handlePage } from "./page.ts";

export type Using = {
  leases: LeaseStore;
  time: Time;
  /** 128 random bits or more, as visible ASCII. */
  random: () => string;
  /** What has not changed for so long is stale. Milliseconds. */
  staleMs: number;
};

export type RunWish = { startedBy: string; bounds: Bounds; abort: AbortSignal };

const NOTHING: Progress = { pages: 0, scanned: 0, handled: 0, failed: 0 };

/** Never rejects: what fails ends the run, is observed, and is in the result. */
export async function reconcile<Found extends Finding>(
  work: Work<Found>,
  using: Using,
  wish: RunWish,
): Promise<Result> {
  const idle = (ended: Ended): Result => ({ acquired: false, ended, ...NOTHING });
  if (wish.abort.aborted) return idle("aborted");
  const tell = makeTeller(work.observe);
  const { leases, time, random } = using;
  const token = random();
  const now = time.now();
  const until = now + wish.bounds.leaseMs;
  const { startedBy } = wish;
  try {
    const acquired = await leases.acquire({ name: work.name, owner: random(), token, startedBy, now, until });
    if (acquired.kind === "taken") return idle("taken");
    const { run, cursor } = acquired;
    tell({ kind: "acquired", run, cursor });
    const held = { name: work.name, token, run };
    const lease = new RunLease(leases, held, wish.bounds.leaseMs, time, until);
    return await new Run(work, using, wish, held, lease, tell).go(cursor);
  } catch {
    tell({ kind: "failed", finding: null, code: "lease" });
    return idle("failed");
  }
}

type Tell = (event: RunEvent) => void;

/** Whoever looks on can't break anything: neither by throwing nor by a promise that rejects. */
function makeTeller(observe: (event: RunEvent) => unknown): Tell {
  return (event) => {
    try {
      void Promise.resolve(observe(event)).catch(() => undefined);
    } catch {
      // Its own affair.
    }
  };
}

type Turned = { kind: "turned"; cursor: Cursor } | { kind: "ended"; ended: Ended };

const LOST: Turned = { kind: "ended", ended: "lease-lost" };

class Run<Found extends Finding> {
  readonly #work: Work<Found>;
  readonly #using: Using;
  readonly #wish: RunWish;
  readonly #held: Held;
  readonly #lease: RunLease;
  readonly #tell: Tell;
  #progress = NOTHING;

  constructor(work: Work<Found>, using: Using, wish: RunWish, held: Held, lease: RunLease, tell: Tell) {
    this.#work = work;
    this.#using = using;
    this.#wish = wish;
    this.#held = held;
    this.#lease = lease;
    this.#tell = tell;
  }

  async go(cursor: Cursor | null): Promise<Result> {
    const ended = await this.#goThrough(cursor);
    if (ended === "lease-lost") this.#tell({ kind: "lease-lost" });
    const result = { acquired: true, ended, ...this.#progress };
    const isReleased = await this.#using.leases
      .release(this.#held, { ended, now: this.#using.time.now() })
      .catch(() => this.#fail("release"));
    if (isReleased) this.#tell({ kind: "released", result });
    return result;
  }

  async #goThrough(from: Cursor | null): Promise<Ended> {
    // Once a run: what becomes stale meanwhile is the next scan's, so that a scan comes to its end.
    const { time, staleMs } = this.#using;
    const now = time.now();
    const stale: Stale = { before: now - staleMs, ahead: now + staleMs };
    let cursor = from;
    for (let page = 0; page < this.#wish.bounds.pages; page++) {
      if (this.#wish.abort.aborted) return "aborted";
      const turned = await this.#turnPage(cursor, stale);
      if (turned.kind === "ended") return turned.ended;
      cursor = turned.cursor;
    }
    return "bounded";
  }

  async #turnPage(cursor: Cursor | null, stale: Stale): Promise<Turned> {
    try {
      if (!(await this.#lease.renew())) return LOST;
    } catch {
      return this.#endAt("lease");
    }
    const renewing = this.#lease.keepRenewing();
    try {
      return await this.#usePage(cursor, stale);
    } finally {
      await renewing.stop();
    }
  }

  async #usePage(cursor: Cursor | null, stale: Stale): Promise<Turned> {
    let page: Page<Found>;
    try {
      page = await this.#work.scan(cursor, stale, this.#wish.bounds.batch);
    } catch {
      return this.#endAt("scan");
    }
    const { findings, next } = page;
    this.#tell({ kind: "page", found: findings.length });
    // A place that does not lie behind the last one would have the same pages read for ever.
    if (next !== null && !isAfter(next, cursor)) return this.#endAt("cursor");
    const handled = await this.#handle(findings);
    if (this.#lease.lost.aborted) return LOST;
    const place = handled.isWhole ? next : cursor;
    const kept = await this.#keep(place, handled, findings.length);
    if (kept !== "kept") return kept === "lost" ? LOST : this.#endAt("checkpoint");
    if (!handled.isWhole) return { kind: "ended", ended: "aborted" };
    return next === null ? { kind: "ended", ended: "finished" } : { kind: "turned", cursor: next };
  }

  async #keep(
    cursor: Cursor | null,
    handled: HandledPage,
    scanned: number,
  ): Promise<"kept" | "lost" | "failed"> {
    const progress = {
      pages: this.#progress.pages + 1,
      scanned: this.#progress.scanned + scanned,
      handled: this.#progress.handled + handled.handled,
      failed: this.#progress.failed + handled.failed,
    };
    const { verdicts } = handled;
    const until = this.#lease.nextEnd();
    const now = this.#using.time.now();
    try {
      const kept = { cursor, until, verdicts, progress, now };
      const isKept = await this.#using.leases.checkpoint(this.#held, kept);
      if (!this.#lease.note(isKept, until)) return "lost";
    } catch {
      return "failed";
    }
    this.#progress = progress;
    this.#tell({ kind: "checkpoint", cursor, verdicts: verdicts.length });
    return "kept";
  }

  #handle(findings: readonly Found[]): ReturnType<typeof handlePage<Found>> {
    return handlePage(findings, {
      work: this.#work,
      concurrency: this.#wish.bounds.concurrency,
      time: this.#using.time,
      stop: AbortSignal.any([this.#wish.abort, this.#lease.lost]),
      onFailed: (finding, code) => this.#tell({ kind: "failed", finding, code }),
    });
  }

  #endAt(code: string): Turned {
    this.#fail(code);
    return { kind: "ended", ended: "failed" };
  }

  #fail(code: string): false {
    this.#tell({ kind: "failed", finding: null, code });
    return false;
  }
}
