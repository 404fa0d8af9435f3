import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { advanceClock, DAY, HOUR, MINUTE, SECOND, START, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, operationOf, post } from "../support/gateway.ts";
import {
  evict,
  expectNoTraces,
  type KeyStub,
  keyObject,
  readRecord,
  readTraces,
  runAlarm,
} from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

/** A key on /short (window 10 s, quarantine 5 s) that was settled at `START`. */
async function settleKey(): Promise<{ key: string; stub: KeyStub; body: string }> {
  stopClock();
  const key = makeKey();
  const response = await post("/short", key);
  const stub = keyObject(operationOf(response));
  const body = await expectAnswer(response, "executed");
  await settleDown();
  return { key, stub, body };
}

describe("the life of a key", () => {
  it("has a window, then a quarantine, then another life", async () => {
    const origin = mockOrigin();
    const { key, body } = await settleKey();
    advanceClock(10 * SECOND - 1);
    expect(await expectAnswer(await post("/short", key), "replayed")).toBe(body);
    advanceClock(1);
    await expectProblem(await post("/short", key), "key-expired", 409);
    advanceClock(5 * SECOND - 1);
    await expectProblem(await post("/short", key), "key-expired", 409);
    advanceClock(1);
    expect(await expectAnswer(await post("/short", key), "executed")).not.toBe(body);
    expect(origin.count).toBe(2);
  });

  it("has a window that is counted from the answer, not from the claim", async () => {
    stopClock();
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("late", { status: 201 });
    });
    const key = makeKey();
    const first = post("/short", key);
    await origin.arrived(1);
    advanceClock(9 * SECOND);
    gate.open();
    const expires = (await first).headers.get("Idempotency-Expires");
    expect(expires).toBe(new Date(START + 19 * SECOND).toUTCString());
    advanceClock(9 * SECOND);
    const replay = await post("/short", key);
    expect(replay.headers.get("Idempotency-Created")).toBe(new Date(START + 9 * SECOND).toUTCString());
    expect(replay.headers.get("Idempotency-Expires")).toBe(expires);
    await expectAnswer(replay, "replayed");
  });

  it("does not run backwards with the clock", async () => {
    const origin = mockOrigin();
    const { key, stub } = await settleKey();
    advanceClock(12 * SECOND);
    await expectProblem(await post("/short", key), "key-expired", 409);
    advanceClock(-HOUR);
    await runAlarm(stub);
    const { t, state } = await readRecord(stub);
    expect({ t: t >= START, state }).toEqual({ t: true, state: "settled" });
    expect((await post("/short", key)).status).not.toBe(503);
    expect(origin.count).toBe(1);
  });

  it("frees a released key and ends it after window and quarantine", async () => {
    const origin = mockOrigin(() => new Response("slow down", { status: 429 }));
    stopClock();
    const key = makeKey();
    const response = await post("/short", key);
    const stub = keyObject(operationOf(response));
    await expectAnswer(response, "released", 429);
    await settleDown();
    expect((await readRecord(stub)).state).toBe("released");
    advanceClock(15 * SECOND);
    await runAlarm(stub);
    await expectNoTraces(stub);
    expect(origin.count).toBe(1);
  });
});

