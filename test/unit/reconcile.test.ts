// Aim: a run does its work once, page by page, and leaves the truth behind wherever it stops. Method: a lease store in memory, a clock in hand.
import { describe, expect, it } from "vitest";
import { NAME, type Step, World } from "./reconcile-world.ts";

const DONE = { pages: 0, scanned: 0, handled: 0, failed: 0 };

describe("a run", () => {
  it("goes through all that is open, in order, and clears the cursor at the end", async () => {
    const world = new World(25);
    const all = world.rows.map(({ id }) => id);
    expect(await world.run()).toEqual({
      ...DONE,
      acquired: true,
      ended: "finished",
      pages: 3,
      scanned: 25,
      handled: 25,
    });
    expect(world.asked).toEqual(all);
    expect(world.kept.cursor).toBeNull();
    expect(world.kept.runs).toMatchObject([{ ended: "finished", progress: { pages: 3, scanned: 25 } }]);
  });

  it("tells what happens, in this order", async () => {
    const world = new World(15);
    await world.run();
    expect(world.kinds()).toEqual(["acquired", "page", "checkpoint", "page", "checkpoint", "released"]);
  });

  it("ends at its number of pages, and the next one goes on from the cursor", async () => {
    const world = new World(25);
    world.learn = async () => ({ kind: "open", code: "unknown" });
    expect(await world.run({ pages: 2 })).toMatchObject({ ended: "bounded", pages: 2, scanned: 20 });
    expect(world.kept.cursor).toEqual({ at: 106, id: "id-0019" });
    expect(await world.run({ pages: 2 })).toMatchObject({ ended: "finished", scanned: 5 });
    expect(world.asked).toEqual(world.rows.map(({ id }) => id));
  });

  it("never asks two lanes about one finding, and no more lanes than it may", async () => {
    const world = new World(30);
    let running = 0;
    let most = 0;
    world.learn = async (id) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return world.close(id);
    };
    await world.run({ batch: 30, concurrency: 4 });
    expect(world.asked.toSorted()).toEqual(world.rows.map(({ id }) => id));
    expect(most).toBe(4);
  });

  it("leaves alone what has changed since it began", async () => {
    const world = new World(3);
    world.rows.push({ at: world.now, id: "fresh", isOpen: true });
    await world.run();
    expect(world.asked).not.toContain("fresh");
  });
});

describe("a lease that is lost", () => {
  const rows: [Step, number, { asked: number; cursor: boolean }][] = [
    ["renew", 1, { asked: 0, cursor: false }],
    ["renew", 2, { asked: 10, cursor: true }],
    ["scan", 1, { asked: 10, cursor: false }],
    ["handle", 3, { asked: 10, cursor: false }],
    ["checkpoint", 1, { asked: 10, cursor: false }],
    ["checkpoint", 2, { asked: 20, cursor: true }],
  ];

  it.each(rows)(
    "before %s number %i ends the run and what came with it is not kept",
    async (step, nth, left) => {
      const world = new World(25);
      world.before = async (at, number) => {
        if (at === step && number === nth) expect(await world.takeOver()).toBe(true);
      };
      expect(await world.run()).toMatchObject({ acquired: true, ended: "lease-lost" });
      expect(world.asked).toHaveLength(left.asked);
      expect(world.kept.cursor !== null).toBe(left.cursor);
      expect(world.kept.verdicts.size).toBe(left.cursor ? 10 : 0);
      expect(world.kinds().slice(-1)).toEqual(["lease-lost"]);
      expect(await world.leases.renew({ name: NAME, token: "other", run: 2 }, 0)).toBe(true);
    },
  );

  it("during a page is noticed by the timer, and aborts the handlers", async () => {
    const world = new World(5);
    const stopped: boolean[] = [];
    world.learn = (_id, stop) =>
      new Promise((_resolve, reject) => {
        stop.addEventListener("abort", () => {
          stopped.push(true);
          reject(new Error("aborted"));
        });
        void world.takeOver().then(() => world.advance(10_000));
      });
    expect(await world.run()).toMatchObject({ ended: "lease-lost", handled: 0, failed: 0 });
    expect(stopped).toEqual([true]);
    expect(world.calls).not.toContain("checkpoint");
    expect(world.kept.verdicts.size).toBe(0);
  });

  it("is not waited for by a handler that doesn't listen", async () => {
    const world = new World(5);
    world.learn = async () => {
      await world.takeOver();
      world.advance(10_000);
      return new Promise(() => undefined);
    };
    expect(await world.run()).toMatchObject({ ended: "lease-lost" });
  });

  it("is assumed when no renewal gets through until it is over", async () => {
    const world = new World(5);
    world.before = (step, nth) => {
      if (step === "renew" && nth > 1) throw new Error("no answer");
    };
    world.learn = async () => {
      for (let third = 0; third < 4; third++) {
        world.advance(10_000);
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      }
      return new Promise(() => undefined);
    };
    expect(await world.run()).toMatchObject({ ended: "lease-lost" });
    expect(world.calls.filter((call) => call === "renew").length).toBe(4);
  });

  it("is assumed when a renewal fails and the clock has gone back", async () => {
    const world = new World(5);
    world.before = (step, nth) => {
      if (step !== "renew" || nth === 1) return;
      world.now -= 86_400_000;
      throw new Error("no answer");
    };
    world.learn = async () => {
      world.advance(10_000);
      return new Promise(() => undefined);
    };
    expect(await world.run()).toMatchObject({ ended: "lease-lost" });
    expect(world.calls.filter((call) => call === "renew").length).toBe(2);
  });

  it("is kept through a long page by the timer", async () => {
    const world = new World(5);
    world.learn = async (id) => {
      world.advance(10_000);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      return world.close(id);
    };
    expect(await world.run()).toMatchObject({ ended: "finished", handled: 5 });
    expect(world.now - 1_000_000).toBe(50_000);
  });
});

