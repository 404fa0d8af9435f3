import { exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Waiters } from "../../../src/key/waiters.ts";
import { advanceClock, DAY, SECOND, stopClock, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, GATEWAY, makeKey, post } from "../support/gateway.ts";
import { keyObject, nameOf, readRecord } from "../support/object.ts";
import { type Gate, makeGate, mockOrigin, type Origin } from "../support/origin.ts";

const WAITERS_MAX = 16;
const WAIT = { headers: { Prefer: "wait=10" } };

/** Counts the callers that have come to wait, or to be told that there is no place. */
function countWaits(): { readonly count: number } {
  const wait = vi.spyOn(Waiters.prototype, "wait");
  return {
    get count() {
      return wait.mock.calls.length;
    },
  };
}

/** An origin that answers its first request when the gate is opened, and further ones at once. */
function mockGatedOrigin(status = 201): Origin & { gate: Gate } {
  const gate = makeGate();
  const origin = mockOrigin(async (_arrival, number) => {
    if (number > 1) return new Response(`answer ${number}`, { status: 201 });
    await gate.passed;
    return new Response("answer 1", { status });
  });
  return Object.assign(origin, { gate });
}

afterEach(() => {
  vi.useRealTimers();
});

describe.each(["pay", "worker"])("a duplicate on /%s", (route) => {
  it("is answered at once when it doesn't ask to wait", async () => {
    const { gate, arrived } = mockGatedOrigin();
    const key = makeKey();
    const first = post(`/${route}`, key);
    await arrived(1);
    const refused = await post(`/${route}`, key);
    expect(refused.headers.get("Retry-After")).toBe("1");
    await expectProblem(refused, "in-flight", 409);
    gate.open();
    await expectAnswer(await first, "executed");
  });

  it("that prefers to wait gets the first one's answer, up to 16 of them", async () => {
    const origin = mockGatedOrigin();
    const waits = countWaits();
    const key = makeKey();
    const first = post(`/${route}`, key);
    await origin.arrived(1);
    const waiting = Array.from({ length: WAITERS_MAX }, () => post(`/${route}`, key, WAIT));
    await until(() => waits.count === WAITERS_MAX);
    await expectProblem(await post(`/${route}`, key, WAIT), "in-flight", 409);
    origin.gate.open();
    expect(await expectAnswer(await first, "executed")).toBe("answer 1");
    for (const waiter of await Promise.all(waiting)) {
      expect(await expectAnswer(waiter, "replayed")).toBe("answer 1");
    }
    expect(origin.count).toBe(1);
  });

  it("that waits for an attempt without effect runs next, once", async () => {
    const origin = mockGatedOrigin(429);
    const waits = countWaits();
    const key = makeKey();
    const first = post(`/${route}`, key);
    await origin.arrived(1);
    const waiting = [post(`/${route}`, key, WAIT), post(`/${route}`, key, WAIT)];
    await until(() => waits.count === 2);
    origin.gate.open();
    await expectAnswer(await first, "released", 429);
    const marks = (await Promise.all(waiting)).map((answer) => answer.headers.get("Idempotency-Status"));
    expect(marks.sort()).toEqual(["executed", "replayed"]);
    expect(origin.arrivals.map(({ headers }) => headers.get("Effect-Attempt"))).toEqual(["1", "2"]);
  });

  it("that waits for an attempt without an answer is told that it is unknown", async () => {
    const origin = mockGatedOrigin(502);
    const waits = countWaits();
    const key = makeKey();
    const first = post(`/${route}`, key);
    await origin.arrived(1);
    const waiting = post(`/${route}`, key, WAIT);
    await until(() => waits.count === 1);
    origin.gate.open();
    await expectProblem(await first, "outcome-unknown", 502);
    await expectProblem(await waiting, "outcome-unknown", 409);
    expect(origin.count).toBe(1);
  });

  it("gets the answer though the first caller has left", async () => {
    const origin = mockGatedOrigin();
    const waits = countWaits();
    const key = makeKey();
    const leaving = new AbortController();
    const first = exports.default.fetch(`${GATEWAY}/${route}`, {
      method: "POST",
      headers: { "Idempotency-Key": key, Authorization: "Bearer alice", "Content-Type": "application/json" },
      body: '{"amount":1}',
      signal: leaving.signal,
    });
    await origin.arrived(1);
    expect(origin.count).toBe(1);
    const waiting = post(`/${route}`, key, WAIT);
    await until(() => waits.count === 1);
    leaving.abort();
    await expect(first).rejects.toThrow();
    origin.gate.open();
    expect(await expectAnswer(await waiting, "replayed")).toBe("answer 1");
    expect(await expectAnswer(await post(`/${route}`, key), "replayed")).toBe("answer 1");
    expect(origin.count).toBe(1);
  });
});

