import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { advanceClock, DAY, HOUR, SECOND, stopClock } from "../support/clock.ts";
import { expectProblem, get, makeKey, makeRequest, operationOf, post, send } from "../support/gateway.ts";
import { evict, keyObject, readRecord } from "../support/object.ts";
import { type Arrival, makeGate, mockOrigin } from "../support/origin.ts";

const CHARGE = { effect_id: "charge-1", capability: "payments.charge" };

beforeEach(stopClock);

const tokenOf = (arrival: Arrival | undefined): string => arrival?.headers.get("Effect-Token") ?? "";

function report(token: string, entries: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const body =
    typeof entries === "string"
      ? entries
      : (Array.isArray(entries) ? entries : [entries]).map((entry) => JSON.stringify(entry)).join("\n");
  return send(
    makeRequest("/_oncegate/effects", {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, ...headers },
      body,
    }),
  );
}

/** One executed operation, and the token its attempt was sent with. */
async function execute(
  path = "/pay",
): Promise<{ token: string; operation: string; key: string; effect: string }> {
  const origin = mockOrigin();
  const key = makeKey();
  const response = await post(path, key);
  await response.text();
  const operation = operationOf(response);
  const arrival = origin.arrivals.at(-1);
  return { token: tokenOf(arrival), operation, key, effect: arrival?.headers.get("Effect-Id") ?? "" };
}

async function effectsOf(operation: string): Promise<Record<string, unknown>[]> {
  const response = await get(`/_oncegate/operations/${operation}`);
  return (await response.json<{ effects: Record<string, unknown>[] }>()).effects.slice(1);
}

const expectTaken = async (response: Response, counts: [number, number, number]): Promise<void> => {
  const [recorded, repeated, flagged] = counts;
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 200,
    body: { recorded, repeated, flagged },
  });
};

describe("a report of effects", () => {
  it("is taken as an object, and as lines", async () => {
    const { token, operation } = await execute();
    await expectTaken(await report(token, JSON.stringify(CHARGE, null, 2)), [1, 0, 0]);
    const lines = [
      { ...CHARGE, phase: "committed", cost: { "money.eur": 12 } },
      { effect_id: "mail-1", capability: "mail.send", target: "queue-7" },
    ];
    const text = `${lines.map((line) => JSON.stringify(line)).join("\r\n\n")}\n`;
    await expectTaken(await report(token, text, { "Content-Type": "application/x-ndjson" }), [2, 0, 0]);
    expect(await effectsOf(operation)).toEqual([
      { effect_id: "charge-1", attempt: 1, capability: "payments.charge", state: "committed" },
      { effect_id: "mail-1", attempt: 1, capability: "mail.send", state: "open" },
    ]);
  });

  it("is taken while its attempt runs, with the token in the field it came in", async () => {
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const first = post("/pay", makeKey());
    await origin.arrived(1);
    const body = JSON.stringify(CHARGE);
    const headers = { "Effect-Token": tokenOf(origin.arrivals[0]) };
    const response = await send(makeRequest("/_oncegate/effects", { method: "POST", headers, body }));
    await expectTaken(response, [1, 0, 0]);
    gate.open();
    const operation = operationOf(await first);
    await expectTaken(
      await report(tokenOf(origin.arrivals[0]), { ...CHARGE, phase: "committed" }),
      [1, 0, 0],
    );
    expect(await effectsOf(operation)).toMatchObject([{ effect_id: "charge-1", state: "committed" }]);
    expect((await readRecord(keyObject(operation))).state).toBe("settled");
  });

  it("that is repeated records nothing more, whatever was forgotten in between", async () => {
    const { token, operation } = await execute();
    const entries = [CHARGE, { ...CHARGE, phase: "committed" }];
    await expectTaken(await report(token, entries), [2, 0, 0]);
    await evict(keyObject(operation));
    await expectTaken(await report(token, entries), [0, 2, 0]);
    // Members in another order, and those that are dropped, make no other entry.
    const same = { phase: "committed", note: "x", capability: "payments.charge", effect_id: "charge-1" };
    await expectTaken(await report(token, same), [0, 1, 0]);
  });

  it("that contradicts an earlier one is recorded and flagged, and changes nothing", async () => {
    const { token, operation } = await execute();
    await report(token, [CHARGE, { ...CHARGE, phase: "committed" }]);
    const other = { ...CHARGE, phase: "failed", error: { code: "declined" } };
    await expectTaken(await report(token, other), [1, 0, 1]);
    await expectTaken(await report(token, other), [0, 1, 0]);
    expect(await effectsOf(operation)).toMatchObject([{ state: "committed", flagged: true }]);
  });

  it.each<[string, unknown, number, string]>([
    ["a bad member", [CHARGE, { ...CHARGE, effect_id: "two words" }], 1, "effect_id"],
    ["a line that is not JSON", `${JSON.stringify(CHARGE)}\n{"effect_id":`, 1, "entry"],
    ["a line that is no object", [CHARGE, 7], 1, "entry"],
    ["a list", JSON.stringify([CHARGE]), 0, "entry"],
    ["nothing", "", 0, "entry"],
    ["an outcome without its intent", [CHARGE, { ...CHARGE, effect_id: "b", phase: "failed" }], 1, "phase"],
    ["an id twice", '{"effect_id":"a","capability":"b","effect_id":"c"}', 0, "effect_id"],
    [
      "a phase twice",
      `${JSON.stringify(CHARGE)}\n{"effect_id":"a","capability":"b","phase":"failed","phase":"intent"}`,
      1,
      "phase",
    ],
    ["an axis of its cost twice", '{"effect_id":"a","capability":"b","cost":{"eur":1,"eur":2}}', 0, "cost"],
    ["two codes", '{"effect_id":"a","capability":"b","error":{"code":"x","code":"y"}}', 0, "error"],
    ["an unknown member twice", '{"effect_id":"a","capability":"b","CANARY":1,"CANARY":1}', 0, "entry"],
    ["a cost that is not finite", '{"effect_id":"a","capability":"b","cost":{"eur":1e999}}', 0, "cost"],
  ])("with %s is refused whole", async (_what, entries, index, field) => {
    const { token, operation } = await execute();
    const told = await expectProblem(await report(token, entries), "effects-refused", 400);
    expect(told).toMatchObject({ index, field });
    expect(await effectsOf(operation)).toEqual([]);
    await expectTaken(await report(token, CHARGE), [1, 0, 0]);
  });

  it("can't be of the dispatch itself", async () => {
    const { token, effect } = await execute();
    const told = await expectProblem(
      await report(token, { ...CHARGE, effect_id: effect }),
      "effects-refused",
      400,
    );
    expect(told).toMatchObject({ index: 0, field: "effect_id" });
  });

  it("is bounded to 1,000 entries an attempt", async () => {
    const { token, operation } = await execute();
    const entries = Array.from({ length: 1_001 }, (_, i) => ({ effect_id: `e${i}`, capability: "a.b" }));
    const told = await expectProblem(await report(token, entries), "effects-refused", 400);
    expect(told).toMatchObject({ index: 1_000, field: "report" });
    await expectTaken(await report(token, entries.slice(0, 1_000)), [1_000, 0, 0]);
    const over = await expectProblem(await report(token, entries.slice(1_000)), "effects-refused", 400);
    expect(over).toMatchObject({ index: 0, field: "report" });
    await expectTaken(await report(token, entries.slice(0, 1_000)), [0, 1_000, 0]);
    expect(await effectsOf(operation)).toHaveLength(1_000);
  });

  it("over 1 MiB is refused", async () => {
    const { token } = await execute();
    await expectProblem(await report(token, " ".repeat(1_048_577)), "effects-too-large", 413);
  });

  it("is not taken where what is known can't be read", async () => {
    const { token, operation } = await execute();
    await runInDurableObject(keyObject(operation), (_object, { storage }) => {
      storage.kv.put("effects", { v: 2 });
    });
    const response = await report(token, CHARGE);
    expect(response.headers.get("Retry-After")).toBe("2");
    await expectProblem(response, "effects-unavailable", 503);
  });

  it("is made by POST alone", async () => {
    await expectProblem(await get("/_oncegate/effects"), "method-not-allowed", 405);
  });
});

