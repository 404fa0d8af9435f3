// Aim: a record that this version can't read is reported and left alone, and holds up nobody else. Method: one such record among sound ones.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { advanceClock, MINUTE, stopClock } from "../support/clock.ts";
import {
  expectAnswer,
  expectProblem,
  get,
  makeKey,
  makeRequest,
  operationOf,
  post,
  send,
} from "../support/gateway.ts";
import { publish } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { losePayment } from "../support/lost.ts";
import { expectNoTraces, keyObject, readRecord, replaceRecord, runAlarm } from "../support/object.ts";
import { clearTables } from "../support/open-effects.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";
import { committed } from "../support/probed-origin.ts";

const PATH = "/_oncegate/operator/reconciliation";

beforeEach(async () => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
  await clearTables();
});

async function run(): Promise<Record<string, unknown>> {
  const response = await send(makeRequest(`${PATH}/run`, { method: "POST", headers: tokenOf("op1") }));
  expect(response.status).toBe(200);
  return response.json();
}

describe("FR-037 with probe: a record that can't be read", () => {
  it("is passed over and reported by every run, and what lies around it is closed", async () => {
    const before = await losePayment("seal", {});
    const bad = await losePayment("seal", {});
    const behind = await losePayment("seal", { ask: committed("paid") });
    await publish(...[before, bad, behind].map(({ operation }) => operation));
    await replaceRecord(bad.stub, (record) => ({ ...record, v: 999 }));
    advanceClock(2 * MINUTE);
    expect(await run()).toMatchObject({ ended: "finished", scanned: 3, handled: 2, failed: 1 });
    for (const { stub } of [before, behind]) expect((await readRecord(stub)).state).toBe("settled");
    const lines = linesOf("reconciliation-finding-failed");
    expect(lines).toMatchObject([{ code: "unavailable" }]);

    await publish(before.operation, behind.operation);
    for (let runs = 0; runs < 2; runs++) {
      advanceClock(2 * MINUTE);
      expect(await run()).toMatchObject({ ended: "finished", scanned: 1, failed: 1 });
    }
    const overview = await (await get(PATH, tokenOf("reader"))).json<{ quarantined: object[] }>();
    expect(overview.quarantined).toMatchObject([{ operation: bad.operation, failures: 3 }]);
    await expectProblem(await post("/seal", bad.key), "store-unavailable", 503);
    // One payment each, and nobody was asked about the one that can't be read.
    expect(behind.origin.payments).toHaveLength(1);
    expect(behind.origin.probes.length).toBe(2);
    expect(await readRecord(bad.stub)).toMatchObject({ v: 999, state: "unknown" });
  });

  it("is not purged, says so at each alarm, and another key's purge goes on", async () => {
    const origin = mockOrigin();
    const [bad, good] = [makeKey(), makeKey()];
    const operations: string[] = [];
    for (const key of [bad, good]) operations.push(operationOf(await post("/short", key)));
    await publish(...operations);
    const [badObject, goodObject] = operations.map(keyObject);
    if (badObject === undefined || goodObject === undefined) throw new Error("two keys make two objects");
    await replaceRecord(badObject, (record) => ({ ...record, state: "paused" }));
    advanceClock(MINUTE);
    for (const object of [badObject, goodObject, badObject]) await runAlarm(object);
    expect(linesOf("record-unreadable")).toHaveLength(2);
    await expectNoTraces(goodObject);
    expect(await readRecord(badObject)).toMatchObject({ state: "paused" });
    await expectProblem(await post("/short", bad), "store-unavailable", 503);
    await expectAnswer(await post("/short", good), "executed");
    expect(origin.count).toBe(3);
  });
});