describe("an abort", () => {
  const rows: [Step | "start", number, { acquired: boolean; pages: number; asked: number }][] = [
    ["start", 0, { acquired: false, pages: 0, asked: 0 }],
    ["acquire", 1, { acquired: true, pages: 0, asked: 0 }],
    ["checkpoint", 1, { acquired: true, pages: 1, asked: 10 }],
    ["scan", 2, { acquired: true, pages: 2, asked: 10 }],
    ["handle", 13, { acquired: true, pages: 2, asked: 13 }],
  ];

  it.each(rows)("before %s number %i is honoured", async (step, nth, { acquired, pages, asked }) => {
    const world = new World(25);
    const abort = new AbortController();
    if (step === "start") abort.abort();
    world.before = (at, number) => {
      if (at === step && number === nth) abort.abort();
    };
    const result = await world.run({}, abort.signal);
    expect(result).toMatchObject({ acquired, pages, ended: "aborted" });
    expect(world.asked).toHaveLength(asked);
    expect(world.kept.until).toBe(0);
    const handled = new Set(world.asked.slice(0, asked));
    world.before = () => undefined;
    expect(await world.run()).toMatchObject({ ended: "finished" });
    expect(new Set(world.asked)).toEqual(new Set(world.rows.map(({ id }) => id)));
    expect(handled.size).toBe(asked);
  });
});

describe("a fault", () => {
  const rows: [Step, number, string, boolean][] = [
    ["acquire", 1, "lease", false],
    ["renew", 1, "lease", true],
    ["renew", 2, "lease", true],
    ["scan", 1, "scan", true],
    ["checkpoint", 2, "checkpoint", true],
  ];

  it.each(rows)(
    "of %s number %i ends the run, is told, and the next run goes on",
    async (step, nth, code, acquired) => {
      const world = new World(25);
      world.before = (at, number) => {
        if (at === step && number === nth) throw new Error("no answer");
      };
      expect(await world.run()).toMatchObject({ acquired, ended: "failed" });
      expect(world.events.find(({ kind }) => kind === "failed")).toEqual({
        kind: "failed",
        finding: null,
        code,
      });
      world.before = () => undefined;
      expect(await world.run()).toMatchObject({ ended: "finished" });
      expect(world.rows.every(({ isOpen }) => !isOpen)).toBe(true);
    },
  );

  it("of the release leaves the lease to its end, and nobody runs before", async () => {
    const world = new World(5);
    world.before = (step) => {
      if (step === "release") throw new Error("no answer");
    };
    expect(await world.run()).toMatchObject({ ended: "finished" });
    expect(world.kinds()).not.toContain("released");
    expect(await world.run()).toMatchObject({ acquired: false, ended: "taken" });
    world.now += 30_001;
    expect(await world.run()).toMatchObject({ acquired: true });
  });

  it("is a next cursor that does not lie behind the last: it is not stored", async () => {
    const world = new World(25);
    world.learn = async () => ({ kind: "open", code: "unknown" });
    world.next = (_page, next) =>
      world.calls.filter((call) => call === "scan").length > 1 ? { at: 103, id: "id-0009" } : next;
    expect(await world.run()).toMatchObject({ ended: "failed", pages: 1 });
    expect(world.kept.cursor).toEqual({ at: 103, id: "id-0009" });
    expect(world.asked).toHaveLength(10);
  });
});

describe("observers", () => {
  it.each<[string, World["observe"]]>([
    [
      "throws",
      () => {
        throw new Error("observer");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("observer"))],
  ])("one that %s breaks nothing", async (_how, observe) => {
    const world = new World(15);
    world.observe = observe;
    expect(await world.run()).toMatchObject({ ended: "finished", handled: 15 });
  });
});

describe("two reconcilers", () => {
  it("at once: one works, the other does nothing", async () => {
    const world = new World(25);
    const results = await Promise.all([world.run(), world.run()]);
    expect(results.map(({ acquired }) => acquired)).toEqual([true, false]);
    expect(results[1]).toEqual({ ...DONE, acquired: false, ended: "taken" });
    expect(world.asked).toHaveLength(25);
  });

  it("one after the other's death: the page is repeated, the cursor is right", async () => {
    const world = new World(25);
    world.learn = async (id) => ({ kind: "open", code: id });
    let isDead = false;
    world.before = (step, nth) => {
      if (step === "handle" && nth === 15) isDead = true;
      // Whoever is dead says nothing more to anybody.
      if (isDead) return new Promise(() => undefined);
    };
    void world.run();
    for (let turn = 0; turn < 2_000 && !isDead; turn++) await Promise.resolve();
    expect(world.kept.cursor).toEqual({ at: 103, id: "id-0009" });
    world.before = () => undefined;
    isDead = false;
    expect(await world.run()).toMatchObject({ acquired: false });
    world.now += 30_001;
    expect(await world.run()).toMatchObject({ ended: "finished", scanned: 15 });
    expect(world.asked.filter((id) => id === "id-0005")).toHaveLength(1);
    expect(world.asked.filter((id) => id === "id-0012")).toHaveLength(2);
    expect(world.kept.runs).toMatchObject([{ ended: null }, { ended: "finished" }]);
  });
});
