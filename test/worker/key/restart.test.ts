import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, operationOf, post } from "../support/gateway.ts";
import {
  beginAt,
  evict,
  idOf,
  type KeyStub,
  keyObject,
  makeOperation,
  readRecord,
  runAlarm,
  submitTo,
} from "../support/object.ts";
import { makeGate, mockOrigin, type Origin } from "../support/origin.ts";

function mockSilentOrigin(): Origin {
  return mockOrigin(() => makeGate().passed.then(() => new Response()));
}

/** Leaves a record in flight that nobody runs: its object is gone, and its caller with it. */
async function loseAttempt(origin: Origin, route: string, key: string): Promise<KeyStub> {
  const operation = await makeOperation(route, key);
  const stub = keyObject(operation.name);
  const lost = submitTo(stub, operation).catch(() => undefined);
  await origin.arrived(1);
  expect((await readRecord(stub)).state).toBe("in-flight");
  await abortAllDurableObjects();
  await lost;
  // A stub is broken for good when its object ends under it.
  return keyObject(operation.name);
}

describe("FR-076 an object that ends while the origin works", () => {
  it("leaves its caller and every retry with an unknown outcome, and never runs again", async () => {
    const origin = mockSilentOrigin();
    const key = makeKey();
    const first = post("/pay", key);
    await origin.arrived(1);
    await abortAllDurableObjects();
    await expectProblem(await first, "outcome-unknown", 502);
    for (let tries = 0; tries < 3; tries++) {
      const retry = await post("/pay", key);
      expect(retry.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      await expectProblem(retry, "outcome-unknown", 409);
    }
    expect(origin.count).toBe(1);
  });

  it("is unknown at once, long before the lease is over", async () => {
    stopClock();
    const origin = mockSilentOrigin();
    const key = makeKey();
    const stub = await loseAttempt(origin, "pay", key);
    await expectProblem(await post("/pay", key, { body: "another" }), "key-reused", 422);
    const operation = await makeOperation("pay", key);
    expect(await submitTo(stub, operation)).toMatchObject({
      problem: { slug: "outcome-unknown", status: 409 },
    });
    expect(await readRecord(stub)).toMatchObject({
      state: "unknown",
      reason: "object-restarted",
      since: Date.now(),
    });
    expect(origin.count).toBe(1);
  });

  it("is told to be unknown by its alarm when nobody asks", async () => {
    stopClock();
    const origin = mockSilentOrigin();
    const stub = await loseAttempt(origin, "pay", makeKey());
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await readRecord(stub)).toMatchObject({ state: "unknown", reason: "object-restarted" });
    expect(origin.count).toBe(1);
  });

  it("is listed as unknown for its principal", async () => {
    const origin = mockSilentOrigin();
    const key = makeKey();
    await loseAttempt(origin, "pay", key);
    const listed = await get(`/_oncegate/operations/${await idOf("pay", key)}`);
    expect(await listed.json()).toMatchObject({
      state: "unknown",
      attempts: 1,
      effects: [{ state: "unknown" }],
    });
  });

  it("keeps what has been settled", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    const response = await post("/pay", key);
    const body = await expectAnswer(response, "executed");
    await evict(keyObject(operationOf(response)));
    expect(await expectAnswer(await post("/pay", key), "replayed")).toBe(body);
    await abortAllDurableObjects();
    expect(await expectAnswer(await post("/pay", key), "replayed")).toBe(body);
    expect(origin.count).toBe(1);
  });

  it("runs again only where the route says so, as the next attempt under the same origin key", async () => {
    const origin = mockOrigin((_arrival, number) =>
      number === 1 ? makeGate().passed.then(() => new Response()) : new Response("second", { status: 201 }),
    );
    const key = makeKey();
    const first = post("/retry", key);
    await origin.arrived(1);
    await abortAllDurableObjects();
    await expectProblem(await first, "outcome-unknown", 502);
    expect(await expectAnswer(await post("/retry", key), "executed")).toBe("second");
    expect(await expectAnswer(await post("/retry", key), "replayed")).toBe("second");
    const [one, two, ...more] = origin.arrivals.map(({ headers }) => headers);
    expect(more).toEqual([]);
    expect(one?.get("Idempotency-Key")).toMatch(/^[\w-]{43}$/);
    expect(two?.get("Idempotency-Key")).toBe(one?.get("Idempotency-Key"));
    expect([one?.get("Effect-Attempt"), two?.get("Effect-Attempt")]).toEqual(["1", "2"]);
    expect(two?.get("Effect-Id")).not.toBe(one?.get("Effect-Id"));
  });
});

describe("an attempt that a Worker runs", () => {
  it("goes on through a restart of its object, and its answer is stored", async () => {
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const key = makeKey();
    const first = post("/worker", key);
    await origin.arrived(1);
    await abortAllDurableObjects();
    await expectProblem(await post("/worker", key), "in-flight", 409);
    gate.open();
    await expectAnswer(await first, "executed");
    expect(await expectAnswer(await post("/worker", key), "replayed")).toBe("done");
    expect(origin.count).toBe(1);
  });

  it("is told to be unknown by the alarm at the end of its lease when the Worker is gone", async () => {
    stopClock();
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    expect((await beginAt(stub, operation)).kind).toBe("run");
    await runAlarm(stub);
    expect((await readRecord(stub)).state).toBe("in-flight");
    advanceClock(30 * SECOND);
    await runAlarm(stub);
    expect(await readRecord(stub)).toMatchObject({ state: "unknown", reason: "lease-over" });
  });
});