describe("an effect token", () => {
  const expectRefused = async (token: string): Promise<void> => {
    const response = await report(token, CHARGE);
    expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
    await expectProblem(response, "effect-token-refused", 401);
  };

  it("is needed", async () => {
    const body = JSON.stringify(CHARGE);
    const response = await send(makeRequest("/_oncegate/effects", { method: "POST", body }));
    await expectProblem(response, "effect-token-refused", 401);
  });

  it.each<[string, (parts: string[]) => string[]]>([
    ["its version", ([, ...rest]) => ["v2", ...rest]],
    ["the object", ([v = "", , ...rest]) => [v, "a".repeat(43), ...rest]],
    ["the effect", ([v = "", name = "", , ...rest]) => [v, name, "0".repeat(32), ...rest]],
    ["the attempt", ([v = "", name = "", effect = "", , ...rest]) => [v, name, effect, "2", ...rest]],
    ["its end", (parts) => [...parts.slice(0, 4), String(Number(parts[4]) + 1), ...parts.slice(5)]],
    ["its mac", (parts) => [...parts.slice(0, 5), "A".repeat(43)]],
    ["the length of its mac", (parts) => [...parts.slice(0, 5), (parts[5] ?? "").slice(1)]],
  ])("with another value of %s is refused", async (_what, change) => {
    const { token, operation } = await execute();
    await expectRefused(change(token.split(".")).join("."));
    expect(await effectsOf(operation)).toEqual([]);
  });

  it("is taken for a day, and not after it", async () => {
    const { token } = await execute();
    advanceClock(DAY - 1);
    await expectTaken(await report(token, CHARGE), [1, 0, 0]);
    advanceClock(1);
    await expectRefused(token);
  });

  it("of an operation that is over is refused, though its object is still there", async () => {
    const { token } = await execute("/short");
    advanceClock(15 * SECOND);
    await expectRefused(token);
  });

  it("of an earlier life of the key is refused", async () => {
    const { token, key } = await execute("/short");
    advanceClock(HOUR);
    mockOrigin();
    await post("/short", key);
    await expectRefused(token);
  });

  it("of an attempt that another one followed goes on with what it had begun to report, and no further", async () => {
    const origin = mockOrigin(
      (_arrival, number) => new Response("answer", { status: number < 3 ? 429 : 201 }),
    );
    const key = makeKey();
    await post("/pay", key);
    const [first] = origin.arrivals.map(tokenOf);
    await expectTaken(await report(first ?? "", CHARGE), [1, 0, 0]);
    await post("/pay", key);
    const operation = operationOf(await post("/pay", key));
    const [, second, third] = origin.arrivals.map(tokenOf);
    await expectTaken(await report(first ?? "", { ...CHARGE, phase: "committed" }), [1, 0, 0]);
    await expectRefused(second ?? "");
    await expectTaken(await report(third ?? "", { ...CHARGE, effect_id: "charge-3" }), [1, 0, 0]);
    expect(await effectsOf(operation)).toMatchObject([
      { effect_id: "charge-1", attempt: 1, state: "committed" },
      { effect_id: "charge-3", attempt: 3, state: "open" },
    ]);
  });
});
