// Aim: what a key says of an attempt is the truth, after it has attended to itself. Method: real key objects.
import { beforeEach, describe, expect, it } from "vitest";
import { advanceClock, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, makeKey, operationOf, post } from "../support/gateway.ts";
import { losePayment } from "../support/lost.ts";
import {
  beginAt,
  expectNoTraces,
  type KeyStub,
  keyObject,
  makeLedger,
  makeOperation,
  nameOf,
  readRecord,
  recordIn,
  replaceRecord,
  withParts,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";
import { committed, say } from "../support/probed-origin.ts";

beforeEach(stopClock);

async function askCurrent(stub: KeyStub): Promise<unknown> {
  return stub.ask((await readRecord(stub)).effect);
}

/** An attempt of an executor that is never heard of again. */
async function beginLost(route = "worker"): Promise<KeyStub> {
  const operation = await makeOperation(route, makeKey());
  const stub = keyObject(operation.name);
  expect(await beginAt(stub, operation)).toMatchObject({ kind: "run" });
  return stub;
}

describe("a key that is asked about an attempt", () => {
  it("says nothing and stores nothing where it was never used", async () => {
    const stub = keyObject(await nameOf("pay", makeKey()));
    expect(await stub.ask("some-effect")).toEqual({ kind: "stranger" });
    await expectNoTraces(stub);
  });

  it.each([
    [201, { kind: "closed", state: "committed" }],
    [421, { kind: "closed", state: "failed" }],
    [504, { kind: "open", state: "unknown" }],
  ])("whose origin answered %i says so", async (status, said) => {
    mockOrigin(() => new Response("", { status }));
    const response = await post("/pay", makeKey());
    await response.text();
    expect(await askCurrent(keyObject(operationOf(response)))).toEqual(said);
  });

  it("says in-flight while its lease holds, and ends the lease that is over", async () => {
    const stub = await beginLost();
    expect(await askCurrent(stub)).toEqual({ kind: "open", state: "in-flight" });
    advanceClock(31 * SECOND);
    expect(await askCurrent(stub)).toEqual({ kind: "open", state: "unknown" });
    expect(await readRecord(stub)).toMatchObject({ state: "unknown", reason: "lease-over" });
  });

  it("asks its origin, and says what came of it", async () => {
    const { origin, key, stub } = await losePayment("seal", { ask: committed("paid") });
    expect(await askCurrent(stub)).toEqual({ kind: "closed", state: "committed" });
    expect(await expectAnswer(await post("/seal", key), "replayed")).toBe("paid");
    expect([origin.payments.length, origin.probes.length]).toEqual([1, 1]);
  });

  it("asks about a lease that is over at once, too", async () => {
    const words = { ask: say({ outcome: "none" }), seal: say({ outcome: "void" }) };
    await losePayment("seal-worker", words);
    const stub = await beginLost("seal-worker");
    advanceClock(31 * SECOND);
    expect(await askCurrent(stub)).toEqual({ kind: "closed", state: "failed" });
  });

  it("knows nothing of an attempt that another has followed, and asks nobody about it", async () => {
    const stub = await beginLost("worker-retry");
    const { effect, fp } = await readRecord(stub);
    advanceClock(31 * SECOND);
    const again = { ...(await makeOperation("worker-retry", "none")), fp, nonce: "another" };
    expect(await beginAt(stub, again)).toMatchObject({ kind: "run" });
    expect(await stub.ask(effect)).toEqual({ kind: "stranger" });
    expect(await askCurrent(stub)).toEqual({ kind: "open", state: "in-flight" });
  });

  it("is unavailable where this version can't read it, and writes nothing", async () => {
    const stub = await beginLost();
    const { effect } = await readRecord(stub);
    await replaceRecord(stub, (record) => ({ ...record, v: 99 }));
    expect(await stub.ask(effect)).toEqual({ kind: "unavailable" });
    expect((await readRecord(stub)).v).toBe(99);
  });

  it("delivers what the ledger has not been told", async () => {
    let isUp = false;
    const ledger = makeLedger(() => isUp);
    mockOrigin(() => new Response("", { status: 504 }));
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await beginAt(object, operation);
      advanceClock(31 * SECOND);
      const { effect } = recordIn(storage);
      await object.ask(effect);
      await settleDown();
      isUp = true;
      ledger.types.length = 0;
      await object.ask(effect);
      expect(ledger.types).toEqual(["granted", "unknown"]);
      ledger.types.length = 0;
      await object.ask(effect);
      expect(ledger.types).toEqual([]);
    });
  });
});
