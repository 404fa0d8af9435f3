import { describe, expect, it } from "vitest";
import type { RoutePolicy } from "../../../src/core/policy.ts";
import { ABSENT, type LiveRecord } from "../../../src/core/record.ts";
import { step } from "../../../src/core/step.ts";
import { settleDown } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import {
  beginAt,
  grantAt,
  keyObject,
  makeOperation,
  recordIn,
  submitTo,
  withRoutes,
} from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

type Executor = RoutePolicy["executor"];

/** Fails the test where a call is not answered soon: a loop of microtasks would never let a timer ring. */
async function answerOf<Result>(call: Promise<Result>): Promise<Result> {
  const late = scheduler.wait(5_000).then(() => Promise.reject(new Error("nobody answered")));
  return Promise.race([call, late]);
}

describe("a begin that is repeated after its route's executor has changed", () => {
  it("from Worker to object gets the grant it had, and no endless wait", async () => {
    mockOrigin();
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const first = await grantAt(stub, operation);
    await withRoutes(stub, { executor: "object" }, async (object, { storage }) => {
      const again = await answerOf(beginAt(object, operation));
      expect(again).toMatchObject({ kind: "run", grant: { token: first.token } });
      expect(recordIn(storage)).toMatchObject({ state: "in-flight", n: 1, terms: { executor: "worker" } });
    });
  });

  it("twice gets the grant it had both times, where its object has the new executor already", async () => {
    const operation = await makeOperation("worker", makeKey());
    await withRoutes(keyObject(operation.name), { executor: "object" }, async (object) => {
      const first = await answerOf(grantAt(object, operation));
      const again = await answerOf(beginAt(object, operation));
      expect(again).toMatchObject({ kind: "run", grant: { token: first.token } });
    });
  });

  it("from object to Worker while it runs waits for the one dispatch", async () => {
    const gate = makeGate();
    const origin = mockOrigin(async (_arrival, number) => {
      await gate.passed;
      return new Response(`answer ${number}`, { status: 201 });
    });
    const operation = await makeOperation("pay", makeKey());
    await withRoutes(keyObject(operation.name), { executor: "worker" }, async (object) => {
      const calls = [submitTo(object, operation), submitTo(object, operation)];
      await origin.arrived(1);
      await settleDown();
      gate.open();
      const kinds = (await answerOf(Promise.all(calls))).map(({ kind }) => kind);
      expect(origin.count).toBe(1);
      expect(kinds).toEqual(["executed", "executed"]);
    });
  });
});

describe("the executor", () => {
  it.each<[Executor, Executor]>([
    ["worker", "object"],
    ["object", "worker"],
  ])("belongs to the attempt: %s for the first, %s for the next, the other terms stay", (before, after) => {
    const { inc, effect, owner, route } = { inc: "i", effect: "e", owner: "o", route: "r" };
    const termsWith = (executor: Executor, windowMs: number): LiveRecord["terms"] => ({
      fingerprint: "rule",
      executor,
      onCrash: "hold",
      probeDelayMs: null,
      windowMs,
      quarantineMs: 1,
      leaseMs: 1_000,
      executionMsMax: 1_000,
    });
    const begin = (nonce: string, executor: Executor, windowMs: number) =>
      ({
        do: "begin",
        nonce,
        fp: "fp",
        authorized: true,
        fresh: { inc, effect, owner, route, terms: termsWith(executor, windowMs) },
      }) as const;
    const first = step(ABSENT, begin("one", before, 10), 0);
    const token = { inc, n: 1 };
    const released = step(first.record, { do: "release", token, evidence: "status-list" }, 1).record;
    const second = step(released, begin("two", after, 99), 2);
    expect(second.record).toMatchObject({ state: "in-flight", n: 2, terms: termsWith(after, 10) });
  });

  it("that has changed lets the next attempt run where the route now says", async () => {
    const origin = mockOrigin((_arrival, number) => new Response("x", { status: number === 1 ? 429 : 201 }));
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const first = await grantAt(stub, operation);
    await stub.release("worker", first.token, "status-list");
    await withRoutes(stub, { executor: "object" }, async (object, { storage }) => {
      expect((await submitTo(object, { ...operation, nonce: "two" })).kind).toBe("released");
      expect(recordIn(storage)).toMatchObject({ n: 2, terms: { executor: "object" } });
      expect((await submitTo(object, { ...operation, nonce: "three" })).kind).toBe("executed");
    });
    expect(origin.count).toBe(2);
  });
});
