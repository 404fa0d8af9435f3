/** A deployment that keeps no ledger for a while: what it has not told can't be told later. */
import { describe, expect, it } from "vitest";
import { noLedger } from "../../../src/ledger/none.ts";
import { advanceClock, DAY, MINUTE, stopClock } from "../support/clock.ts";
import { expectAnswer, makeKey, post } from "../support/gateway.ts";
import { readAllLines, runRounds, typesByStream } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import {
  expectNoTraces,
  grantAt,
  type KeyStub,
  keyObject,
  keyring,
  makeOperation,
  nameOf,
  readRecord,
  runAlarm,
  submitTo,
  withParts,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

/** The key's life begins while no ledger is kept. */
async function beginUntold(key: string): Promise<KeyStub> {
  const operation = await makeOperation("short", key);
  const stub = keyObject(operation.name);
  await withParts(stub, { ledger: noLedger }, async (object) => {
    expect((await submitTo(object, operation)).kind).toBe("executed");
  });
  return stub;
}

/** Types of a life's entries as the ledger has them. */
async function streamOf(name: string, inc: string): Promise<string[]> {
  const stream = await keyring.stream(name, inc);
  await runRounds();
  return typesByStream(await readAllLines()).get(stream) ?? [];
}

describe("a ledger that is switched on", () => {
  it("hears nothing of a life that began before, which ends all the same", async () => {
    stopClock();
    mockOrigin();
    const stub = await beginUntold(makeKey());
    advanceClock(MINUTE);
    await runAlarm(stub);
    await expectNoTraces(stub);
    expect(linesOf("ledger-gap")).toEqual([]);
  });

  it("hears the whole of the life that follows one it was not told", async () => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    const stub = await beginUntold(key);
    advanceClock(MINUTE);
    await expectAnswer(await post("/short", key), "executed");
    await runAlarm(stub);
    const { inc } = await readRecord(stub);
    expect(await streamOf(await nameOf("short", key), inc)).toEqual(["granted", "settled"]);
    expect(linesOf("ledger-gap")).toEqual([]);
  });

  it("hears no more of a life during which it was off", async () => {
    stopClock();
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    await runAlarm(stub);
    await withParts(stub, { ledger: noLedger }, async (object) => {
      const answer = { kind: "whole", status: 201, headers: [], body: new Uint8Array() } as const;
      expect((await object.settle("worker", grant, answer, operation)).kind).toBe("settled");
    });
    advanceClock(2 * DAY);
    await runAlarm(stub);
    await expectNoTraces(stub);
    expect(await streamOf(operation.name, grant.token.inc)).toEqual(["granted"]);
    expect(linesOf("ledger-gap")).toEqual([]);
  });
});