describe("a wait", () => {
  it("ends with in-flight when its time is over, whatever was asked for", async () => {
    const { gate, arrived } = mockGatedOrigin();
    const key = makeKey();
    const first = post("/brief-wait", key);
    await arrived(1);
    const began = performance.now();
    await expectProblem(await post("/brief-wait", key, { headers: { Prefer: "wait=60" } }), "in-flight", 409);
    expect(performance.now() - began).toBeGreaterThanOrEqual(45);
    gate.open();
    await expectAnswer(await first, "executed");
  });

  /** A first caller at a gated origin, and a twin that has begun to wait for it, by a clock that stands. */
  async function beginWait(route: string) {
    stopClock();
    const { gate, arrived } = mockGatedOrigin();
    const waits = countWaits();
    const key = makeKey();
    const first = post(`/${route}`, key);
    await arrived(1);
    const waiting = post(`/${route}`, key, WAIT);
    await until(() => waits.count === 1);
    return { gate, waits, key, first, waiting };
  }

  it("is no longer where the clock goes back meanwhile", async () => {
    const { gate, waits, first, waiting } = await beginWait("brief-wait");
    advanceClock(-DAY);
    await expectProblem(await waiting, "in-flight", 409);
    expect(waits.count).toBe(1);
    gate.open();
    await expectAnswer(await first, "executed");
  });

  it("is no longer for being woken often where the clock goes back", async () => {
    const { gate, waits, key, first, waiting } = await beginWait("pay");
    const stub = keyObject(await nameOf("pay", key));
    const { inc, n } = await readRecord(stub);
    advanceClock(-DAY);
    for (let renewals = 0; renewals < 3; renewals++) {
      advanceClock(10 * SECOND);
      await stub.renew("pay", { inc, n });
    }
    await expectProblem(await waiting, "in-flight", 409);
    expect(waits.count).toBeLessThanOrEqual(2);
    gate.open();
    await expectAnswer(await first, "executed");
  });

  it("frees its place when its time is over", async () => {
    const { gate, arrived } = mockGatedOrigin();
    const key = makeKey();
    const first = post("/brief-wait", key);
    await arrived(1);
    for (let round = 0; round < 2; round++) {
      const began = performance.now();
      const waits = await Promise.all(
        Array.from({ length: WAITERS_MAX }, () => post("/brief-wait", key, WAIT)),
      );
      expect(waits.map(({ status }) => status)).toEqual(waits.map(() => 409));
      expect(performance.now() - began).toBeGreaterThanOrEqual(45);
    }
    gate.open();
    await expectAnswer(await first, "executed");
  });

  it("is refused to 984 of 1,000 duplicates, and one execution answers the rest", async () => {
    const origin = mockGatedOrigin();
    const key = makeKey();
    const first = post("/pay", key);
    await origin.arrived(1);
    let refused = 0;
    const duplicates = Array.from({ length: 1_000 }, async () => {
      const response = await post("/pay", key, WAIT);
      if (response.status === 409) refused += 1;
      await response.body?.cancel();
      return response.headers.get("Idempotency-Status");
    });
    await expect.poll(() => refused, { timeout: 8_000 }).toBe(1_000 - WAITERS_MAX);
    origin.gate.open();
    const marks = await Promise.all(duplicates);
    expect(marks.filter((mark) => mark === "replayed")).toHaveLength(WAITERS_MAX);
    expect(marks.filter((mark) => mark === "in-flight")).toHaveLength(1_000 - WAITERS_MAX);
    await expectAnswer(await first, "executed");
    expect(origin.count).toBe(1);
  });
});
