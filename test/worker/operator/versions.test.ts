// Aim: what is said of the forms that are stored and sent is what this build keeps to. Method: each form with the listed versions, and with others.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readBegun, requestFor } from "../../../src/key/wire.ts";
import { settleDown } from "../support/clock.ts";
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
import { readPublished } from "../support/ledger.ts";
import { keyObject, makeOperation, nameOf, readRecord, replaceRecord } from "../support/object.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

type Form = { writes: number; reads: number[] };
type Told = Record<"record" | "reported_effects" | "fingerprint" | "entry" | "log" | "call", Form> & {
  database: { needs: number; has: number | null };
};

async function readVersions(bindings = bindWith({})): Promise<Told> {
  const response = await get("/_oncegate/operator/versions", tokenOf("reader"), bindings);
  expect(response.status).toBe(200);
  return response.json();
}

/** Versions about those that this build reads, and whether it does. */
function around({ reads }: Form): [version: number, isRead: boolean][] {
  const last = Math.max(...reads);
  return Array.from({ length: last + 3 }, (_, version) => [version, reads.includes(version)]);
}

describe("the versions of", () => {
  it("a record are those that are read, and no others", async () => {
    mockOrigin();
    const { record } = await readVersions();
    const key = makeKey();
    const made = await post("/durable", key);
    const body = await expectAnswer(made, "executed");
    await settleDown();
    const stub = keyObject(operationOf(made));
    for (const [v, isRead] of around(record)) {
      await replaceRecord(stub, (stored) => ({ ...stored, v }));
      if (isRead) expect(await expectAnswer(await post("/durable", key), "replayed")).toBe(body);
      else await expectProblem(await post("/durable", key), "store-unavailable", 503);
    }
  });

  it("reported effects are those that are read, and no others", async () => {
    const origin = mockOrigin();
    const { reported_effects: effects } = await readVersions();
    const made = await post("/pay", makeKey());
    await made.text();
    const token = origin.arrivals[0]?.headers.get("Effect-Token") ?? "";
    const stub = keyObject(operationOf(made));
    const { inc } = await readRecord(stub);
    for (const [v, isRead] of around(effects)) {
      await runInDurableObject(stub, (_object, { storage }) => {
        storage.kv.put("effects", { v, inc, attempts: [], effects: [] });
      });
      const told = await send(
        makeRequest("/_oncegate/effects", {
          method: "POST",
          headers: { Authorization: `Bearer ${token}` },
          body: JSON.stringify({ effect_id: `e${v}`, capability: "a.b" }),
        }),
      );
      await told.text();
      expect(told.status).toBe(isRead ? 200 : 503);
    }
  });

  it("a call to a key's object are those that it answers, and no others", async () => {
    const origin = mockOrigin();
    const { call } = await readVersions();
    for (const [v, isRead] of around(call)) {
      const key = makeKey();
      const request = await requestFor("submit", await makeOperation("pay", key));
      const headers = new Headers(
        [...request.headers].map(([name, value]) => [name, value.replace(/^\{"v":\d+/, `{"v":${v}`)]),
      );
      const answer = await readBegun(
        await keyObject(await nameOf("pay", key)).fetch(new Request(request, { headers })),
      );
      expect(answer.kind).toBe(isRead ? "executed" : "refused");
    }
    expect(origin.count).toBe(call.reads.length);
  });

  it("an entry and a fingerprint's rule are those that are written", async () => {
    mockOrigin();
    const { entry, fingerprint } = await readVersions();
    const made = await post("/pay", makeKey());
    await made.text();
    const operation = operationOf(made);
    const { terms } = await readRecord(keyObject(operation));
    expect(JSON.parse(terms.fingerprint)[0]).toBe(fingerprint.writes);
    const lines = await readPublished(operation);
    expect(lines.map(({ v }) => v)).toEqual([entry.writes, entry.writes]);
  });
});

describe("the database's schema", () => {
  it("is the one that the migrations make", async () => {
    const { database } = await readVersions();
    expect(database).toEqual({ needs: env.TEST_MIGRATIONS.length, has: env.TEST_MIGRATIONS.length });
  });

  it.each<[string, unknown, number | null]>([
    ["is older than this build needs", { first: async () => 2 }, 2],
    ["has no version", { first: async () => null }, null],
    ["does not answer", { first: () => Promise.reject(new Error("D1_ERROR")) }, null],
  ])("is told where it %s, and is not sound", async (_case, statement, has) => {
    const bindings = bindWith({ DB: { prepare: () => statement } });
    expect((await readVersions(bindings)).database).toMatchObject({ has });
    expect((await get("/_oncegate/health", {}, bindings)).status).toBe(503);
  });

  it("may be older where nothing is kept in it", async () => {
    const DB = { prepare: () => ({ first: async () => 2 }) };
    const bindings = bindWith({ DB, LEDGER_SINKS: ["none"] });
    expect((await get("/_oncegate/health", {}, bindings)).status).toBe(200);
  });
});
