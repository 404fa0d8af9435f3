import { describe, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";
import { describeRoute } from "../support/routes.ts";

type Fields = Readonly<Record<string, string | null>>;
type Caller = { headers?: Fields; cf?: Record<string, unknown> };

/** `/pay` with another rule for whose key it is. Its key objects know the route by its id. */
function bindRule(principal: unknown, changes: Record<string, unknown> = {}): Env {
  return bindWith({ ROUTES: [describeRoute("pay", { principal, ...changes })] });
}

function certificate(fingerprint: string, verified = "SUCCESS"): Record<string, unknown> {
  return { tlsClientAuth: { certVerified: verified, certFingerprintSHA256: fingerprint } };
}

const NONE: Fields = { Authorization: null };

const RULES: [string, unknown, Caller, Caller, Caller][] = [
  [
    "credential",
    { from: "credential", headers: ["Authorization"] },
    { headers: { Authorization: "Bearer alice" } },
    { headers: { Authorization: "Bearer mallory" } },
    { headers: NONE },
  ],
  [
    "credential of two headers",
    { from: "credential", headers: ["X-Api-Key", "X-Account"] },
    { headers: { ...NONE, "X-Api-Key": "key", "X-Account": "1" } },
    { headers: { ...NONE, "X-Api-Key": "key", "X-Account": "2" } },
    { headers: { Authorization: "Bearer alice" } },
  ],
  [
    "header",
    { from: "header", name: "X-Tenant" },
    { headers: { ...NONE, "X-Tenant": "acme" } },
    { headers: { ...NONE, "X-Tenant": "globex" } },
    { headers: { Authorization: "Bearer alice" } },
  ],
  [
    "cookie",
    { from: "cookie", name: "session" },
    { headers: { ...NONE, Cookie: "theme=dark; session=s1" } },
    { headers: { ...NONE, Cookie: "theme=dark; session=s2" } },
    { headers: { ...NONE, Cookie: "theme=dark" } },
  ],
  [
    "mtls",
    { from: "mtls" },
    { headers: NONE, cf: certificate("aa".repeat(32)) },
    { headers: NONE, cf: certificate("bb".repeat(32)) },
    { headers: { Authorization: "Bearer alice" } },
  ],
];

describe.each(RULES)("a principal from %s", (_name, rule, mine, theirs, nobody) => {
  it("tells one caller from another under the same key", async () => {
    const origin = mockOrigin();
    const bindings = bindRule(rule);
    const key = makeKey();
    const body = await expectAnswer(await post("/pay", key, mine, bindings), "executed");
    const other = await expectAnswer(await post("/pay", key, theirs, bindings), "executed");
    expect(other).not.toBe(body);
    expect(await expectAnswer(await post("/pay", key, mine, bindings), "replayed")).toBe(body);
    expect(await expectAnswer(await post("/pay", key, theirs, bindings), "replayed")).toBe(other);
    expect(origin.count).toBe(2);
  });

  it("confines a mismatch to the caller's own keys", async () => {
    mockOrigin();
    const bindings = bindRule(rule);
    const key = makeKey();
    await post("/pay", key, mine, bindings);
    await expectAnswer(await post("/pay", key, { ...theirs, body: "another" }, bindings), "executed");
    await expectProblem(await post("/pay", key, { ...mine, body: "another" }, bindings), "key-reused", 422);
  });

  it("refuses a request without one, and sends nothing", async () => {
    const origin = mockOrigin();
    const refused = await post("/pay", makeKey(), nobody, bindRule(rule));
    expect(refused.headers.get("WWW-Authenticate")).not.toBeNull();
    await expectProblem(refused, "principal-missing", 401);
    expect(origin.count).toBe(0);
  });

  it("lets callers without one share a namespace where the route says so", async () => {
    const origin = mockOrigin();
    const bindings = bindRule(rule, { anonymous: "share" });
    const key = makeKey();
    const body = await expectAnswer(await post("/pay", key, nobody, bindings), "executed");
    expect(await expectAnswer(await post("/pay", key, nobody, bindings), "replayed")).toBe(body);
    expect(await expectAnswer(await post("/pay", key, mine, bindings), "executed")).not.toBe(body);
    expect(origin.count).toBe(2);
  });
});

describe("a principal", () => {
  it.each<[string, unknown, Caller]>([
    ["an empty header", { from: "header", name: "X-Tenant" }, { headers: { "X-Tenant": "" } }],
    ["two cookies of one name", { from: "cookie", name: "s" }, { headers: { Cookie: "s=1; s=2" } }],
    ["an unverified certificate", { from: "mtls" }, { cf: certificate("aa", "FAILED:self signed") }],
    ["no certificate", { from: "mtls" }, { cf: certificate("", "NONE") }],
  ])("is missing with %s", async (_case, rule, caller) => {
    const origin = mockOrigin();
    await expectProblem(await post("/pay", makeKey(), caller, bindRule(rule)), "principal-missing", 401);
    expect(origin.count).toBe(0);
  });

  it("of several headers does not mix up which of them has a value", async () => {
    mockOrigin();
    const bindings = bindRule({ from: "credential", headers: ["X-One", "X-Two"] });
    const key = makeKey();
    const callers: Fields[] = [
      { "X-One": "ab" },
      { "X-Two": "ab" },
      { "X-One": "a", "X-Two": "b" },
      { "X-One": "ab", "X-Two": "" },
      { "X-One": "absent", "X-Two": "ab" },
    ];
    const names = new Set<string>();
    for (const headers of callers) {
      const response = await post("/pay", key, { headers }, bindings);
      await expectAnswer(response, "executed");
      names.add(operationOf(response));
    }
    expect(names.size).toBe(callers.length);
  });

  it("from nothing is one namespace for everybody", async () => {
    const origin = mockOrigin();
    const bindings = bindRule({ from: "none" });
    const key = makeKey();
    const body = await expectAnswer(await post("/pay", key, { headers: NONE }, bindings), "executed");
    const other = { headers: { Authorization: "Bearer mallory" } };
    expect(await expectAnswer(await post("/pay", key, other, bindings), "replayed")).toBe(body);
    expect(origin.count).toBe(1);
  });

  it("is told apart by the route as well as by its key", async () => {
    mockOrigin();
    const key = makeKey();
    const names = [];
    for (const path of ["/pay", "/anon", "/tenant"]) {
      names.push(operationOf(await post(path, key, { headers: { "X-Tenant": "acme" } })));
    }
    expect(new Set(names).size).toBe(3);
  });

  it("named like the shared namespace is not let into it", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    await expectAnswer(await post("/anon", key, { headers: NONE }), "executed");
    const posing = { headers: { Authorization: "anonymous" } };
    await expectAnswer(await post("/anon", key, posing), "executed");
    expect(origin.count).toBe(2);
  });
});
