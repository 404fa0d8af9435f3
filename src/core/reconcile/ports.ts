/** The doors of a reconciliation: who may run, what is kept of a run, and what a run works on. */
import type { Cursor, Finding, JudgedFinding, Learned, Page } from "./finding.ts";

/** How far a run has come. `handled`: findings that were answered; `failed`: those that were not. */
export type Progress = { pages: number; scanned: number; handled: number; failed: number };

/**
 * Why a run ended. `finished`: the scan is through. `bounded`: it goes on from its cursor in the next run. `taken`: another run holds the
 * lease, nothing was done.
 */
export type Ended = "finished" | "bounded" | "aborted" | "lease-lost" | "failed" | "taken";

export type Result = { acquired: boolean; ended: Ended } & Progress;

/** Times in milliseconds since the epoch. `startedBy`: `cron`, or an operator. */
export type LeaseClaim = {
  name: string;
  owner: string;
  token: string;
  startedBy: string;
  now: number;
  until: number;
};

/** `run` counts the runs of a name. `cursor` is where the last holder was; null: at the start. */
export type Acquired = { kind: "held"; run: number; cursor: Cursor | null } | { kind: "taken" };

/** What the holder's token shows. */
export type Held = { name: string; token: string; run: number };

/**
 * One holder at a time. Given only when free or over; all else needs the token of the holder, and without it changes nothing and is false. The
 * cursor outlives its holders. Every method rejects where the store does not answer.
 */
export interface LeaseStore {
  acquire(claim: LeaseClaim): Promise<Acquired>;
  renew(held: Held, until: number): Promise<boolean>;
  /** Keeps the verdicts, the cursor and the progress: all of them or nothing. A null cursor is the start. */
  checkpoint(held: Held, kept: PageCheckpoint): Promise<boolean>;
  /** Frees the lease and notes how the run ended. */
  release(held: Held, how: { ended: Ended; now: number }): Promise<boolean>;
}

export type PageCheckpoint = {
  cursor: Cursor | null;
  until: number;
  verdicts: readonly JudgedFinding[];
  progress: Progress;
  now: number;
};

/** Stale is what has changed last before `before`, or behind `ahead`: at a time to come, so that nobody knows how long ago. */
export type Stale = { before: number; ahead: number };

/** What a run works on, as four functions. Each may reject; `observe` may throw. */
export type Work<Found extends Finding> = {
  /** Name of the lease. */
  name: string;
  /** What is stale, behind a place, in order, at most `limit`. */
  scan: (after: Cursor | null, stale: Stale, limit: number) => Promise<Page<Found>>;
  /** False: passed over, not handled in this run. */
  filter: (finding: Found, now: number) => boolean;
  /** May be made again with the same finding. Should end when `stop` fires: its word is not waited for then. */
  handle: (finding: Found, stop: AbortSignal) => Promise<Learned>;
  observe: (event: RunEvent) => void;
};

export type RunEvent =
  | { kind: "acquired"; run: number; cursor: Cursor | null }
  | { kind: "page"; found: number }
  | { kind: "checkpoint"; cursor: Cursor | null; verdicts: number }
  | { kind: "lease-lost" }
  /** `finding` null: the run itself. */
  | { kind: "failed"; finding: Finding | null; code: string }
  | { kind: "released"; result: Result };
