// Aim: one holder at a time, and what an old token says changes nothing. Method: the real D1.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { RUN_LEASE_AHEAD_MS } from "../../../src/core/limits.ts";
import type { JudgedFinding } from "../../../src/core/reconcile/finding.ts";
import type { Held, LeaseClaim, LeaseStore } from "../../../src/core/reconcile/ports.ts";
import { openLeases } from "../../../src/ledger/d1-lease.ts";
import { clearTables, fillEffects } from "../support/open-effects.ts";

const leases: LeaseStore = openLeases(env.DB);
const PROGRESS = { pages: 1, scanned: 2, handled: 1, failed: 1 };

beforeEach(clearTables);

function claimOf(token: string, now: number, until = now + 100): LeaseClaim {
  return { name: "effects", owner: `owner of ${token}`, token, startedBy: "cron", now, until };
}

function heldBy(token: string, run = 1): Held {
  return { name: "effects", token, run };
}

function verdictOf(id: string, code: string, failures = 0): JudgedFinding {
  return { id, kind: "ambiguous", operation: "name", failures, code, dueAt: 5 };
}

async function readAll(): Promise<unknown> {
  const tables = ["leases", "findings", "runs"].map((table) => env.DB.prepare(`SELECT * FROM ${table}`));
  return (await env.DB.batch(tables)).map(({ results }) => results);
}

describe("a lease", () => {
  it("is given when free or over, and not before", async () => {
    expect(await leases.acquire(claimOf("a", 0))).toEqual({ kind: "held", run: 1, cursor: null });
    expect(await leases.acquire(claimOf("b", 99))).toEqual({ kind: "taken" });
    expect(await leases.renew(heldBy("a"), 200)).toBe(true);
    expect(await leases.acquire(claimOf("b", 199))).toEqual({ kind: "taken" });
    expect(await leases.acquire(claimOf("b", 200))).toMatchObject({ kind: "held", run: 2 });
    expect(await leases.release(heldBy("b", 2), { ended: "finished", now: 201 })).toBe(true);
    expect(await leases.acquire(claimOf("c", 202))).toMatchObject({ kind: "held", run: 3 });
  });

  it("that was taken by a clock that was ahead is held no longer than any lease lasts", async () => {
    const ahead = claimOf("a", 10 * RUN_LEASE_AHEAD_MS, 10 * RUN_LEASE_AHEAD_MS + 30_000);
    await leases.acquire(ahead);
    const least = ahead.until - RUN_LEASE_AHEAD_MS;
    expect(await leases.acquire(claimOf("b", least))).toEqual({ kind: "taken" });
    expect(await leases.acquire(claimOf("b", 0))).toMatchObject({ kind: "held", run: 2 });
    expect(await leases.renew(heldBy("a"), ahead.until)).toBe(false);
  });

  it("is given to one of many who ask at once", async () => {
    const claims = Array.from({ length: 12 }, (_, i) => leases.acquire(claimOf(`t${i}`, 0)));
    const held = (await Promise.all(claims)).filter(({ kind }) => kind === "held");
    expect(held).toHaveLength(1);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM runs").first("n")).toBe(1);
  });

  it("has a token that the database doesn't know", async () => {
    await leases.acquire(claimOf("secret-token", 0));
    expect(JSON.stringify(await readAll())).not.toContain('"secret-token"');
  });

  it.each(["a", "", "other"])("that another has taken over obeys no token %j", async (token) => {
    await leases.acquire(claimOf("a", 0));
    await leases.acquire(claimOf("b", 100));
    const before = await readAll();
    const old = heldBy(token);
    const kept = {
      cursor: { at: 9, id: "x y" },
      until: 999,
      verdicts: [verdictOf("x y", "unknown")],
      progress: PROGRESS,
    };
    expect(await leases.renew(old, 999)).toBe(false);
    expect(await leases.checkpoint(old, { ...kept, now: 101 })).toBe(false);
    expect(await leases.release(old, { ended: "finished", now: 101 })).toBe(false);
    expect(await readAll()).toEqual(before);
  });

  it("that is free obeys none either", async () => {
    await leases.acquire(claimOf("a", 0));
    await leases.release(heldBy("a"), { ended: "finished", now: 1 });
    const before = await readAll();
    for (const token of ["a", ""]) expect(await leases.renew(heldBy(token), 999)).toBe(false);
    expect(await readAll()).toEqual(before);
  });
});

