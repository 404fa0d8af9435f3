import { describe, expect, it, vi } from "vitest";
import type { RoutePolicy } from "../../../src/core/policy.ts";
import type { Operation } from "../../../src/core/ports.ts";
import { passTime, SECOND, START, stopClock, stopTimers } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import { grantAt, keyObject, makeOperation, recordIn, submitTo, withRoutes } from "../support/object.ts";
import { mockOrigin, type Origin } from "../support/origin.ts";

const EXECUTION_MS = 20 * SECOND;

/** An origin that goes on sending for as long as somebody takes it. */
function mockEndless(headers: Record<string, string>): Origin {
  return mockOrigin(() => {
    const chunk = new TextEncoder().encode("x".repeat(1_000));
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(chunk) });
    return new Response(body, { status: 200, headers });
  });
}

const ANSWERS: [string, Record<string, string>, Partial<RoutePolicy>][] = [
  ["an event stream", { "Content-Type": "text/event-stream" }, { executionMsMax: EXECUTION_MS }],
  [
    "an answer over the limit",
    {},
    { executionMsMax: 60 * SECOND, originTimeoutMs: EXECUTION_MS, responseBytesMax: 1_024 },
  ],
];

describe.each(ANSWERS)("a caller that doesn't read on %s", (_name, headers, changes) => {
  it("holds the operation no longer than its deadline", async () => {
    stopTimers();
    const origin = mockEndless(headers);
    const operation = await makeOperation("pay", makeKey());
    await withRoutes(keyObject(operation.name), changes, async (object, { storage }) => {
      const response = await submitTo(object, operation);
      if (response.kind !== "streamed") throw new Error(response.kind);
      await passTime(EXECUTION_MS - 1);
      expect(recordIn(storage).state).toBe("in-flight");
      await passTime(1);
      expect(recordIn(storage)).toMatchObject({ state: "unknown" });
      const retry: Operation = { ...operation, nonce: crypto.randomUUID() };
      expect(await submitTo(object, retry)).toMatchObject({
        problem: { slug: "outcome-unknown", status: 409 },
      });
      await expect(new Response(response.given.body).arrayBuffer()).rejects.toThrow();
    });
    expect(origin.count).toBe(1);
  });
});

describe("a lease", () => {
  it.each([
    ["shorter than a lease", 20 * SECOND],
    ["as long as a lease", 30 * SECOND],
    ["longer than a lease", 50 * SECOND],
  ])("never ends after the longest execution of its route: %s", async (_case, executionMsMax) => {
    stopClock();
    const operation = await makeOperation("worker", makeKey());
    const rules = { executor: "worker", executionMsMax } as const;
    await withRoutes(keyObject(operation.name), rules, async (object, { storage }) => {
      const grant = await grantAt(object, operation);
      expect(grant.leaseMs).toBeLessThanOrEqual(executionMsMax);
      const ends: unknown[] = [];
      for (let passed = 0; passed < executionMsMax; passed += 5 * SECOND) {
        vi.setSystemTime(START + passed);
        await object.renew("worker", grant.token);
        const record = recordIn(storage);
        ends.push(record.state === "in-flight" && record.leaseUntil);
      }
      expect(Math.max(...ends.map(Number))).toBe(START + executionMsMax);
    });
  });
});
