// Aim: a scan over many open effects reads each once, in bounded steps, and survives its reader. Method: the real D1, keys that only answer.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { checkBounds } from "../../../src/core/reconcile/bounds.ts";
import { type Cursor, isDue, type Page, type StaleEffect } from "../../../src/core/reconcile/finding.ts";
import type { LeaseStore, Result, RunEvent } from "../../../src/core/reconcile/ports.ts";
import { scanStale } from "../../../src/ledger/d1-findings.ts";
import { openLeases } from "../../../src/ledger/d1-lease.ts";
import { reconcile } from "../../../src/reconcile/run.ts";
import {
  clearTables,
  countCalls,
  dieAfter,
  fillEffects,
  findingsIn,
  StillTime,
} from "../support/open-effects.ts";

const NAME = "effects";
const NOW = 10_000_000;

beforeEach(clearTables);

type Setting = {
  database: D1Database;
  time: StillTime;
  leases: LeaseStore;
  asked: Map<string, number>;
  events: RunEvent[];
};

function makeSetting(database = env.DB): Setting {
  return { database, time: new StillTime(NOW), leases: openLeases(database), asked: new Map(), events: [] };
}

let tokens = 0;

function runOnce(setting: Setting, bounds: Parameters<typeof checkBounds>[0]): Promise<Result> {
  const { database, time, leases, asked, events } = setting;
  return reconcile<StaleEffect>(
    {
      name: NAME,
      scan: (after, stale, limit) => scanStale(database, NAME, after, stale, limit),
      filter: isDue,
      handle: async ({ id }) => {
        asked.set(id, (asked.get(id) ?? 0) + 1);
        return { kind: "open", code: "unknown" };
      },
      observe: (event) => void events.push(event),
    },
    { leases, time, random: () => `token-${tokens++}`, staleMs: 0 },
    { startedBy: "cron", bounds: checkBounds(bounds), abort: new AbortController().signal },
  );
}

describe("a scan", () => {
  it.each([
    ["a page of seven", 7, 1_000],
    ["a page of a hundred", 100, 3_000],
    ["one page", 1_000, 1_000],
  ])("in %s reads every open dispatch once, oldest change first", async (_size, batch, count) => {
    await fillEffects(count, 1_000);
    const setting = makeSetting();
    const result = await runOnce(setting, { batch, pages: 1_000 });
    expect(result).toMatchObject({ ended: "finished", scanned: count, handled: count });
    const ids = [...setting.asked.keys()];
    expect(ids).toHaveLength(count);
    expect(ids).toEqual(ids.toSorted());
    expect(ids.some((id) => id.includes("closed") || id.includes("told"))).toBe(false);
    expect([...setting.asked.values()].every((times) => times === 1)).toBe(true);
  });

  it("reads what is of a time to come, and nothing that is young", async () => {
    await fillEffects(3, 1_000);
    await fillEffects(3, NOW - 1, "young");
    await fillEffects(3, NOW + 2, "ahead");
    const read = [];
    for (let after: Cursor | null = null; ; ) {
      const { findings, next }: Page<StaleEffect> = await scanStale(
        env.DB,
        NAME,
        after,
        { before: NOW - 1, ahead: NOW + 1 },
        2,
      );
      read.push(...findings.map(({ effect }) => effect.replace(/[0-9]+/, "")));
      if (next === null) break;
      after = next;
    }
    expect(read).toEqual(["e", "e", "e", "ahead", "ahead", "ahead"]);
  });

  it("tells of each what its key object and its kind are", async () => {
    await fillEffects(2, 1_000);
    await env.DB.prepare("UPDATE effects SET operation = NULL WHERE effect_id = 'e0000001'").run();
    const { findings, next } = await scanStale(env.DB, NAME, null, { before: NOW, ahead: NOW }, 10);
    expect(next).toBeNull();
    expect(findings).toMatchObject([
      { effect: "e0000000", kind: "incomplete", operation: "op0", failures: 0, dueAt: 0 },
      { effect: "e0000001", kind: "ambiguous", operation: null },
    ]);
  });

  it("reads from the index of what is open, and no more of it than the page has", async () => {
    await fillEffects(1_000, 1_000);
    await fillEffects(1_000, NOW, "young");
    const read = await scanPlan();
    expect(read.plan).toContain("USING INDEX effects_unclosed ((changed_at,effect_id,stream)>");
    expect(read.plan).not.toMatch(/SCAN|TEMP B-TREE/);
    expect(read.rows).toBeLessThan(2 * 50 + 15);
  });

  it("asks D1 once for a page and once to keep it, beside renewals", async () => {
    await fillEffects(1_000, 1_000);
    const { database, counts } = countCalls();
    const { pages } = await runOnce(makeSetting(database), { batch: 100, pages: 1_000 });
    expect(pages).toBe(11);
    // Taking the lease and giving it back are one batch each.
    expect(counts).toEqual({ queries: pages, batches: pages + 2, renewals: pages });
  });
});

