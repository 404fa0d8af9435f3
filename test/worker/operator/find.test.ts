// An operator finds the key a client complains about, with all that is needed to decide; looking creates nothing.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import {
  bindWith,
  expectProblem,
  makeKey,
  makeRequest,
  operationOf,
  post,
  send,
} from "../support/gateway.ts";
import {
  beginAt,
  countWrites,
  expectNoTraces,
  keyObject,
  keyring,
  makeOperation,
  nameOf,
  readRecord,
} from "../support/object.ts";
import { ask, makeUnknown, resolve } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";
import { describeRoute, JWT_CLAIMS } from "../support/routes.ts";
import { signWithSecret } from "../support/tokens.ts";

type Item = Record<string, unknown>;

async function find(query: object, bindings = bindWith({})): Promise<Item[]> {
  const response = await ask("/keys/find", query, "reader", bindings);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return (JSON.parse(text) as { items: Item[] }).items;
}

const ALICE = { authorization: "Bearer alice" };

describe("a key that was used", () => {
  it("is found with its effects, and with what was proposed of them and why", async () => {
    stopClock();
    const { key, id, effect } = await makeUnknown();
    await resolve({ id, effect }, "op1", { outcome: "committed", answer: { status: 201 } });
    const { inc } = await readRecord(keyObject(id));
    const now = new Date(Date.now()).toISOString();
    expect(await find({ route: "pay", principal: ALICE, key })).toEqual([
      {
        id,
        route: "pay",
        state: "unknown",
        attempts: 1,
        created_at: now,
        dispatched_at: now,
        changed_at: now,
        reason: "path-status",
        probes: 0,
        proposal: {
          outcome: "committed",
          answer: expect.stringMatching(/^[0-9a-f]{64}$/),
          operators: [
            {
              operator: "op1",
              reason: "checked",
              evidence: "ticket-1",
              grounds_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
            },
          ],
          missing: 1,
        },
        effects: [
          { effect_id: effect, attempt: 1, capability: "origin.request", state: "unknown", flagged: false },
        ],
        ledger: {
          stream: await keyring.stream(id.split(".")[0] ?? "", inc),
          seq: 3,
          delivered: expect.any(Number),
        },
      },
    ]);
  });

  it("is found with what freed it", async () => {
    const { key, id, effect } = await makeUnknown();
    for (const who of ["op1", "op2"] as const)
      await resolve({ id, effect }, who, { outcome: "not-committed" });
    const [item] = await find({ route: "pay", principal: ALICE, key });
    expect(item).toMatchObject({ state: "released", evidence: "operator" });
    expect(item?.effects).toMatchObject([{ state: "failed" }]);
  });

  it("is found with who settled it, and with no more of the answer than its digest", async () => {
    mockOrigin(() => new Response("a secret answer", { status: 201 }));
    const key = makeKey();
    await (await post("/pay", key)).text();
    const items = await find({ route: "pay", principal: ALICE, key });
    expect(items).toMatchObject([
      { state: "settled", settled_by: "executor", answer: { copy: "kept", status: 201, size: 15 } },
    ]);
    expect(JSON.stringify(items)).not.toContain("secret");
  });

  it("whose lease is over is told as unknown, and nothing is written", async () => {
    stopClock();
    const key = makeKey();
    const stub = keyObject(await nameOf("worker", key));
    await beginAt(stub, await makeOperation("worker", key));
    expect(await find({ route: "worker", principal: ALICE, key })).toMatchObject([{ state: "in-flight" }]);
    advanceClock(31 * SECOND);
    const writes = await countWrites(stub);
    expect(await find({ route: "worker", principal: ALICE, key })).toMatchObject([
      { state: "unknown", reason: "lease-over" },
    ]);
    expect(writes.rows).toBe(0);
    expect((await readRecord(stub)).state).toBe("in-flight");
  });
});

const FINGERPRINT = "ab".repeat(32);
const JWT = { from: "jwt", secret: "JWT_SECRET", ...JWT_CLAIMS };
const CERTIFICATE = { tlsClientAuth: { certVerified: "SUCCESS", certFingerprintSHA256: FINGERPRINT } };

type Case = {
  rule?: object;
  anonymous?: string;
  sent?: Record<string, string | null>;
  claims?: Record<string, string | number>;
  cf?: object;
};

