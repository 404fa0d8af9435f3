// Aim: an operation whose outcome got lost is found without anybody retrying, and operators see what is done about it.
import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import { openLeases } from "../../../src/ledger/d1-lease.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import worker from "../../../src/worker.ts";
import { advanceClock, DAY, MINUTE, SECOND, stopClock } from "../support/clock.ts";
import {
  bindWith,
  expectAnswer,
  expectProblem,
  get,
  makeKey,
  makeRequest,
  operationOf,
  post,
  send,
} from "../support/gateway.ts";
import { faultyDatabase, publish } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { losePayment } from "../support/lost.ts";
import { idOf, nameOf, readRecord } from "../support/object.ts";
import { clearTables } from "../support/open-effects.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";
import { committed, cutLine } from "../support/probed-origin.ts";

const PATH = "/_oncegate/operator/reconciliation";
const READER = tokenOf("reader");
const OP1 = tokenOf("op1");
const NOTHING = { scanned: 0, handled: 0, failed: 0 };

beforeEach(async () => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
  await clearTables();
});

const show = (bindings?: Env, headers: Record<string, string> = READER): Promise<Response> =>
  get(PATH, headers, bindings);
const startRun = (bindings?: Env, headers: Record<string, string> = OP1): Promise<Response> =>
  send(makeRequest(`${PATH}/run`, { method: "POST", headers }), bindings);

type Shown = {
  open: object;
  runs: object[];
  quarantined: object[];
  lease: object | null;
  cursor: object | null;
};

async function overview(): Promise<Shown> {
  const response = await show();
  expect(response.status).toBe(200);
  return response.json();
}

async function run(): Promise<unknown> {
  const response = await startRun();
  expect(response.status).toBe(200);
  return response.json();
}

/** The ledger has brought to D1 all that an operation has told, and all of it is stale. */
async function publishAndWait(operation: string): Promise<void> {
  await publish(operation);
  advanceClock(2 * MINUTE);
}

/** A payment that nobody can be asked about. */
async function loseForGood(): Promise<string> {
  mockOrigin(cutLine);
  const response = await post("/pay", makeKey());
  await expectProblem(response.clone(), "outcome-unknown", 502);
  return operationOf(response);
}

describe("a payment whose answer was lost", () => {
  it("is found by a run, asked about and closed, and the client's next try gets the answer", async () => {
    const { origin, key, operation, stub } = await losePayment("seal", { ask: committed("paid") });
    await publishAndWait(operation);
    expect(await run()).toEqual({
      acquired: true,
      ended: "finished",
      pages: 1,
      scanned: 1,
      handled: 1,
      failed: 0,
    });
    expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "probe" });
    expect(await expectAnswer(await post("/seal", key), "replayed")).toBe("paid");
    expect(origin.payments).toHaveLength(1);
    await publishAndWait(operation);
    expect((await overview()).open).toMatchObject({ total: 0, oldest_at: null });
    expect(await run()).toMatchObject({ ended: "finished", ...NOTHING });
    expect(await env.DB.prepare("SELECT count(*) AS n FROM findings").first("n")).toBe(0);
  });

  it("while the clock was ahead is found once it is right", async () => {
    advanceClock(365 * DAY);
    const { origin, operation, stub } = await losePayment("seal", { ask: committed("paid") });
    await publish(operation);
    advanceClock(-365 * DAY);
    expect(await run()).toMatchObject({ ended: "finished", scanned: 1, handled: 1, failed: 0 });
    expect(await readRecord(stub)).toMatchObject({ state: "settled", actor: "probe" });
    expect(origin.payments).toHaveLength(1);
    await publish(operation);
    expect((await overview()).open).toMatchObject({ total: 0 });
    expect(await run()).toMatchObject({ ended: "finished", ...NOTHING });
  });

  it("is found by the cron, and the run is in the report and in the log", async () => {
    const { operation, stub } = await losePayment("seal", { ask: committed("paid") });
    await publishAndWait(operation);
    const ctx = createExecutionContext();
    await worker.scheduled(createScheduledController(), env, ctx);
    await waitOnExecutionContext(ctx);
    expect((await readRecord(stub)).state).toBe("settled");
    expect((await overview()).runs).toMatchObject([
      { run: 1, started_by: "cron", ended: "finished", pages: 1, scanned: 1, handled: 1, failed: 0 },
    ]);
    expect(linesOf("reconciliation")).toMatchObject([{ ended: "finished", scanned: 1, handled: 1 }]);
  });

  it("is no finding before it is stale", async () => {
    await publish(await loseForGood());
    advanceClock(89 * SECOND);
    expect(await run()).toMatchObject(NOTHING);
    advanceClock(2 * SECOND);
    expect(await run()).toMatchObject({ scanned: 1, handled: 1 });
  });

  it("stays open where nobody can be asked, is asked about by every run and never put aside", async () => {
    await publishAndWait(await loseForGood());
    for (let runs = 0; runs < 5; runs++) expect(await run()).toMatchObject({ handled: 1, failed: 0 });
    const { open, runs, quarantined } = await overview();
    expect(open).toMatchObject({ total: 1, under_5m: 1, under_1h: 0, under_1d: 0, older: 0 });
    expect(runs).toHaveLength(5);
    expect(quarantined).toEqual([]);
    advanceClock(DAY);
    expect((await overview()).open).toMatchObject({ total: 1, under_5m: 0, older: 1 });
  });
});

