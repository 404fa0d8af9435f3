import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { QuotaObject } from "../../../src/worker.ts";
import { advanceClock, MINUTE, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

let callersMade = 0;

/** A caller who has used nothing of the quota of two new keys a minute. */
function makeCaller(): { headers: { Authorization: string } } {
  callersMade += 1;
  return { headers: { Authorization: `Bearer caller-${callersMade}` } };
}

describe("a quota of two new keys a minute", () => {
  it("refuses the third, for that caller and that minute only", async () => {
    stopClock();
    const origin = mockOrigin();
    const [caller, other] = [makeCaller(), makeCaller()];
    for (let taken = 0; taken < 2; taken++) {
      await expectAnswer(await post("/quota", makeKey(), caller), "executed");
    }
    const third = makeKey();
    const refused = await post("/quota", third, caller);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("Retry-After"))).toBeLessThanOrEqual(60);
    await expectProblem(refused, "quota-exceeded", 429);
    await expectAnswer(await post("/quota", third, other), "executed");
    expect(origin.count).toBe(3);
    advanceClock(MINUTE);
    await expectAnswer(await post("/quota", third, caller), "executed");
  });

  it("takes nothing for a known key, evicts nothing, and goes on answering", async () => {
    stopClock();
    const origin = mockOrigin();
    const caller = makeCaller();
    const [first, second] = [makeKey(), makeKey()];
    const body = await expectAnswer(await post("/quota", first, caller), "executed");
    for (let replay = 0; replay < 5; replay++) {
      expect(await expectAnswer(await post("/quota", first, caller), "replayed")).toBe(body);
    }
    await expectAnswer(await post("/quota", second, caller), "executed");
    await expectProblem(await post("/quota", makeKey(), caller), "quota-exceeded", 429);
    expect(await expectAnswer(await post("/quota", first, caller), "replayed")).toBe(body);
    await expectProblem(await post("/quota", first, { ...caller, body: "another" }), "key-reused", 422);
    expect(origin.count).toBe(2);
  });

  it("takes one for a key that is asked for many times at once", async () => {
    stopClock();
    const gate = makeGate();
    const origin = mockOrigin(async (_arrival, number) => {
      await gate.passed;
      return new Response(`answer ${number}`, { status: 201 });
    });
    const caller = makeCaller();
    const key = makeKey();
    const together = Array.from({ length: 4 }, () => post("/quota", key, caller));
    await origin.arrived(1);
    gate.open();
    const statuses = (await Promise.all(together)).map(({ status }) => status);
    expect(statuses).not.toContain(429);
    await expectAnswer(await post("/quota", makeKey(), caller), "executed");
    expect(origin.count).toBe(2);
  });

  it("takes nothing for another attempt of a key that was released", async () => {
    stopClock();
    mockOrigin((_arrival, number) => new Response("answer", { status: number < 4 ? 429 : 201 }));
    const caller = makeCaller();
    const key = makeKey();
    for (let tries = 0; tries < 3; tries++) {
      await expectAnswer(await post("/quota", key, caller), "released", 429);
    }
    await expectAnswer(await post("/quota", key, caller), "executed");
    await expectAnswer(await post("/quota", makeKey(), caller), "executed");
    await expectProblem(await post("/quota", makeKey(), caller), "quota-exceeded", 429);
  });

  it("outlives an alarm that rings early, and is forgotten by one that does not", async () => {
    stopClock();
    const counter = env.QUOTAS.getByName("somebody who is counted");
    expect(await counter.take(1)).toBe(true);
    await runDurableObjectAlarm(counter);
    expect(await counter.take(1)).toBe(false);
    advanceClock(2 * MINUTE);
    expect(await runDurableObjectAlarm(counter)).toBe(true);
    const left = await runInDurableObject(counter, (_object, { storage }) => storage.kv.get("count"));
    expect(left).toBeUndefined();
  });

  it("that can't be counted refuses new keys and still answers known ones", async () => {
    const origin = mockOrigin();
    const caller = makeCaller();
    const known = makeKey();
    await expectAnswer(await post("/quota", known, caller), "executed");
    const take = vi.spyOn(QuotaObject.prototype, "take").mockImplementation(() => {
      throw new Error("disk full");
    });
    const refused = await post("/quota", makeKey(), caller);
    expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await expectProblem(refused, "store-unavailable", 503);
    expect(take).toHaveBeenCalled();
    await expectAnswer(await post("/quota", known, caller), "replayed");
    expect(origin.count).toBe(1);
  });
});
