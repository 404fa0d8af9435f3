import { describe, expect, it, vi } from "vitest";
import {
  advanceClock,
  MINUTE,
  passTime,
  SECOND,
  START,
  settleDown,
  stopClock,
  stopTimers,
  until,
} from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import {
  beginAt,
  grantAt,
  keyObject,
  makeOperation,
  nameOf,
  readRecord,
  submitTo,
} from "../support/object.ts";
import { makeGate, mockOrigin, type Origin } from "../support/origin.ts";

/** An origin whose answers wait for the gates, one each, in the order of arrival. */
function mockGatedOrigin(count: number): Origin & { gates: (() => void)[] } {
  const gates = Array.from({ length: count }, makeGate);
  const origin = mockOrigin(async (_arrival, number) => {
    await gates[number - 1]?.passed;
    return new Response(`answer ${number}`, { status: 201 });
  });
  return Object.assign(origin, { gates: gates.map(({ open }) => open) });
}

describe("a lease", () => {
  it("is renewed while a slow call runs, so that nobody takes it for lost", async () => {
    stopTimers();
    const origin = mockGatedOrigin(1);
    const key = makeKey();
    const first = post("/long", key);
    await origin.arrived(1);
    const stub = keyObject(await nameOf("long", key));
    for (let passed = 0; passed < 90 * SECOND; passed += 10 * SECOND) {
      await passTime(10 * SECOND);
      await until(async () => {
        const record = await readRecord(stub);
        if (record.state !== "in-flight") throw new Error(record.state);
        return record.leaseUntil === Date.now() + 30 * SECOND;
      });
    }
    await expectProblem(await post("/long", key), "in-flight", 409);
    origin.gates[0]?.();
    expect(await expectAnswer(await first, "executed")).toBe("answer 1");
    expect(origin.count).toBe(1);
  });

  it("is not renewed beyond the longest execution of its route", async () => {
    stopClock();
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    expect(grant).toMatchObject({ leaseMs: 30 * SECOND, executionMs: 5 * MINUTE });
    const { token } = grant;
    for (let passed = 0; passed < 5 * MINUTE - 20 * SECOND; passed += 20 * SECOND) {
      advanceClock(20 * SECOND);
      expect(await stub.renew("worker", token)).toBe("renewed");
    }
    const record = await readRecord(stub);
    expect(record.state === "in-flight" && record.leaseUntil).toBe(START + 5 * MINUTE);
    advanceClock(20 * SECOND);
    expect(await stub.renew("worker", token)).not.toBe("renewed");
  });

  it("that is over makes the outcome unknown, and the late answer is still welcome", async () => {
    stopClock();
    const origin = mockGatedOrigin(1);
    const key = makeKey();
    const first = post("/worker", key);
    await origin.arrived(1);
    advanceClock(31 * SECOND);
    await expectProblem(await post("/worker", key), "outcome-unknown", 409);
    origin.gates[0]?.();
    expect(await expectAnswer(await first, "executed")).toBe("answer 1");
    expect(await expectAnswer(await post("/worker", key), "replayed")).toBe("answer 1");
    expect(origin.count).toBe(1);
  });
});

