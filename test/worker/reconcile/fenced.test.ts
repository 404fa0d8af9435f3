// Aim: an attempt that another one has followed is not open for ever, and says what became of it if somebody comes to know.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { Grant } from "../../../src/core/event.ts";
import type { FreshAnswer, Operation } from "../../../src/core/ports.ts";
import { advanceClock, DAY, MINUTE, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { makeKey, makeRequest, send } from "../support/gateway.ts";
import { runRounds } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { grantAt, type KeyStub, keyObject, makeOperation, runAlarm } from "../support/object.ts";
import { clearTables } from "../support/open-effects.ts";

const ROUTE = "worker-retry";
const ANSWER: FreshAnswer = { kind: "whole", status: 201, headers: [], body: new Uint8Array(3) };

type Overtaken = { stub: KeyStub; operation: Operation; old: Grant; current: Grant };

beforeEach(async () => {
  stopClock();
  await clearTables();
});

function grantAnew(stub: KeyStub, operation: Operation): Promise<Grant> {
  return grantAt(stub, { ...operation, nonce: crypto.randomUUID() });
}

/** The first attempt's lease ran out, and a second one runs. */
async function overtake(): Promise<Overtaken> {
  const operation = await makeOperation(ROUTE, makeKey());
  const stub = keyObject(operation.name);
  const old = await grantAnew(stub, operation);
  advanceClock(31 * SECOND);
  return { stub, operation, old, current: await grantAnew(stub, operation) };
}

async function settle({ stub, operation }: Overtaken, grant: Grant): Promise<string> {
  return (await stub.settle(ROUTE, grant, ANSWER, operation)).kind;
}

/** States of the attempts' rows, in the order of the attempts, once the ledger has brought everything to D1. */
async function readRows(stub: KeyStub): Promise<[number, string, number][]> {
  await settleDown();
  await runAlarm(stub);
  await runRounds();
  const { results } = await env.DB.prepare(
    "SELECT attempt, state, flagged FROM effects ORDER BY changed_at, attempt",
  ).all<{ attempt: number; state: string; flagged: number }>();
  return results.map(({ attempt, state, flagged }) => [attempt, state, flagged]);
}

async function run(): Promise<unknown> {
  const headers = { Authorization: "Bearer op1.secret-of-op1" };
  const path = "/_oncegate/operator/reconciliation/run";
  return (await send(makeRequest(path, { method: "POST", headers }))).json();
}

describe("an attempt that another one has followed", () => {
  it("is fenced, not unknown, and no run asks for it", async () => {
    const overtaken = await overtake();
    expect(await settle(overtaken, overtaken.current)).toBe("settled");
    expect(await readRows(overtaken.stub)).toEqual([
      [1, "fenced", 0],
      [2, "committed", 0],
    ]);
    advanceClock(2 * MINUTE);
    expect(await run()).toMatchObject({ ended: "finished", scanned: 0, failed: 0 });
    expect(linesOf("reconciliation-finding-failed")).toEqual([]);
  });

  it("is committed, and flagged, once its executor says so after all", async () => {
    const overtaken = await overtake();
    expect(await settle(overtaken, overtaken.old)).toBe("fenced");
    expect(await settle(overtaken, overtaken.current)).toBe("settled");
    expect((await readRows(overtaken.stub)).sort()).toEqual([
      [1, "committed", 1],
      [2, "committed", 0],
    ]);
  });

  it("is no open effect of the next life, when its executor says so as late as that", async () => {
    const overtaken = await overtake();
    const { stub, operation, old, current } = overtaken;
    expect(await settle(overtaken, current)).toBe("settled");
    advanceClock(2 * DAY);
    await runAlarm(stub);
    const next = await grantAnew(stub, operation);
    expect(await settle(overtaken, old)).toBe("fenced");
    expect(await settle(overtaken, next)).toBe("settled");
    const rows = await readRows(stub);
    expect(rows.filter(([, state]) => state === "intent" || state === "unknown")).toEqual([]);
    expect(rows.filter(([, , flagged]) => flagged === 1)).toEqual([[1, "committed", 1]]);
  });
});