describe("a checkpoint", () => {
  const cursor = { at: 9, id: "x y" };

  it("keeps verdicts, cursor and progress, which outlive the holder's death", async () => {
    await leases.acquire(claimOf("a", 0));
    const verdicts = [verdictOf("x y", "unknown"), verdictOf("z y", "stranger", 1)];
    expect(
      await leases.checkpoint(heldBy("a"), { cursor, until: 50, verdicts, progress: PROGRESS, now: 7 }),
    ).toBe(true);
    expect(await leases.acquire(claimOf("b", 50))).toEqual({ kind: "held", run: 2, cursor });
    const [, findings, runs] = (await readAll()) as [unknown, unknown[], unknown[]];
    expect(findings).toMatchObject([
      { id: "x y", code: "unknown", failures: 0, first_at: 7, last_at: 7 },
      { id: "z y", code: "stranger", failures: 1, due_at: 5 },
    ]);
    expect(runs).toMatchObject([{ ...PROGRESS, ended: null, started_by: "cron" }, { pages: 0 }]);
  });

  it("that failed in the middle keeps nothing of it", async () => {
    await leases.acquire(claimOf("a", 0));
    const before = await readAll();
    const broken = { ...verdictOf("x y", "unknown"), kind: null } as unknown as JudgedFinding;
    const kept = {
      cursor,
      until: 50,
      verdicts: [verdictOf("z y", "unknown"), broken],
      progress: PROGRESS,
      now: 7,
    };
    await expect(leases.checkpoint(heldBy("a"), kept)).rejects.toThrow();
    expect(await readAll()).toEqual(before);
  });

  it("writes again only what is new, and keeps when it was found first", async () => {
    await leases.acquire(claimOf("a", 0));
    const keep = (code: string, now: number) =>
      leases.checkpoint(heldBy("a"), {
        cursor: null,
        until: 50,
        verdicts: [verdictOf("x y", code)],
        progress: PROGRESS,
        now,
      });
    await keep("unknown", 1);
    await keep("unknown", 2);
    const times = "SELECT first_at, last_at FROM findings";
    expect(await env.DB.prepare(times).first()).toEqual({ first_at: 1, last_at: 1 });
    await keep("in-flight", 3);
    expect(await env.DB.prepare(times).first()).toEqual({ first_at: 1, last_at: 3 });
  });
});

describe("a release", () => {
  it("at the end of a scan lets go of findings whose effects are closed, and only of those", async () => {
    await fillEffects(2, 0);
    const open = `e0000001 ${"1".padStart(64, "0")}`;
    await leases.acquire(claimOf("a", 0));
    const verdicts = [
      verdictOf(open, "unknown"),
      verdictOf("eclosed s", "committed"),
      verdictOf("gone s", "stranger"),
    ];
    await leases.checkpoint(heldBy("a"), { cursor: null, until: 50, verdicts, progress: PROGRESS, now: 1 });
    await leases.release(heldBy("a"), { ended: "finished", now: 2 });
    const { results } = await env.DB.prepare("SELECT id FROM findings").all();
    expect(results).toEqual([{ id: open }]);
  });

  it("keeps the last fifty runs", async () => {
    for (let run = 1; run <= 53; run++) {
      await leases.acquire(claimOf("a", run));
      await leases.release(heldBy("a", run), { ended: "finished", now: run });
    }
    const { results } = await env.DB.prepare("SELECT id, ended FROM runs ORDER BY id").all();
    expect(results).toHaveLength(50);
    expect(results[0]).toEqual({ id: 4, ended: "finished" });
  });
});
