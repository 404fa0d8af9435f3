// Aim: whoever learns of an outcome first is believed; a question about an old attempt, or one that comes too late, changes nothing.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { advanceClock, SECOND, settleDown, stopClock, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { losePayment } from "../support/lost.ts";
import {
  keyObject,
  makeLedger,
  nameOf,
  readRecord,
  readTraces,
  runAlarm,
  withParts,
} from "../support/object.ts";
import { answerCreated, makeGate } from "../support/origin.ts";
import { committed, cutLine, mockProbedOrigin, say } from "../support/probed-origin.ts";

/** Kept in rows of its own beside the record. */
const LARGE = 600_000;

beforeEach(() => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
});

describe("one question", () => {
  it.each(["seal", "seal-worker"])(
    "serves all retries that come while it is under way (/%s)",
    async (route) => {
      const gate = makeGate();
      const { origin, key } = await losePayment(route, {
        ask: (arrival, number) => gate.passed.then(() => committed("paid")(arrival, number)),
      });
      const retries = [1, 2, 3].map(() => post(`/${route}`, key));
      await until(() => origin.probes.length === 1);
      await settleDown();
      gate.open();
      for (const retry of retries) expect(await expectAnswer(await retry, "replayed")).toBe("paid");
      expect(origin.probes).toHaveLength(1);
    },
  );

  it("is enough for a second, and the alarm and retries share it", async () => {
    const { origin, key, stub } = await losePayment("seal", { ask: cutLine });
    await runAlarm(stub);
    for (let tries = 0; tries < 3; tries++) {
      await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    }
    expect(origin.probes).toHaveLength(1);
    advanceClock(SECOND);
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    expect(origin.probes).toHaveLength(2);
  });

  it("frees the key once: of two retries that share it one runs", async () => {
    const gate = makeGate();
    const { origin, key } = await losePayment("seal", {
      ask: say({ outcome: "none" }),
      seal: (arrival, number) => gate.passed.then(() => say({ outcome: "void" })(arrival, number)),
      pay: answerCreated,
    });
    const wait = { headers: { Prefer: "wait=5" } };
    const retries = [post("/seal", key, wait), post("/seal", key, wait)];
    await until(() => origin.seals.length === 1);
    await settleDown();
    gate.open();
    const marks = (await Promise.all(retries)).map(({ headers }) => headers.get("Idempotency-Status"));
    expect(marks.toSorted()).toEqual(["executed", "replayed"]);
    expect(origin.payments).toHaveLength(2);
  });

  it("is not asked for somebody who sends another request under the key", async () => {
    const { origin, key } = await losePayment("seal", { ask: committed("paid") });
    await expectProblem(await post("/seal", key, { body: "another" }), "key-reused", 422);
    expect(origin.probes).toHaveLength(0);
  });
});

describe("a question that is still under way", () => {
  it("about an old attempt changes nothing of the one that has followed", async () => {
    const gate = makeGate();
    const pay = makeGate();
    const { origin, key, stub } = await losePayment("seal", {
      ask: (arrival, number) => gate.passed.then(() => committed("of the first attempt")(arrival, number)),
      pay: () => pay.passed.then(() => new Response("of the second", { status: 201 })),
    });
    const asking = runAlarm(stub);
    await until(() => origin.probes.length === 1);
    const { inc, n } = await readRecord(stub);
    // Somebody else frees the key, and the next attempt is under way, while the origin thinks.
    expect(await stub.release("seal", { inc, n }, "status-list")).toBe("done");
    const second = post("/seal", key);
    await until(() => origin.payments.length === 2);
    gate.open();
    await asking;
    expect(await readRecord(stub)).toMatchObject({ n: 2, state: "in-flight" });
    pay.open();
    expect(await expectAnswer(await second, "executed")).toBe("of the second");
  });

  it("about an old attempt says nothing of the one whose outcome is unknown now", async () => {
    const gate = makeGate();
    const { origin, key, stub } = await losePayment("seal", {
      ask: (arrival, number) => gate.passed.then(() => committed("of the first attempt")(arrival, number)),
    });
    const asking = runAlarm(stub);
    await until(() => origin.probes.length === 1);
    const { inc, n } = await readRecord(stub);
    expect(await stub.release("seal", { inc, n }, "status-list")).toBe("done");
    await expectProblem(await post("/seal", key), "outcome-unknown", 502);
    gate.open();
    await asking;
    expect(await readRecord(stub)).toMatchObject({ n: 2, state: "unknown", probes: 0 });
  });

  it("when the executor's own large answer comes changes neither record nor rows", async () => {
    const pay = makeGate();
    const ask = makeGate();
    const first = "a".repeat(LARGE);
    const origin = mockProbedOrigin({
      pay: () => pay.passed.then(() => new Response(first, { status: 201 })),
      ask: (arrival, number) => ask.passed.then(() => committed("b".repeat(LARGE))(arrival, number)),
    });
    const key = makeKey();
    const paying = post("/seal-worker", key);
    await until(() => origin.payments.length === 1);
    const stub = keyObject(await nameOf("seal-worker", key));
    advanceClock(31 * SECOND);
    const asking = runAlarm(stub);
    await until(() => origin.probes.length === 1);
    pay.open();
    expect(await expectAnswer(await paying, "executed")).toBe(first);
    ask.open();
    await asking;
    expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "executor" });
    expect(await expectAnswer(await post("/seal-worker", key), "replayed")).toBe(first);
  });

  it("when the key is freed is noted as a contradiction, and no row of its answer is left", async () => {
    const gate = makeGate();
    const { origin, stub } = await losePayment("seal", {
      ask: (arrival, number) => gate.passed.then(() => committed("b".repeat(LARGE))(arrival, number)),
    });
    const asking = withParts(stub, { ledger: makeLedger(() => false) }, (object) => object.alarm());
    await until(() => origin.probes.length === 1);
    const { inc, n } = await readRecord(stub);
    expect(await stub.release("seal", { inc, n }, "status-list")).toBe("done");
    gate.open();
    await asking;
    const record = await readRecord(stub);
    expect(record.state).toBe("released");
    const told = record.outbox.flatMap(({ entries }) => entries).map(({ type }) => type);
    expect(told.at(-1)).toBe("contradiction");
    expect((await readTraces(stub)).rows).toEqual(["record"]);
  });

  it("when it is answered first leaves the executor's other answer unstored, and noted", async () => {
    const pay = makeGate();
    const origin = mockProbedOrigin({
      pay: () => pay.passed.then(() => new Response("late and other", { status: 201 })),
      ask: committed("b".repeat(LARGE)),
    });
    const key = makeKey();
    const paying = post("/seal-worker", key);
    await until(() => origin.payments.length === 1);
    advanceClock(31 * SECOND);
    expect(await expectAnswer(await post("/seal-worker", key), "replayed")).toBe("b".repeat(LARGE));
    pay.open();
    await expectProblem(await paying, "claim-lost", 503);
    expect(await expectAnswer(await post("/seal-worker", key), "replayed")).toBe("b".repeat(LARGE));
  });
});
