// What would happen to a request can be asked without making it.
import { describe, expect, it } from "vitest";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { expectProblem, makeKey, post } from "../support/gateway.ts";
import { expectNoTraces, keyObject, nameOf, readRecord } from "../support/object.ts";
import { ask, makeUnknown } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

type Explained = Record<string, unknown> & { would: Record<string, unknown> };
type Sample = { method?: string; target: string; headers?: string[][]; body?: string; body_base64?: string };

async function explain(request: Sample): Promise<Explained> {
  const response = await ask("/explain", { request: { method: "POST", ...request } }, "reader");
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text);
}

/** The request that `post` makes. */
function sampleOf(route: string, key: string, body = '{"amount":1}'): Sample {
  const headers = [
    ["Idempotency-Key", key],
    ["Authorization", "Bearer alice"],
    ["Content-Type", "application/json"],
  ];
  return { target: `/${route}`, headers, body };
}

describe("an explanation", () => {
  it("names what makes scope and fingerprint, and tells none of their values", async () => {
    mockOrigin();
    const key = makeKey();
    const told = await explain(sampleOf("pay", key));
    expect(told).toEqual({
      route: "pay",
      target: "/pay",
      scope: {
        route: "pay",
        principal: {
          from: "credential",
          parts: [{ name: "authorization", found: true }],
          known: true,
          anonymous: "refuse",
        },
        key: { name: "idempotency-key", found: true, needed: "required" },
      },
      fingerprint: {
        method: "POST",
        path: "/pay",
        query: false,
        media_type: "application/json",
        headers: [],
        body: "raw",
        body_rule: "raw",
        body_bytes: 12,
        ignore: [],
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      operation: expect.stringMatching(/^[\w-]{43}\.[\w-]{11}$/),
      state: "none",
      would: { does: "run", idempotency_status: "executed" },
    });
    const text = JSON.stringify(told);
    expect([key, "alice", "amount"].filter((secret) => text.includes(secret))).toEqual([]);
  });

  it("runs nothing and creates nothing", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    await explain(sampleOf("pay", key));
    await expectNoTraces(keyObject(await nameOf("pay", key)));
    expect(origin.arrivals).toEqual([]);
  });

  it("has the fingerprint and the id that the request itself gets", async () => {
    mockOrigin();
    const key = makeKey();
    const { fingerprint, operation } = await explain(sampleOf("pay", key));
    await post("/pay", key);
    const { fp } = await readRecord(keyObject(String(operation)));
    expect(fingerprint).toMatchObject({ digest: fp });
  });

  it("takes the body as text or as base64, and both are one request", async () => {
    const { body: text, ...rest } = sampleOf("pay", makeKey(), '{"amount":"\u20ac"}');
    const bytes = String.fromCharCode(...new TextEncoder().encode(text));
    const asText = await explain({ ...rest, body: text ?? "" });
    const asBytes = await explain({ ...rest, body_base64: btoa(bytes) });
    expect(asBytes.fingerprint).toEqual(asText.fingerprint);
    expect(asBytes.fingerprint).toMatchObject({ body_bytes: 16 });
  });

  it("tells a settled key's replay, a reused key and an expired one", async () => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    await post("/short", key);
    const replay = { does: "replay", idempotency_status: "replayed", status: 201 };
    expect(await explain(sampleOf("short", key))).toMatchObject({ state: "settled", would: replay });
    const other = { does: "refuse", problem: "key-reused", status: 422, idempotency_status: "mismatch" };
    expect((await explain(sampleOf("short", key, "{}"))).would).toEqual(other);
    advanceClock(11 * SECOND);
    expect(await explain(sampleOf("short", key))).toMatchObject({
      state: "expired",
      would: { problem: "key-expired", status: 409 },
    });
    advanceClock(5 * SECOND);
    expect(await explain(sampleOf("short", key))).toMatchObject({ state: "none", would: { does: "run" } });
  });

  it("tells an unknown outcome, and that a route that retries would run again", async () => {
    const held = await makeUnknown("pay");
    expect(await explain(sampleOf("pay", held.key))).toMatchObject({
      state: "unknown",
      would: { does: "refuse", problem: "outcome-unknown", status: 409 },
    });
    const retried = await makeUnknown("retry");
    expect((await explain(sampleOf("retry", retried.key))).would).toMatchObject({ does: "run" });
    expect((await readRecord(keyObject(retried.id))).n).toBe(1);
  });

  it("says that an origin would be asked about an unknown outcome where it can be, and does not ask it", async () => {
    stopClock();
    for (const [route, asks] of [
      ["probe", true],
      ["pay", false],
    ] as const) {
      const { key, origin } = await makeUnknown(route);
      const told = await explain(sampleOf(route, key));
      expect(told).toMatchObject({ state: "unknown", would: { problem: "outcome-unknown" } });
      expect("probe" in told).toBe(asks);
      expect(origin.count).toBe(1);
    }
    expect(await explain(sampleOf("probe", makeKey()))).not.toHaveProperty("probe");
  });

  it.each<[string, Sample, object]>([
    ["a target with two readings", { target: "/a/../pay" }, { problem: "target-refused", status: 400 }],
    ["no key", { target: "/pay" }, { problem: "key-missing", status: 400 }],
    ["a bad key", { target: "/pay", headers: [["Idempotency-Key", "a b"]] }, { problem: "key-invalid" }],
    ["no caller", { target: "/pay", headers: [["Idempotency-Key", "a"]] }, { problem: "principal-missing" }],
    ["too large a body", sampleOf("limit", "k", "x".repeat(1_025)), { problem: "request-too-large" }],
    [
      "no key where none is needed",
      { target: "/optional" },
      { does: "forward", idempotency_status: "unprotected" },
    ],
    ["no route", { target: "/nowhere" }, { does: "forward", idempotency_status: null }],
    ["a safe method", { target: "/pay", method: "GET" }, { does: "forward", idempotency_status: null }],
    ["an address of the gateway", { target: "/_oncegate/health" }, { does: "serve" }],
  ])("of a request with %s says so", async (_what, sample, would) => {
    expect((await explain(sample)).would).toMatchObject(would);
  });

  it.each<[field: string, body: unknown]>([
    ["body", { sample: {} }],
    ["request", {}],
    ["request", { request: [] }],
    ["request", { request: { method: "POST", target: "/", cookies: [] } }],
    ["request", { request: { method: "GET", target: "/pay", body: "x" } }],
    ["request.method", { request: { method: "post", target: "/" } }],
    ["request.target", { request: { method: "POST", target: "pay" } }],
    ["request.headers", { request: { method: "POST", target: "/", headers: { a: "b" } } }],
    ["request.body", { request: { method: "POST", target: "/", body: {} } }],
    ["request.body_base64", { request: { method: "POST", target: "/", body_base64: "?" } }],
  ])("refuses %s: %j", async (field, body) => {
    const told = await expectProblem(await ask("/explain", body), "operator-request-refused", 400);
    expect(told.field).toBe(field);
  });
});
