/**
 * A process that does nothing but go through the open effects of a file, as the product does it: `process.ts WISH`, where WISH is the JSON of a
 * `Wish`. Its keys only answer. It prints lines of JSON: `{"held":true}` where it stands still, and a `Told` when it has ended.
 */
import { openSync, writeSync } from "node:fs";
import { scheduler } from "node:timers/promises";
import type { Bounds } from "../../../src/core/reconcile/bounds.ts";
import type { LeaseStore, Result } from "../../../src/core/reconcile/ports.ts";
import { scanStale } from "../../../src/ledger/d1-findings.ts";
import { openLeases } from "../../../src/ledger/d1-lease.ts";
import { reconcileStale, STALE_EFFECTS, type StaleParts } from "../../../src/reconcile/stale-effects.ts";
import { type Counts, openDatabase } from "./effects-file.ts";

/**
 * Where it stands still until it is killed: at its so-manieth question to a key, which is never answered and the last one asked; or in its
 * so-manieth transaction, with all statements made and nothing committed (the first one takes the lease).
 */
export type Hold = { at: "never" } | { at: "question" | "commit"; count: number };

/** How it is broken: the next page's place is stored before the page is handled, or the place is not read. */
export type Plant = "none" | "cursor-first" | "cursor-unread";

export type Wish = {
  file: string;
  /** Where the effects asked about are written, a line each; null: nowhere. */
  askedFile: string | null;
  bounds: Bounds;
  /** How far its clock is ahead. */
  aheadMs: number;
  hold: Hold;
  plant: Plant;
  /** Ended by its bounds, it runs again, so often at most. */
  runs: number;
};

export type Told = { results: Result[]; counts: Counts; seconds: number; peakMb: number };

async function go(wish: Wish): Promise<Told> {
  const asked = wish.askedFile === null ? null : openSync(wish.askedFile, "a");
  const { database, counts } = openDatabase(wish.file, makeCommitHold(wish.hold));
  let questions = 0;
  const parts: StaleParts = {
    leases: plantLeases(openLeases(database), wish.plant),
    scan: (after, stale, limit) => scanStale(database, STALE_EFFECTS, after, stale, limit),
    keys: {
      ask: async (_operation, effect) => {
        questions += 1;
        const left = wish.hold.at === "question" ? wish.hold.count - questions : Number.POSITIVE_INFINITY;
        if (left >= 0 && asked !== null) writeSync(asked, `${effect}\n`);
        if (left === 0) say({ held: true });
        if (left <= 0) await new Promise(() => undefined);
        return { kind: "open", state: "unknown" };
      },
    },
    report: () => undefined,
  };
  if (wish.plant === "cursor-first") plantScan(parts, database);
  const started = performance.now();
  const results: Result[] = [];
  for (let run = 0; run < wish.runs && (results.at(-1)?.ended ?? "bounded") === "bounded"; run++)
    results.push(await reconcileStale(parts, "cron", new AbortController().signal, wish.bounds));
  const seconds = (performance.now() - started) / 1_000;
  return { results, counts, seconds, peakMb: process.resourceUsage().maxRSS / 1_024 };
}

function makeCommitHold(hold: Hold): () => void {
  let commits = 0;
  return () => {
    commits += 1;
    if (hold.at !== "commit" || commits !== hold.count) return;
    say({ held: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}

function plantLeases(real: LeaseStore, plant: Plant): LeaseStore {
  if (plant !== "cursor-unread") return real;
  return {
    ...real,
    async acquire(claim) {
      const acquired = await real.acquire(claim);
      return acquired.kind === "held" ? { ...acquired, cursor: null } : acquired;
    },
  };
}

function plantScan(parts: StaleParts, database: D1Database): void {
  const { scan } = parts;
  parts.scan = async (...place) => {
    const page = await scan(...place);
    const store = "UPDATE leases SET cursor_at = ?1, cursor_id = ?2";
    await database.batch([database.prepare(store).bind(page.next?.at ?? null, page.next?.id ?? null)]);
    return page;
  };
}

function say(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const wish = JSON.parse(process.argv[2] ?? "") as Wish;
const realNow = Date.now;
Date.now = () => realNow() + wish.aheadMs;
// Node's own has the shape of the one that Workers have.
Object.assign(globalThis, { scheduler });
say(await go(wish));