describe("an effect that no key knows", () => {
  async function forget(): Promise<string> {
    await publish(await loseForGood());
    const key = makeKey();
    await env.DB.prepare("UPDATE effects SET operation = ?")
      .bind(await nameOf("pay", key))
      .run();
    advanceClock(2 * MINUTE);
    return idOf("pay", key);
  }

  it("is listed after three runs under its operation's public id, and asked about less and less", async () => {
    const operation = await forget();
    for (let runs = 0; runs < 3; runs++) expect(await run()).toMatchObject({ handled: 0, failed: 1 });
    expect((await overview()).quarantined).toMatchObject([
      {
        operation,
        code: "stranger",
        failures: 3,
        kind: "ambiguous",
        due_at: new Date(Date.now() + 600_000).toISOString(),
      },
    ]);
    expect(await run()).toMatchObject({ scanned: 1, handled: 0, failed: 0 });
    advanceClock(10 * MINUTE);
    expect(await run()).toMatchObject({ failed: 1 });
    expect(linesOf("reconciliation-finding-failed")[0]).toMatchObject({ code: "stranger" });
  });

  it("is no longer listed once its row is closed", async () => {
    await forget();
    for (let runs = 0; runs < 3; runs++) await run();
    await env.DB.prepare("UPDATE effects SET state = 'committed'").run();
    expect((await overview()).quarantined).toEqual([]);
  });

  it("or whose row names none, is a failure of its own", async () => {
    await forget();
    await env.DB.prepare("UPDATE effects SET operation = NULL").run();
    for (let runs = 0; runs < 3; runs++) await run();
    expect((await overview()).quarantined).toMatchObject([{ operation: null, code: "unnamed" }]);
  });
});

describe("the endpoints", () => {
  it("show who holds the lease and where it is, and nothing of its token", async () => {
    const token = "the-token-of-the-holder";
    const claim = { name: "effects", owner: "somebody", token, startedBy: "cron", now: Date.now() };
    await openLeases(env.DB).acquire({ ...claim, until: Date.now() + MINUTE });
    const progress = { pages: 1, scanned: 1, handled: 1, failed: 0 };
    const cursor = { at: Date.now(), id: "effect stream" };
    await openLeases(env.DB).checkpoint(
      { name: "effects", token, run: 1 },
      { cursor, until: Date.now() + MINUTE, verdicts: [], progress, now: Date.now() },
    );
    const text = await (await show()).text();
    expect(JSON.parse(text)).toMatchObject({
      lease: { owner: "somebody", until: new Date(Date.now() + MINUTE).toISOString() },
      cursor: { changed_at: new Date(cursor.at).toISOString(), effect_id: "effect", stream: "stream" },
      runs: [{ run: 1, ended: null, ended_at: null, pages: 1 }],
    });
    expect(text).not.toContain(await env.DB.prepare("SELECT token FROM leases").first<string>("token"));
    await expectProblem(await startRun(), "reconciliation-running", 409);
  });

  it("write down which operator has started a run", async () => {
    await run();
    expect((await overview()).runs).toMatchObject([{ started_by: "operator:op1" }]);
  });

  it("want the role that they need", async () => {
    await expectProblem(await startRun(env, READER), "operator-forbidden", 403);
    await expectProblem(await startRun(env, { Authorization: "Bearer x" }), "operator-unauthorized", 401);
    await expectProblem(await show(env, { Authorization: "Bearer x" }), "operator-unauthorized", 401);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM runs").first("n")).toBe(0);
  });

  it.each([
    ["GET", "/run", "method-not-allowed", 405],
    ["POST", "", "method-not-allowed", 405],
    ["GET", "/runs", "not-found", 404],
  ] as const)("refuse %s of %s", async (method, path, slug, status) => {
    await expectProblem(await send(makeRequest(PATH + path, { method, headers: OP1 })), slug, status);
  });

  it("are not there without operators, and unsupported where D1 is no sink", async () => {
    const nobody = bindWith({ OPERATOR_TOKENS: undefined });
    await expectProblem(await show(nobody), "not-found", 404);
    await expectProblem(await startRun(nobody), "not-found", 404);
    const elsewhere = bindWith({ LEDGER_SINKS: ["stdout"] });
    expect(await expectProblem(await show(elsewhere), "unsupported", 501)).toMatchObject({ sinks: "stdout" });
    await expectProblem(await startRun(elsewhere), "unsupported", 501);
    await worker.scheduled(createScheduledController(), elsewhere, createExecutionContext());
    expect(await env.DB.prepare("SELECT count(*) AS n FROM runs").first("n")).toBe(0);
  });

  it("say so where the database fails, and the cron goes on living", async () => {
    const broken = bindWith({ DB: faultyDatabase(async () => Promise.reject(new Error("D1_ERROR"))) });
    await expectProblem(await startRun(broken), "ledger-unavailable", 503);
    await worker.scheduled(createScheduledController(), broken, createExecutionContext());
    expect(linesOf("reconciliation-failed")).toMatchObject([{ where: "lease" }, { where: "lease" }]);
  });
});
