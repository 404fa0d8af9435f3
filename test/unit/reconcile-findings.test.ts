// Aim: what keeps failing is put aside, and bounds and stores refuse what they have to. Method: as for `reconcile.test.ts`.
import { describe, expect, it } from "vitest";
import { QUARANTINED_MS_MAX } from "../../src/core/limits.ts";
import { checkBounds } from "../../src/core/reconcile/bounds.ts";
import { makeMemoryLeases } from "../../src/reconcile/memory.ts";
import { NAME, World } from "./reconcile-world.ts";

describe("a poison finding", () => {
  it.each([
    ["throws", async () => Promise.reject(new Error("no"))],
    ["is not answered", async () => ({ kind: "failed", code: "stranger" }) as const],
  ])("that %s is put into quarantine, and the page goes on", async (_how, fail) => {
    const world = new World(5);
    const poison = "id-0002";
    world.learn = async (id) => (id === poison ? fail() : world.close(id));
    const asked = (): number => world.asked.filter((id) => id === poison).length;
    for (let scans = 1; scans <= 3; scans++) {
      expect(await world.run()).toMatchObject({ ended: "finished", failed: 1 });
      expect(asked()).toBe(scans);
    }
    const { dueAt, failures } = world.kept.verdicts.get(poison) ?? { dueAt: 0, failures: 0 };
    expect(failures).toBe(3);
    expect(dueAt).toBe(world.now + 600_000);
    expect(await world.run()).toMatchObject({ ended: "finished", scanned: 1, failed: 0 });
    expect(asked()).toBe(3);
    world.now = dueAt;
    await world.run();
    expect(asked()).toBe(4);
    expect(world.kept.verdicts.get(poison)?.dueAt).toBe(world.now + 1_200_000);
    expect(world.rows.filter(({ isOpen }) => isOpen).map(({ id }) => id)).toEqual([poison]);
  });

  it("that a clock far ahead put aside is asked about once the clock is right", async () => {
    const world = new World(1);
    world.learn = async () => ({ kind: "failed", code: "stranger" }) as const;
    const right = world.now;
    world.now = right + 10 * QUARANTINED_MS_MAX;
    for (let scans = 0; scans < 4; scans++) await world.run();
    expect(world.asked).toHaveLength(3);
    world.now = right;
    await world.run();
    expect(world.asked).toHaveLength(4);
  });

  it("that never answers is given up on after its time", async () => {
    const world = new World(2);
    world.learn = (id) => {
      if (id !== "id-0000") return Promise.resolve(world.close(id));
      queueMicrotask(() => world.advance(20_000));
      return new Promise(() => undefined);
    };
    expect(await world.run()).toMatchObject({ ended: "finished", handled: 1, failed: 1 });
    expect(world.kept.verdicts.get("id-0000")).toMatchObject({ code: "took-too-long", failures: 1 });
  });

  it("that is answered again is out of quarantine", async () => {
    const world = new World(1);
    world.learn = async () => ({ kind: "failed", code: "unavailable" });
    for (let scans = 0; scans < 3; scans++) await world.run();
    world.now += 600_000;
    world.learn = async () => ({ kind: "open", code: "unknown" });
    await world.run();
    expect(world.kept.verdicts.get("id-0000")).toMatchObject({
      failures: 0,
      code: "unknown",
      dueAt: world.now,
    });
  });

  it("is also what is closed and found again and again: the pause between two questions grows to a day", async () => {
    const world = new World(1);
    world.learn = async () => ({ kind: "closed", code: "committed" });
    for (let scans = 0; scans < 20; scans++) {
      await world.run();
      world.now = Math.max(world.now, world.kept.verdicts.get("id-0000")?.dueAt ?? 0);
    }
    const before = world.now;
    await world.run();
    expect(world.kept.verdicts.get("id-0000")?.dueAt).toBe(before + 86_400_000);
  });
});

describe("bounds", () => {
  const rows: [Parameters<typeof checkBounds>[0], boolean][] = [
    [{}, true],
    [{ leaseMs: 1, batch: 1, pages: 1, concurrency: 1 }, true],
    [{ leaseMs: 240_000, batch: 1_000, pages: 1_000, concurrency: 64 }, true],
    [{ leaseMs: 0 }, false],
    [{ leaseMs: 240_001 }, false],
    [{ batch: 0 }, false],
    [{ batch: 1_001 }, false],
    [{ pages: 1_001 }, false],
    [{ concurrency: 65 }, false],
    [{ concurrency: 1.5 }, false],
    [{ pages: Number.NaN }, false],
  ];

  it.each(rows)("%j", (given, isAllowed) => {
    if (isAllowed) expect(checkBounds(given)).toMatchObject(given ?? {});
    else expect(() => checkBounds(given)).toThrow(RangeError);
  });

  it("are those of the design where none are given", () => {
    expect(checkBounds()).toEqual({ leaseMs: 30_000, batch: 100, pages: 10, concurrency: 4 });
  });
});

describe("a lease in memory", () => {
  const claim = { name: NAME, owner: "o", token: "t", startedBy: "test", now: 0, until: 10 };

  it.each([
    [false, [], true],
    [true, [], false],
    [true, ["other"], false],
    [true, [NAME], true],
  ])("in production: %s, allowed: %j", async (isProduction, allowed, isGiven) => {
    const acquired = makeMemoryLeases({ isProduction, allowed }).acquire(claim);
    if (isGiven) expect(await acquired).toMatchObject({ kind: "held" });
    else await expect(acquired).rejects.toThrow("not allowed");
  });

  it("is nobody's when free: an empty token changes nothing", async () => {
    const leases = makeMemoryLeases({ isProduction: false, allowed: [] });
    expect(await leases.renew({ name: NAME, token: "", run: 1 }, 10)).toBe(false);
  });
});
