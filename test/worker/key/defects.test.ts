import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { LocalClaim } from "../../../src/key/local-claim.ts";
import { Waiters } from "../../../src/key/waiters.ts";
import type { KeyObject } from "../../../src/worker.ts";
import { passTime, SECOND, settleDown, stopTimers, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { linesOf } from "../support/log.ts";
import {
  keyObject,
  keyring,
  makeOperation,
  nameOf,
  readTraces,
  recordIn,
  submitTo,
  withParts,
} from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

const BROKEN = { ...keyring, dataKey: () => Promise.reject(new Error("SECRET of an exception")) };

/** Nothing can be sealed from here on, wherever the attempt runs. */
function breakSealing(): void {
  vi.spyOn(crypto.subtle, "encrypt").mockRejectedValue(new Error("SECRET of an exception"));
}

describe("a defect between dispatch and close", () => {
  it.each(["pay", "worker"])(
    "ends the attempt of /%s: reported once, and unknown from then on",
    async (route) => {
      const origin = mockOrigin();
      const key = makeKey();
      breakSealing();
      const lost = await expectProblem(await post(`/${route}`, key), "outcome-unknown", 502);
      expect(JSON.stringify(lost)).not.toContain("SECRET");
      vi.restoreAllMocks();
      mockOrigin(() => Promise.reject(new Error("nobody may ask again")));
      await expectProblem(await post(`/${route}`, key), "outcome-unknown", 409);
      expect(origin.count).toBe(1);
    },
  );

  it.each(["pay", "worker"])("in an attempt of /%s is one line of the log", async (route) => {
    mockOrigin();
    breakSealing();
    await post(`/${route}`, makeKey());
    expect(linesOf("defect")).toEqual([{ event: "defect", where: expect.any(String), error: "Error" }]);
  });

  it("leaves nobody waiting: neither the same call made again, nor a twin", async () => {
    const gate = makeGate();
    const origin = mockOrigin(() => gate.passed.then(() => new Response("done", { status: 201 })));
    const operation = await makeOperation("pay", makeKey());
    await withParts(keyObject(operation.name), { keyring: BROKEN }, async (object, { storage }) => {
      const calls = [submitTo(object, operation), submitTo(object, operation)];
      await origin.arrived(1);
      const twin = submitTo(object, { ...operation, nonce: crypto.randomUUID(), waitMs: 1_000 });
      await settleDown();
      gate.open();
      for (const call of calls) {
        expect(await call).toMatchObject({ problem: { slug: "outcome-unknown", status: 502 } });
      }
      expect(await twin).toMatchObject({ problem: { slug: "outcome-unknown", status: 409 } });
      expect(recordIn(storage)).toMatchObject({ state: "unknown", reason: "object-restarted" });
      expect(linesOf("defect")).toHaveLength(1);
    });
    expect(origin.count).toBe(1);
  });

  it.each(["a twin", "a status read"])("is told at once to %s that waits alone", async (who) => {
    const gate = makeGate();
    const origin = mockOrigin(() => gate.passed.then(() => new Response("done", { status: 201 })));
    const operation = await makeOperation("pay", makeKey());
    const waits = vi.spyOn(Waiters.prototype, "wait");
    // Nobody's time to wait is ever over.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await withParts(keyObject(operation.name), { keyring: BROKEN }, async (object) => {
      const first = submitTo(object, operation);
      await origin.arrived(1);
      const twin = { ...operation, nonce: crypto.randomUUID(), waitMs: 10_000 };
      const waiting: Promise<unknown> = who === "a twin" ? submitTo(object, twin) : object.look(10_000);
      await until(() => waits.mock.calls.length === 1);
      gate.open();
      await first;
      expect(await waiting).toMatchObject(
        who === "a twin" ? { problem: { slug: "outcome-unknown" } } : { status: { state: "unknown" } },
      );
    });
  });

  it("that is the dispatch itself ends the lease: nobody renews it any more, and a status read finds it", async () => {
    stopTimers();
    const renew = vi.spyOn(LocalClaim.prototype, "renew");
    const operation = await makeOperation("long", makeKey());
    const origin = { dispatch: () => Promise.reject(new Error("SECRET of an exception")) };
    await withParts(keyObject(operation.name), { origin }, async (object) => {
      expect(await submitTo(object, operation)).toMatchObject({
        problem: { slug: "outcome-unknown", status: 502 },
      });
      await passTime(25 * SECOND);
      expect(renew).not.toHaveBeenCalled();
      expect(await object.look(0)).toMatchObject({ kind: "found", status: { state: "unknown" } });
    });
    expect(linesOf("defect")).toHaveLength(1);
  });

  it("is found by a status read, too", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    await withParts(keyObject(operation.name), { keyring: BROKEN }, async (object) => {
      await submitTo(object, operation);
      expect(await object.look(0)).toMatchObject({ kind: "found", status: { state: "unknown" } });
    });
  });
});

describe("an alarm", () => {
  it("over a store that can't be read throws nothing, and rings again", async () => {
    mockOrigin();
    const key = makeKey();
    await expectAnswer(await post("/pay", key), "executed");
    const stub = keyObject(await nameOf("pay", key));
    await settleDown();
    await runInDurableObject(stub, async (object: KeyObject, { storage }) => {
      await storage.deleteAlarm();
      const get = vi.spyOn(storage.kv, "get").mockImplementation(() => {
        throw new Error("disk gone");
      });
      await expect(object.alarm()).resolves.toBeUndefined();
      get.mockRestore();
    });
    expect((await readTraces(stub)).alarm).not.toBeNull();
    await expectAnswer(await post("/pay", key), "replayed");
  });

  it("of a misconfigured deployment throws nothing, and rings again", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    await submitTo(stub, operation);
    await settleDown();
    await runInDurableObject(stub, async (object: KeyObject, { storage }) => {
      await storage.deleteAlarm();
      vi.spyOn(object as unknown as { parts: () => Promise<never> }, "parts").mockRejectedValue(
        new Error("x"),
      );
      await expect(object.alarm()).resolves.toBeUndefined();
    });
    expect((await readTraces(stub)).alarm).not.toBeNull();
  });

  it("whose arming fails throws nothing", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    await submitTo(stub, operation);
    await settleDown();
    await runInDurableObject(stub, async (object: KeyObject, { storage }) => {
      vi.spyOn(storage, "setAlarm").mockImplementation(() => {
        throw new Error("disk gone");
      });
      await expect(object.alarm()).resolves.toBeUndefined();
    });
  });
});