describe("an attempt that another has taken over from", () => {
  it("can't store its answer and is told that its claim is lost", async () => {
    stopClock();
    const origin = mockGatedOrigin(2);
    const key = makeKey();
    const first = post("/worker-retry", key);
    await origin.arrived(1);
    advanceClock(31 * SECOND);
    const second = post("/worker-retry", key);
    await origin.arrived(2);
    origin.gates[0]?.();
    const lost = await first;
    expect(lost.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await expectProblem(lost, "claim-lost", 503);
    await expectProblem(await post("/worker-retry", key), "in-flight", 409);
    origin.gates[1]?.();
    expect(await expectAnswer(await second, "executed")).toBe("answer 2");
    expect(await expectAnswer(await post("/worker-retry", key), "replayed")).toBe("answer 2");
    expect(origin.count).toBe(2);
  });

  it("is stopped in mid-call when it renews", async () => {
    stopTimers();
    const origin = mockGatedOrigin(2);
    const key = makeKey();
    const first = post("/worker-retry", key);
    await origin.arrived(1);
    // The clock jumps and no timer has rung: the first attempt does not know yet.
    vi.setSystemTime(START + 31 * SECOND);
    const second = post("/worker-retry", key);
    await origin.arrived(2);
    await passTime(10 * SECOND);
    await expectProblem(await first, "claim-lost", 503);
    origin.gates[1]?.();
    expect(await expectAnswer(await second, "executed")).toBe("answer 2");
  });

  it("goes by other effect ids and the same origin key", async () => {
    stopClock();
    const origin = mockGatedOrigin(2);
    const key = makeKey();
    const first = post("/worker-retry", key);
    await origin.arrived(1);
    advanceClock(31 * SECOND);
    const second = post("/worker-retry", key);
    await origin.arrived(2);
    for (const open of origin.gates) open();
    await Promise.all([first, second]);
    const read = (name: string) => origin.arrivals.map(({ headers }) => headers.get(name));
    expect(read("Effect-Attempt")).toEqual(["1", "2"]);
    expect(new Set(read("Effect-Id")).size).toBe(2);
    expect(new Set(read("Idempotency-Key")).size).toBe(1);
    expect(read("Idempotency-Key")).not.toContain(key);
  });
});

describe("a call that is made again", () => {
  it("gets the grant it had, and no second one", async () => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const [one, two] = [await beginAt(stub, operation), await beginAt(stub, operation)];
    if (one.kind !== "run" || two.kind !== "run") throw new Error(`${one.kind}, ${two.kind}`);
    expect(two.grant).toMatchObject({ token: one.grant.token, effect: one.grant.effect });
    expect((await readRecord(stub)).n).toBe(1);
    const other = await beginAt(stub, { ...operation, nonce: crypto.randomUUID() });
    expect(other).toMatchObject({ kind: "refused", problem: { slug: "in-flight" } });
  });

  it("waits for the one dispatch and has executed, both times", async () => {
    const origin = mockGatedOrigin(1);
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    const calls = [submitTo(stub, operation), submitTo(stub, operation)];
    await origin.arrived(1);
    await settleDown();
    origin.gates[0]?.();
    for (const call of await Promise.all(calls)) {
      expect(call.kind).toBe("executed");
    }
    expect((await submitTo(stub, operation)).kind).toBe("executed");
    expect((await submitTo(stub, { ...operation, nonce: crypto.randomUUID() })).kind).toBe("replayed");
    expect(origin.count).toBe(1);
  });

  it("settles, reports and releases once", async () => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const { token } = await grantAt(stub, operation);
    expect(await stub.report("worker", token, "timeout")).toBe("done");
    expect(await stub.report("worker", token, "timeout")).toBe("done");
    expect(await stub.release("worker", token, "status-list")).toBe("done");
    expect(await stub.release("worker", token, "status-list")).toBe("done");
    expect(await stub.report("worker", token, "timeout")).toBe("fenced");
    expect(await stub.renew("worker", token)).toBe("fenced");
    expect((await readRecord(stub)).state).toBe("released");
  });

  it.each([
    ["another life", { inc: "0".repeat(32), n: 1 }],
    ["a later attempt", { n: 2 }],
  ])("with the token of %s changes nothing", async (_case, change) => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    const token = { ...grant.token, ...change };
    expect(await stub.renew("worker", token)).toBe("fenced");
    expect(await stub.report("worker", token, "timeout")).toBe("fenced");
    expect(await stub.release("worker", token, "status-list")).toBe("fenced");
    expect((await readRecord(stub)).state).toBe("in-flight");
  });
});

describe.each(["pay", "worker"])("requests at the same instant on /%s", (route) => {
  it("run once, and everybody else is told of it", async () => {
    const origin = mockGatedOrigin(1);
    const key = makeKey();
    const calls = Array.from({ length: 50 }, () => post(`/${route}`, key));
    let inFlight = 0;
    for (const call of calls) void call.then(({ status }) => (inFlight += status === 409 ? 1 : 0));
    await until(() => inFlight === 49);
    origin.gates[0]?.();
    const responses = await Promise.all(calls);
    const marks = responses.map(({ headers }) => headers.get("Idempotency-Status"));
    expect(marks.filter((mark) => mark === "executed")).toHaveLength(1);
    expect(marks.filter((mark) => mark === "in-flight")).toHaveLength(49);
    expect(new Set(responses.map(operationOf)).size).toBe(1);
    expect(origin.count).toBe(1);
  });
});
