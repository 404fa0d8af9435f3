// Aim: entries go where LEDGER_SINKS says, and what only D1 can tell is refused by name elsewhere. Method: every combination, from the settings on.
import { describe, expect, it } from "vitest";
import type { LedgerSink } from "../../../src/core/policy.ts";
import type { Env } from "../../../src/env.ts";
import type { LedgerParts } from "../../../src/ledger/shard/parts.ts";
import { wire } from "../../../src/wiring.ts";
import { advanceClock, MINUTE, stopClock } from "../support/clock.ts";
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
import { ledgerObject, makeDelivery, readLines, untilDelivered, withLedgerParts } from "../support/ledger.ts";
import { ask, makeUnknown, resolve, tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";
import { accept, expectSigned, makeReceiver, URL_OF_RECEIVER } from "../support/receiver.ts";

const WEBHOOK_KEY = btoa(String.fromCharCode(...new Uint8Array(32).fill(7)));

function bindSinks(sinks: readonly LedgerSink[]): Env {
  return bindWith({ LEDGER_SINKS: [...sinks], LEDGER_WEBHOOK_URL: URL_OF_RECEIVER, WEBHOOK_KEY });
}

async function partsOf(sinks: readonly LedgerSink[]): Promise<LedgerParts> {
  const wiring = await wire(bindSinks(sinks));
  if (wiring.kind === "misconfigured") throw new Error("misconfigured");
  return wiring.ledgerParts;
}

const COMBINATIONS: [sinks: LedgerSink[], shard: string][] = [
  [["d1"], "1:0"],
  [["stdout"], "1:1"],
  [["webhook"], "1:2"],
  [["d1", "stdout", "webhook"], "1:3"],
];

describe("entries with the sinks", () => {
  it.each(COMBINATIONS)("%j go there, each once and in order, and nowhere else", async (sinks, shard) => {
    stopClock();
    const { database, webhook, print } = await partsOf(sinks);
    const receiver = makeReceiver(accept);
    const printed: string[] = [];
    const parts = {
      database,
      webhook,
      print: print === null ? null : (line: string) => void printed.push(line),
      send: receiver.send,
    };
    await withLedgerParts(ledgerObject(shard), parts, async (object) => {
      for (const count of [3, 2]) {
        await object.append({ shard, shards: 4 }, await makeDelivery(count));
        for (let rounds = 0; rounds < 2; rounds++) {
          await object.alarm();
          advanceClock(MINUTE);
        }
      }
      expect((await object.checkpoint(shard)).size).toBe(5);
    });
    const places: Record<string, unknown[]> = {
      d1: (await readLines(shard)).map(({ index }) => index),
      stdout: printed.map((line) => JSON.parse(line).index),
      webhook: receiver.sent
        .flatMap(({ body }) => body.split("\n").slice(0, -1))
        .map((line) => JSON.parse(line).index),
    };
    for (const [sink, indexes] of Object.entries(places)) {
      expect([sink, indexes]).toEqual([sink, sinks.includes(sink as LedgerSink) ? [0, 1, 2, 3, 4] : []]);
    }
    for (const each of receiver.sent) await expectSigned(each, shard);
  });
});

const NEED_D1: ["GET" | "POST", string][] = [
  ["GET", "ledger/entries?shard=1:0"],
  ["GET", "ledger/proof?shard=1:0&index=0&size=1"],
  ["GET", "ledger/consistency?shard=1:0&from=1&to=1"],
  ["GET", "operator/keys?state=unknown"],
  ["GET", "operator/effects"],
  ["GET", "operator/reconciliation"],
  ["POST", "operator/reconciliation/run"],
];

const WITHOUT_D1: LedgerSink[][] = [["stdout"], ["webhook"], ["stdout", "webhook"], ["none"]];

describe.each(WITHOUT_D1.map((sinks) => [sinks] as const))("with the sinks %j", (sinks) => {
  it.each(NEED_D1)("%s %s is unsupported, and says which sinks there are", async (method, path) => {
    const request = makeRequest(`/_oncegate/${path}`, { method, headers: tokenOf("op1") });
    const told = await expectProblem(await send(request, bindSinks(sinks)), "unsupported", 501);
    expect(told).toMatchObject({ sinks: sinks.join(","), retry: "never" });
  });

  it("keys are guarded, found and resolved as ever, and the gateway is sound", async () => {
    const bindings = bindSinks(sinks);
    mockOrigin();
    const key = makeKey();
    const first = await expectAnswer(await post("/pay", key, {}, bindings), "executed");
    expect(await expectAnswer(await post("/pay", key, {}, bindings), "replayed")).toBe(first);
    expect((await get("/_oncegate/health", {}, bindings)).status).toBe(200);
    const open = await makeUnknown();
    const query = { route: "pay", principal: "Bearer alice", key: open.key };
    const found = await ask("/keys/find", query, "reader", bindings);
    expect(await found.json()).toMatchObject({ items: [{ id: open.id, state: "unknown" }] });
    for (const who of ["op1", "op2"] as const) {
      const word = { effect_id: open.effect, outcome: "not-committed", reason: "r", evidence: "e" };
      await (await ask(`/operations/${open.id}/resolve`, word, who, bindings)).text();
    }
    await expectAnswer(await post("/pay", open.key, {}, bindings), "executed");
  });
});

const WITHOUT_D1_BUT_SOME = WITHOUT_D1.filter((sinks) => !sinks.includes("none"));

it.each(WITHOUT_D1_BUT_SOME.map((sinks) => [sinks] as const))(
  "with the sinks %j checkpoints and key are shown to anyone all the same",
  async (sinks) => {
    for (const path of ["ledger/key", "ledger/checkpoint", "ledger/checkpoint/1:2"]) {
      const shown = await get(`/_oncegate/${path}`, { Authorization: null }, bindSinks(sinks));
      expect([path, shown.status]).toEqual([path, 200]);
      await shown.text();
    }
  },
);

describe("with EFFECTS_TABLE", () => {
  it.each(["all", "open"] as const)(
    "%s an unknown outcome has a row, which is closed with it",
    async (table) => {
      stopClock();
      const wiring = await wire(bindWith({ EFFECTS_TABLE: table }));
      if (wiring.kind === "misconfigured") throw new Error("misconfigured");
      const { allEffects } = wiring.ledgerParts;
      expect(allEffects).toBe(table === "all");
      const open = await makeUnknown();
      const settled = await post("/pay", makeKey());
      await settled.text();
      const publish = async (): Promise<void> => {
        for (const operation of [open.id, operationOf(settled)]) await untilDelivered(operation);
        for (const shard of ["1:0", "1:1", "1:2", "1:3"]) {
          await withLedgerParts(ledgerObject(shard), { allEffects }, (object) => object.alarm());
        }
        advanceClock(MINUTE);
      };
      await publish();
      const list = async (query: string): Promise<Record<string, unknown>[]> => {
        const response = await get(`/_oncegate/operator/effects?limit=1000${query}`, tokenOf("reader"));
        return (await response.json<{ items: Record<string, unknown>[] }>()).items;
      };
      const own = async (query = ""): Promise<unknown[]> =>
        (await list(query)).filter(({ effect_id }) => effect_id === open.effect).map(({ state }) => state);
      expect(await own("&state=unknown")).toEqual(["unknown"]);
      for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "not-committed" });
      await publish();
      expect([await own("&state=unknown"), await own()]).toEqual([[], ["failed"]]);
      const [operation = ""] = operationOf(settled).split(".");
      const row = await bindWith({})
        .DB.prepare("SELECT state FROM effects WHERE operation = ?")
        .bind(operation)
        .first("state");
      expect(row).toBe(table === "all" ? "committed" : null);
    },
  );
});
