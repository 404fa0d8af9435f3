// Aim: an unknown outcome is found out without anybody retrying, and no alarm rings in vain for long.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { PROBE_UNABLE_MS } from "../../../src/core/limits.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import {
  advanceClock,
  DAY,
  HOUR,
  MINUTE,
  SECOND,
  START,
  settleDown,
  stopClock,
  until,
} from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, post } from "../support/gateway.ts";
import { losePayment } from "../support/lost.ts";
import {
  type KeyStub,
  keyring,
  makeLedger,
  readRecord,
  readTraces,
  replaceRecord,
  runAlarm,
  withParts,
} from "../support/object.ts";
import { answerCreated, makeGate } from "../support/origin.ts";
import { committed, cutLine, mockProbedOrigin, say } from "../support/probed-origin.ts";

beforeEach(() => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
});

async function nextAlarm(stub: KeyStub): Promise<number> {
  await settleDown();
  return (await readTraces(stub)).alarm ?? Number.NaN;
}

/** Lets the alarm ring when it is due, and says how long that was. */
async function ring(stub: KeyStub): Promise<number> {
  const pauseMs = Math.max(0, (await nextAlarm(stub)) - Date.now());
  advanceClock(pauseMs);
  await runAlarm(stub);
  return pauseMs;
}

describe("the alarm of an unknown outcome", () => {
  it.each(["seal", "seal-worker"])(
    "asks at once, and the answer is there before anybody retries (/%s)",
    async (route) => {
      const { origin, key, stub } = await losePayment(route, { ask: committed("paid") });
      expect(await nextAlarm(stub)).toBeLessThanOrEqual(START);
      await ring(stub);
      expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "probe" });
      expect(await expectAnswer(await post(`/${route}`, key), "replayed")).toBe("paid");
      expect([origin.payments.length, origin.probes.length]).toEqual([1, 1]);
    },
  );

  it("frees a key whose attempt was voided, and runs nothing itself", async () => {
    const words = { ask: say({ outcome: "none" }), seal: say({ outcome: "void" }), pay: answerCreated };
    const { origin, key, stub } = await losePayment("seal", words);
    await ring(stub);
    expect(await readRecord(stub)).toMatchObject({ state: "released", evidence: "sealed-none", n: 1 });
    expect(origin.payments).toHaveLength(1);
    await expectAnswer(await post("/seal", key), "executed");
  });

  it("asks again after pauses that grow, none of them shorter than half of its length", async () => {
    const { origin, stub } = await losePayment("seal", { ask: cutLine });
    const pauses = [];
    for (let asked = 0; asked < 12; asked++) pauses.push(await ring(stub));
    expect(origin.probes).toHaveLength(12);
    expect(pauses[0]).toBe(0);
    pauses.slice(1).forEach((pause, index) => {
      const whole = Math.min(SECOND * 2 ** index, 15 * MINUTE);
      expect(pause).toBeLessThanOrEqual(Math.max(whole, SECOND));
      expect(pause).toBeGreaterThanOrEqual(Math.min(whole, Math.max(SECOND, whole / 2)));
    });
  });

  it("asks about what was not seen again when the origin's delay is over, and then it is none", async () => {
    const { origin, stub } = await losePayment("probe", { ask: say({ outcome: "none" }) });
    await ring(stub);
    expect(await nextAlarm(stub)).toBe(START + MINUTE);
    await ring(stub);
    expect(await readRecord(stub)).toMatchObject({ state: "released", evidence: "observed-none" });
    expect(origin.probes).toHaveLength(2);
  });

  it("is put off without a count, and without a row, while the origin must not be asked", async () => {
    const { origin, stub } = await losePayment("seal", { ask: committed("paid") });
    const budget = vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(false);
    const before = await readRecord(stub);
    for (let run = 0; run < 3; run++) {
      await ring(stub);
      const pause = (await nextAlarm(stub)) - Date.now();
      expect(pause).toBeGreaterThanOrEqual(5 * SECOND);
      expect(pause).toBeLessThanOrEqual(10 * SECOND);
    }
    expect(await readRecord(stub)).toEqual(before);
    expect(origin.probes).toHaveLength(0);
    budget.mockReturnValue(true);
    await ring(stub);
    expect(await readRecord(stub)).toMatchObject({ state: "settled" });
  });

  it("rests from no time to come: a clock that has gone back puts the next question off by a pause", async () => {
    const { origin, stub } = await losePayment("seal", { ask: committed("paid") });
    const budget = vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(false);
    await withParts(stub, {}, async (object, { storage }) => {
      await object.alarm();
      advanceClock(-365 * DAY);
      await object.look(0);
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now());
      budget.mockReturnValue(true);
      await object.alarm();
    });
    expect(origin.probes).toHaveLength(1);
    expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "probe" });
  });

  it("of a route that nobody can be asked about any more rings once an hour", async () => {
    const { origin, stub } = await losePayment("seal", { ask: committed("paid") });
    await withParts(stub, { route: () => null }, async (object) => {
      await object.alarm();
    });
    expect(await nextAlarm(stub)).toBe(START + PROBE_UNABLE_MS);
    expect(origin.probes).toHaveLength(0);
  });

  it("is not kept from asking by a ledger that is down", async () => {
    const { stub } = await losePayment("seal", { ask: committed("paid") });
    await withParts(stub, { ledger: makeLedger(() => false) }, (object) => object.alarm());
    expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "probe" });
  });

  it("finds a worker's attempt that ended without a word, once its lease is over", async () => {
    const gate = makeGate();
    const origin = mockProbedOrigin({
      pay: () => gate.passed.then(() => new Response("paid", { status: 201 })),
      ask: committed("paid"),
    });
    const key = makeKey();
    const first = post("/seal-worker", key);
    await until(() => origin.payments.length === 1);
    advanceClock(31 * SECOND);
    expect(await expectAnswer(await post("/seal-worker", key), "replayed")).toBe("paid");
    // The same answer late is no contradiction.
    gate.open();
    expect(await expectAnswer(await first, "executed")).toBe("paid");
    expect(origin.payments).toHaveLength(1);
  });
});

