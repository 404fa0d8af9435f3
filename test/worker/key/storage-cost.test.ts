import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { HOUR, START, settleDown, stopClock, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, makeRequest, post, send } from "../support/gateway.ts";
import {
  countWrites,
  expectNoTraces,
  idOf,
  type KeyStub,
  keyObject,
  nameOf,
  readTraces,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

function spyOnDatabase() {
  return vi.spyOn(Object.getPrototypeOf(env.DB), "prepare");
}

/** Lets the alarm run each time it is due, until none stands. Gives the number of runs. */
async function runAlarms(stub: KeyStub): Promise<number> {
  for (let runs = 0; ; runs++) {
    const { alarm } = await readTraces(stub);
    if (alarm === null) return runs;
    if (runs === 10) throw new Error("the alarm stands again and again");
    vi.setSystemTime(Math.max(alarm, Date.now()));
    expect(await runDurableObjectAlarm(stub)).toBe(true);
  }
}

describe.each(["pay", "worker"])("the whole life of a key on /%s", (route) => {
  it("costs at most four row writes, one wipe, two alarm runs and no database call", async () => {
    stopClock();
    mockOrigin();
    const database = spyOnDatabase();
    const key = makeKey();
    const stub = keyObject(await nameOf(route, key));
    const writes = await countWrites(stub);
    await expectAnswer(await post(`/${route}`, key), "executed");
    // What the ledger has to tell goes to the database later, by the ledger's own alarm.
    expect(database).not.toHaveBeenCalled();
    // The fourth row is the alarm, moved along once the ledger has everything.
    await until(() => writes.rows === 4);
    expect(await runAlarms(stub)).toBeLessThanOrEqual(2);
    // Claim, answer and one alarm are the least that anything was counted at all.
    expect(writes.rows).toBeGreaterThanOrEqual(3);
    expect(writes.rows).toBeLessThanOrEqual(4);
    expect(writes.wipes).toBe(1);
    await expectNoTraces(stub);
    expect(Date.now()).toBe(START + 25 * HOUR);
    await env.DB.prepare("SELECT 1").first();
    expect(database).toHaveBeenCalled();
  });
});

describe.each(["pay", "worker"])("a new key on /%s", (route) => {
  it("is read once for its claim and once for its answer, and not again to tell the ledger", async () => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    const stub = keyObject(await nameOf(route, key));
    const writes = await countWrites(stub);
    const reads = await runInDurableObject(stub, (_object, { storage }) => vi.spyOn(storage.kv, "get"));
    await expectAnswer(await post(`/${route}`, key), "executed");
    await until(() => writes.rows === 4);
    expect(reads.mock.calls).toEqual([["record"], ["record"]]);
  });
});

describe("five replays one after the other", () => {
  it.each([
    ["quiet", 0],
    // From the isolate's memory or from the object, each is a batch of its own.
    ["pay", 5],
    ["durable", 5],
  ])("on /%s cost %i rows, no alarm, and are in the ledger when the key leaves", async (route, rows) => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    const stub = keyObject(await nameOf(route, key));
    const writes = await countWrites(stub);
    await expectAnswer(await post(`/${route}`, key), "executed");
    await until(() => writes.rows === 4);
    const { alarm } = await readTraces(stub);
    for (let again = 1; again <= 5; again++) {
      await expectAnswer(await post(`/${route}`, key), "replayed");
      await until(() => rows === 0 || writes.rows === 4 + again);
      await settleDown();
    }
    expect(writes.rows).toBe(4 + rows);
    expect(await readTraces(stub)).toMatchObject({ alarm });
    expect(await runAlarms(stub)).toBe(1);
    expect(writes.wipes).toBe(1);
    await expectNoTraces(stub);
  });
});

describe("a key that was never used", () => {
  it("costs nothing to look at", async () => {
    const unusedKey = makeKey();
    const unused = await nameOf("pay", unusedKey);
    const writes = await countWrites(keyObject(unused));
    await expectProblem(
      await get(`/_oncegate/operations/${await idOf("pay", unusedKey)}`, { Prefer: "wait=5" }),
      "not-found",
      404,
    );
    expect(writes).toMatchObject({ rows: 0, wipes: 0 });
    await expectNoTraces(keyObject(unused));
  });

  it("costs nothing to check the health of", async () => {
    const writes = await countWrites(keyObject("health"));
    expect((await get("/_oncegate/health")).status).toBe(200);
    expect(writes).toMatchObject({ rows: 0, wipes: 0 });
  });

  it("costs nothing when the quota refuses it", async () => {
    stopClock();
    mockOrigin();
    const caller = { headers: { Authorization: "Bearer alice" } };
    for (let taken = 0; taken < 2; taken++) await post("/quota", makeKey(), caller);
    const key = makeKey();
    const stub = keyObject(await nameOf("quota", key));
    const writes = await countWrites(stub);
    await expectProblem(await post("/quota", key, caller), "quota-exceeded", 429);
    expect(writes).toMatchObject({ rows: 0, wipes: 0 });
    await expectNoTraces(stub);
  });

  it.each([
    ["without a principal", 401, "/pay", { Authorization: null }, "{}"],
    ["with a key that is none", 400, "/pay", { "Idempotency-Key": "a,b" }, "{}"],
    ["without a key", 400, "/pay", { "Idempotency-Key": null }, "{}"],
    ["with too large a body", 413, "/limit", {}, "x".repeat(1_025)],
    ["with a target of two readings", 400, "//pay", {}, "{}"],
    ["whose Connection names the credential", 400, "/pay", { Connection: "authorization" }, "{}"],
  ])("makes no object for a request %s", async (_case, status, path, headers, body) => {
    const origin = mockOrigin();
    const before = await listDurableObjectIds(env.KEYS);
    expect((await post(path, makeKey(), { headers, body })).status).toBe(status);
    expect(await listDurableObjectIds(env.KEYS)).toHaveLength(before.length);
    expect(origin.count).toBe(0);
  });

  it("makes no object for a request whose body ends early", async () => {
    const origin = mockOrigin();
    const before = await listDurableObjectIds(env.KEYS);
    const broken = new ReadableStream({
      type: "bytes",
      pull(controller) {
        controller.error(new Error("the line went dead"));
      },
    });
    const headers = { "Idempotency-Key": makeKey(), Authorization: "Bearer alice" };
    const request = new Request(makeRequest("/pay", { method: "POST", headers }), { body: broken });
    await expectProblem(await send(request as ReturnType<typeof makeRequest>), "request-incomplete", 400);
    expect(await listDurableObjectIds(env.KEYS)).toHaveLength(before.length);
    expect(origin.count).toBe(0);
  });
});