/** How SQLite goes about the query of a page in the middle, and how many rows it reads for it. */
async function scanPlan(): Promise<{ plan: string; rows: number }> {
  let sql = "";
  let rows = 0;
  const database = new Proxy(env.DB, {
    get: () => () => ({
      prepare(text: string) {
        sql = text;
        return {
          bind: (...cells: unknown[]) => ({
            async all() {
              const result = await env.DB.prepare(text)
                .bind(...cells)
                .all();
              rows = result.meta.rows_read;
              return result;
            },
          }),
        };
      },
    }),
  });
  await scanStale(database, NAME, { at: 1_100, id: "e0000301 x" }, { before: NOW, ahead: NOW + 1 }, 50);
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(NAME, NOW, 1_100, "e0000301", "x", 50, NOW + 1, "", "")
    .all<{ detail: string }>();
  return { plan: results.map(({ detail }) => detail).join("; "), rows };
}

describe("a run that dies", () => {
  it("between pages is followed by one that goes on from its cursor", async () => {
    await fillEffects(1_000, 1_000);
    const first = makeSetting();
    const { store, died } = dieAfter(first.leases, 4);
    first.leases = store;
    void runOnce(first, { batch: 100, pages: 1_000 });
    await died;
    const second = makeSetting();
    expect(await runOnce(second, { batch: 100, pages: 1_000 })).toMatchObject({ ended: "taken" });
    second.time.at += 30_000;
    expect(await runOnce(second, { batch: 100, pages: 1_000 })).toMatchObject({
      ended: "finished",
      scanned: 600,
    });
    const twice = [...first.asked.keys()].filter((id) => second.asked.has(id));
    expect(twice).toHaveLength(100);
    expect(new Set([...first.asked.keys(), ...second.asked.keys()]).size).toBe(1_000);
    const { results } = await env.DB.prepare("SELECT ended, pages FROM runs ORDER BY id").all();
    expect(results).toEqual([
      { ended: null, pages: 4 },
      { ended: "finished", pages: 7 },
    ]);
  });
});

describe("a hundred thousand open effects", () => {
  it("are gone through in pages of a thousand, across a death, with a query and a batch for each", async () => {
    const count = 100_000;
    await fillEffects(count, 1_000);
    const first = makeSetting();
    const { store, died } = dieAfter(first.leases, 40);
    first.leases = store;
    void runOnce(first, { batch: 1_000, pages: 1_000, concurrency: 64 });
    await died;
    const { database, counts } = countCalls();
    const second = makeSetting(database);
    second.time.at += 30_000;
    const result = await runOnce(second, { batch: 1_000, pages: 1_000, concurrency: 64 });
    expect(result).toMatchObject({ ended: "finished", scanned: count - 40_000, pages: 61 });
    expect(new Set([...first.asked.keys(), ...second.asked.keys()]).size).toBe(count);
    expect(counts).toEqual({ queries: 61, batches: 63, renewals: 61 });
    expect(findingsIn([...first.events, ...second.events])).toBe(1_000);
  }, 120_000);
});