describe("a record that was written under a route without a probe", () => {
  /** As if its route had been given a probe later on. */
  const loseUnasked = async (words: Parameters<typeof losePayment>[1]) => {
    const lost = await losePayment("seal", words);
    await replaceRecord(lost.stub, (record) => ({
      ...record,
      probeDue: null,
      terms: { ...record.terms, probeDelayMs: null },
    }));
    return lost;
  };

  it("is settled by an origin that knows its effect", async () => {
    const { key } = await loseUnasked({ ask: committed("paid") });
    expect(await expectAnswer(await post("/seal", key), "replayed")).toBe("paid");
  });

  it("stays unknown when the origin doesn't, and nothing is voided", async () => {
    const words = { ask: say({ outcome: "none" }), seal: say({ outcome: "void" }) };
    const { origin, key, stub } = await loseUnasked(words);
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    advanceClock(HOUR);
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    expect(origin.seals).toHaveLength(0);
    expect(await readRecord(stub)).toMatchObject({ state: "unknown", probeDue: null });
  });
});

describe("a status read that waits", () => {
  it("has the origin asked, and sees what came of it", async () => {
    const { operation } = await losePayment("seal", { ask: committed("paid") });
    const read = await get(`/_oncegate/operations/${operation}`, { Prefer: "wait=10" });
    expect(await read.json()).toMatchObject({ state: "settled" });
  });

  it("that does not wait asks nobody", async () => {
    const { origin, operation } = await losePayment("seal", { ask: committed("paid") });
    expect(await (await get(`/_oncegate/operations/${operation}`)).json()).toMatchObject({
      state: "unknown",
    });
    expect(origin.probes).toHaveLength(0);
  });
});

it("a probe that is due is asked about the operation's public id", async () => {
  const { origin, operation, stub } = await losePayment("seal", { ask: cutLine });
  await ring(stub);
  const name = operation.split(".")[0] ?? "";
  expect(origin.probes[0]?.url).toContain(`operation=${name}.${await keyring.tag(name)}`);
});