describe("a key is found", () => {
  const bearer = async (claims: NonNullable<Case["claims"]>) => ({
    Authorization: `Bearer ${await signWithSecret(env.JWT_SECRET, { claims })}`,
  });
  const combined = { from: "credential", headers: ["X-A", "X-B"] };

  it.each<[string, Case, object | string | undefined]>([
    ["by a header in any case", {}, { AUTHORIZATION: "Bearer alice" }],
    ["by the one value that there is", {}, "Bearer alice"],
    [
      "by a header that a hop sets",
      { rule: { from: "header", name: "X-A" }, sent: { "X-A": "1" } },
      { "X-A": "1" },
    ],
    ["by those headers that were there", { rule: combined, sent: { "X-B": "2" } }, { "x-b": "2" }],
    ["by a cookie", { rule: { from: "cookie", name: "Sid" }, sent: { Cookie: "a=1; Sid=x" } }, { Sid: "x" }],
    ["by a hop's header as text", { rule: { from: "header", name: "X-A" }, sent: { "X-A": "1" } }, "1"],
    ["by all headers", { rule: combined, sent: { "X-A": "1", "X-B": "2" } }, { "X-A": "1", "X-B": "2" }],
    ["by a cookie as text", { rule: { from: "cookie", name: "s" }, sent: { Cookie: "s=x y=z" } }, "x y=z"],
    ["by a claim", { rule: JWT, claims: { sub: "alice" } }, { sub: "alice" }],
    ["by the one claim's value", { rule: JWT, claims: { sub: "alice" } }, "alice"],
    ["by the one claim's number", { rule: { ...JWT, claims: ["uid"] }, claims: { uid: 42 } }, { uid: 42 }],
    ["by the one claim's number as text", { rule: { ...JWT, claims: ["uid"] }, claims: { uid: 42 } }, "42"],
    ["by a claim that only looks like a number", { rule: JWT, claims: { sub: "42" } }, "42"],
    [
      "by a claim that only looks like a number, by name",
      { rule: JWT, claims: { sub: "42" } },
      { sub: "42" },
    ],
    [
      "by several claims, in any order, and numbers among them",
      { rule: { ...JWT, claims: ["org", "sub"] }, claims: { sub: "alice", org: 7 } },
      { sub: "alice", org: 7 },
    ],
    ["by a client's certificate", { rule: { from: "mtls" }, cf: CERTIFICATE }, FINGERPRINT],
    ["by a certificate's name", { rule: { from: "mtls" }, cf: CERTIFICATE }, { fingerprint: FINGERPRINT }],
    ["without a caller where none counts", { rule: { from: "none" } }, undefined],
    ["without a caller where all share", { anonymous: "share", sent: { Authorization: null } }, undefined],
  ])("%s", async (_claim, { rule, anonymous = "refuse", sent = {}, claims, cf }, principal) => {
    mockOrigin();
    const route = { anonymous, ...(rule === undefined ? {} : { principal: rule }) };
    const bindings = bindWith({ ROUTES: [describeRoute("pay", route)] });
    const key = makeKey();
    const headers = claims === undefined ? sent : await bearer(claims);
    const made = await post(
      "/pay",
      key,
      { headers, ...(cf === undefined ? {} : { cf: { ...cf } }) },
      bindings,
    );
    const id = operationOf(made);
    expect(await find({ route: "pay", principal, key }, bindings)).toMatchObject([{ id, state: "settled" }]);
    expect(await find({ route: "pay", principal, key: `"${key}"` }, bindings)).toMatchObject([{ id }]);
  });
});

describe("a caller given as text", () => {
  it("that a number and a text can be is both of them, and neither where it is named", async () => {
    mockOrigin();
    const rule = { ...JWT, claims: ["uid"] };
    const bindings = bindWith({ ROUTES: [describeRoute("pay", { principal: rule })] });
    const key = makeKey();
    const ids: string[] = [];
    for (const uid of ["42", 42]) {
      const token = await signWithSecret(env.JWT_SECRET, { claims: { uid } });
      const made = await post("/pay", key, { headers: { Authorization: `Bearer ${token}` } }, bindings);
      await made.text();
      ids.push(operationOf(made));
    }
    const idsOf = async (principal: unknown): Promise<unknown[]> =>
      (await find({ route: "pay", principal, key }, bindings)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(await idsOf("42")).toEqual(ids);
    expect(await idsOf({ uid: "42" })).toEqual([ids[0]]);
    expect(await idsOf({ uid: 42 })).toEqual([ids[1]]);
    for (const other of ["42.0", "042", "4.2e1", "+42", " 42", "Infinity", "NaN"]) {
      expect(await idsOf(other)).toEqual([]);
    }
  });
});

describe("a key that was never used", () => {
  it("is not found, and stays unused", async () => {
    const key = makeKey();
    expect(await find({ route: "pay", principal: ALICE, key })).toEqual([]);
    await expectNoTraces(keyObject(await nameOf("pay", key)));
  });

  it("of somebody else is not the one that was", async () => {
    const { key } = await makeUnknown();
    expect(await find({ route: "pay", principal: "Bearer bob", key })).toEqual([]);
    expect(await find({ route: "worker", principal: ALICE, key })).toEqual([]);
  });
});

describe("a question for a key is refused", () => {
  it.each<[field: string, body: unknown]>([
    ["body", "{"],
    ["body", { route: "pay", key: "k", state: "unknown" }],
    ["route", { principal: ALICE, key: "k" }],
    ["route", { route: "nowhere", principal: ALICE, key: "k" }],
    ["principal", { route: "pay", key: "k" }],
    ["principal", { route: "pay", principal: { cookie: "x" }, key: "k" }],
    ["principal", { route: "pay", principal: [], key: "k" }],
    ["principal", { route: "pay", principal: { authorization: "a\r\nb" }, key: "k" }],
    ["principal", { route: "pay", principal: { authorization: "a", Authorization: "b" }, key: "k" }],
    ["key", { route: "pay", principal: ALICE }],
    ["key", { route: "pay", principal: ALICE, key: "a b" }],
  ])("for its %s: %j", async (field, body) => {
    const told = await expectProblem(await ask("/keys/find", body), "operator-request-refused", 400);
    expect(told.field).toBe(field);
  });

  it("to everybody but operators", async () => {
    const request = makeRequest("/_oncegate/operator/keys/find", { method: "POST", body: "{}" });
    await expectProblem(await send(request), "operator-unauthorized", 401);
  });
});