describe("the alarm", () => {
  it("leaves nothing of a key whose quarantine is over, and the object goes on working", async () => {
    const origin = mockOrigin();
    const { key, stub } = await settleKey();
    advanceClock(15 * SECOND);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    await expectNoTraces(stub);
    await expectAnswer(await post("/short", key), "executed");
    await expectAnswer(await post("/short", key), "replayed");
    expect(origin.count).toBe(2);
    expect((await readTraces(stub)).alarm).not.toBeNull();
  });

  it("changes nothing when it comes early, and twice", async () => {
    mockOrigin();
    const { key, stub, body } = await settleKey();
    const before = await readRecord(stub);
    await runAlarm(stub);
    await runAlarm(stub);
    expect({ ...(await readRecord(stub)), outbox: [] }).toEqual({ ...before, outbox: [] });
    expect((await readTraces(stub)).alarm).toBe(START + 15 * SECOND);
    expect(await expectAnswer(await post("/short", key), "replayed")).toBe(body);
  });

  it("changes nothing when it comes again after the purge", async () => {
    mockOrigin();
    const { stub } = await settleKey();
    advanceClock(15 * SECOND);
    await runAlarm(stub);
    await runAlarm(stub);
    await expectNoTraces(stub);
  });

  it("purges a year late as well, and the key is new before it does", async () => {
    const origin = mockOrigin();
    const late = await settleKey();
    const used = await settleKey();
    advanceClock(365 * DAY);
    await runAlarm(late.stub);
    await expectNoTraces(late.stub);
    await expectAnswer(await post("/short", used.key), "executed");
    await runAlarm(used.stub);
    await expectAnswer(await post("/short", used.key), "replayed");
    expect(origin.count).toBe(3);
  });

  it("never stands in the past when its handler has ended, whatever is due", async () => {
    stopClock();
    mockOrigin(() => new Response(null, { status: 502 }));
    const response = await post("/probe", makeKey());
    const stub = keyObject(operationOf(response));
    await expectProblem(response, "outcome-unknown", 502);
    for (let run = 0; run < 3; run++) {
      advanceClock(5 * SECOND);
      await runAlarm(stub);
      expect((await readTraces(stub)).alarm).toBeGreaterThan(Date.now());
    }
  });

  it("does not ring for an unknown outcome that nobody is asked about", async () => {
    stopClock();
    mockOrigin(() => new Response(null, { status: 502 }));
    const response = await post("/pay", makeKey());
    const stub = keyObject(operationOf(response));
    await expectProblem(response, "outcome-unknown", 502);
    await settleDown();
    for (let run = 0; run < 3; run++) {
      advanceClock(HOUR);
      await runDurableObjectAlarm(stub);
    }
    expect((await readTraces(stub)).alarm).toBeNull();
    expect((await readRecord(stub)).state).toBe("unknown");
  });

  it.each<[string, (key: string, operation: string) => Promise<Response>]>([
    ["replay", (key) => post("/short", key)],
    ["refusal", (key) => post("/short", key, { body: "another" })],
    ["status read", (_key, operation) => get(`/_oncegate/operations/${operation}`)],
  ])("is armed again by a %s when it went missing", async (_access, use) => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    const first = await post("/short", key);
    const operation = operationOf(first);
    await expectAnswer(first, "executed");
    const stub = keyObject(operation);
    await settleDown();
    await runInDurableObject(stub, (_object, { storage }) => storage.deleteAlarm());
    await evict(stub);
    expect((await readTraces(stub)).alarm).toBeNull();
    await use(key, operation);
    expect((await readTraces(stub)).alarm).not.toBeNull();
  });
});

describe("time alone never ends", () => {
  it("an unknown outcome", async () => {
    const origin = mockOrigin(() => {
      throw new TypeError("connection reset");
    });
    stopClock();
    const key = makeKey();
    const response = await post("/short", key);
    const stub = keyObject(operationOf(response));
    await expectProblem(response, "outcome-unknown", 502);
    for (const pause of [MINUTE, DAY, 3_650 * DAY]) {
      advanceClock(pause);
      await runAlarm(stub);
      expect((await readRecord(stub)).state).toBe("unknown");
      await expectProblem(await post("/short", key), "outcome-unknown", 409);
    }
    expect(origin.count).toBe(1);
  });

  it("an attempt in flight, whose answer is still welcome", async () => {
    stopClock();
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("at last", { status: 201 });
    });
    const key = makeKey();
    const first = post("/short", key);
    await origin.arrived(1);
    const stub = keyObject(operationOf(await post("/short", key)));
    advanceClock(3_650 * DAY);
    await runAlarm(stub);
    await expectProblem(await post("/short", key), "outcome-unknown", 409);
    gate.open();
    await expectAnswer(await first, "executed");
    expect(await expectAnswer(await post("/short", key), "replayed")).toBe("at last");
    expect(origin.count).toBe(1);
  });
});
