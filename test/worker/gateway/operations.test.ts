import { describe, expect, it, vi } from "vitest";
import { Waiters } from "../../../src/key/waiters.ts";
import { noLedger } from "../../../src/ledger/none.ts";
import { advanceClock, HOUR, SECOND, START, stopClock, stopTimers, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, operationOf, post } from "../support/gateway.ts";
import { keyObject, withParts } from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

const look = (operation: string, headers: Record<string, string | null> = {}): Promise<Response> =>
  get(`/_oncegate/operations/${operation}`, headers);

const time = (ms: number): string => new Date(ms).toISOString();

describe("the state of an operation", () => {
  it("is told to its principal, with times and effects", async () => {
    stopClock();
    const origin = mockOrigin();
    const response = await post("/pay", makeKey());
    const operation = operationOf(response);
    await expectAnswer(response, "executed");
    const told = await look(operation);
    expect(told.status).toBe(200);
    expect(told.headers.get("Cache-Control")).toBe("no-store");
    expect(await told.json()).toEqual({
      id: operation,
      state: "settled",
      ledger: { seq: 2, delivered: expect.any(Number) },
      attempts: 1,
      created_at: time(START),
      changed_at: time(START),
      expires_at: time(START + 24 * HOUR),
      effects: [
        {
          effect_id: origin.arrivals[0]?.headers.get("Effect-Id"),
          attempt: 1,
          capability: "origin.request",
          state: "committed",
        },
      ],
    });
    expect(origin.count).toBe(1);
  });

  it("has how many of its entries the ledger has, and nothing of it where no ledger is kept", async () => {
    stopClock();
    mockOrigin();
    const operation = operationOf(await post("/pay", makeKey()));
    const isDelivered = async (): Promise<boolean> => {
      const { ledger } = await (await look(operation)).json<{ ledger: { seq: number; delivered: number } }>();
      expect(ledger.seq).toBe(2);
      return ledger.delivered === 2;
    };
    await until(isDelivered);
    await withParts(keyObject(operation), { ledger: noLedger }, async (object) => {
      expect(await object.look(0)).toMatchObject({ kind: "found", status: { ledger: null } });
    });
  });

  it.each<[string, Record<string, string | null>]>([
    ["another principal", { Authorization: "Bearer mallory" }],
    ["nobody", { Authorization: null }],
    ["an operator's token alone", { Authorization: "Bearer op1.secret-of-op1" }],
  ])("is not there for %s, and no wait makes a difference", async (_case, headers) => {
    mockOrigin();
    const response = await post("/pay", makeKey());
    const operation = operationOf(response);
    stopTimers();
    await expectProblem(await look(operation, headers), "not-found", 404);
    await expectProblem(await look(operation, { ...headers, Prefer: "wait=10" }), "not-found", 404);
  });

  it.each(["x", "a".repeat(43), "a".repeat(44), `${"a".repeat(43)}.${"b".repeat(11)}`])(
    "is not there under a name that is none: %s",
    async (name) => {
      await expectProblem(await look(name), "not-found", 404);
    },
  );

  it.each<[string, number, string, number, string]>([
    ["released", 429, "released", 429, "failed"],
    ["unknown", 502, "unknown", 502, "unknown"],
    ["settled, though it is an error", 500, "settled", 500, "committed"],
  ])("is %s", async (_case, status, state, seen, effect) => {
    mockOrigin(() => new Response("answer", { status }));
    const response = await post("/pay", makeKey());
    expect(response.status).toBe(seen);
    const told = await look(operationOf(response));
    expect(await told.json()).toMatchObject({ state, attempts: 1, effects: [{ attempt: 1, state: effect }] });
  });

  it("is expired in the quarantine, and gone after it", async () => {
    stopClock();
    mockOrigin();
    const operation = operationOf(await post("/short", makeKey()));
    advanceClock(10 * SECOND);
    expect(await (await look(operation)).json()).toMatchObject({ state: "expired" });
    advanceClock(5 * SECOND);
    await expectProblem(await look(operation), "not-found", 404);
  });

  it("is told at once when it changes, to a caller who waits for that", async () => {
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const key = makeKey();
    const first = post("/pay", key);
    await origin.arrived(1);
    const operation = operationOf(await post("/pay", key));
    expect(await (await look(operation)).json()).toMatchObject({
      state: "in-flight",
      effects: [{ state: "open" }],
    });
    stopTimers();
    const waits = vi.spyOn(Waiters.prototype, "wait");
    const waiting = look(operation, { Prefer: "wait=10" });
    await until(() => waits.mock.calls.length === 1);
    gate.open();
    expect(await (await waiting).json()).toMatchObject({ state: "settled" });
    await expectAnswer(await first, "executed");
  });

  it("counts its attempts", async () => {
    mockOrigin((_arrival, number) => new Response("answer", { status: number === 1 ? 429 : 201 }));
    const key = makeKey();
    await post("/pay", key);
    const operation = operationOf(await post("/pay", key));
    expect(await (await look(operation)).json()).toMatchObject({ state: "settled", attempts: 2 });
  });
});
