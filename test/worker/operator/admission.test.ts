// Aim: every endpoint of operators asks for a token that holds, and for the role that it needs. Method: all of them, by every kind of caller.
import { describe, expect, it, vi } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import type { Env } from "../../../src/env.ts";
import { bindWith, expectProblem, makeRequest, send } from "../support/gateway.ts";
import { tokenOf } from "../support/operator.ts";

type Role = "read" | "resolve";
type Endpoint = [method: "GET" | "POST", path: string, role: Role];

const ENDPOINTS: readonly Endpoint[] = [
  ["GET", "/metrics", "read"],
  ["GET", "/ledger/entries?shard=1:0", "read"],
  ["GET", "/ledger/proof?shard=1:0&index=0&size=1", "read"],
  ["GET", "/ledger/consistency?shard=1:0&from=1&to=1", "read"],
  ["GET", "/operator/versions", "read"],
  ["GET", "/operator/keys?state=unknown", "read"],
  ["POST", "/operator/keys/find", "read"],
  ["GET", "/operator/effects", "read"],
  ["GET", "/operator/reconciliation", "read"],
  ["POST", "/operator/reconciliation/run", "resolve"],
  ["POST", "/operator/operations/none/resolve", "resolve"],
  ["POST", "/operator/explain", "read"],
];

type Fields = Record<string, string | null>;

function call(
  method: string,
  path: string,
  headers: Fields,
  bindings: Env = bindWith({}),
): Promise<Response> {
  const body = method === "POST" ? { body: "{}" } : {};
  return send(makeRequest(`/_oncegate${path}`, { method, headers, ...body }), bindings);
}

async function bindOperator(roles: readonly Role[]): Promise<Env> {
  const sha256 = await sha256Hex(encodeUtf8("pass"));
  return bindWith({ OPERATOR_TOKENS: JSON.stringify([{ id: "op9", sha256, roles }]) });
}

/** What the configuration has of `op1`. */
const CONFIGURED = await sha256Hex(encodeUtf8("secret-of-op1"));
const OP9 = { Authorization: "Bearer op9.pass" };

describe.each(ENDPOINTS)("%s %s", (method, path, role) => {
  it.each(["GET", "POST", "PUT", "DELETE"])("is not there without operators (%s)", async (asked) => {
    const nobody = bindWith({ OPERATOR_TOKENS: undefined });
    await expectProblem(await call(asked, path, tokenOf("op1"), nobody), "not-found", 404);
  });

  it.each<[string, string | null]>([
    ["no token", null],
    ["a client's token", "Bearer alice"],
    ["an unknown operator", "Bearer nobody.secret-of-op1"],
    ["another operator's secret", "Bearer op1.secret-of-op2"],
    ["an empty secret", "Bearer op1."],
    ["another scheme", "Basic op1.secret-of-op1"],
    ["the digest that is configured", `Bearer op1.${CONFIGURED}`],
  ])("is refused to %s", async (_who, authorization) => {
    const refused = await call(method, path, { Authorization: authorization });
    expect(refused.headers.get("WWW-Authenticate")).toBe("Bearer");
    await expectProblem(refused, "operator-unauthorized", 401);
  });

  it(`is for those who have the role ${role}, and for no others`, async () => {
    const other: Role = role === "read" ? "resolve" : "read";
    const refused = await call(method, path, OP9, await bindOperator([other]));
    await expectProblem(refused, "operator-forbidden", 403);
    const admitted = await call(method, path, OP9, await bindOperator([role]));
    await admitted.text();
    expect([401, 403, 405, 500]).not.toContain(admitted.status);
  });
});

describe("an operator's token", () => {
  it.each<[string, string | null, number]>([
    ["that holds", "Bearer reader.secret-of-reader", 200],
    ["with a wrong secret", "Bearer reader.x", 401],
    ["that begins like the right one", "Bearer reader.secret-of-reade", 401],
    ["of nobody", "Bearer nobody.secret-of-reader", 401],
    ["that is none", "Bearer x", 401],
    ["that is absent", null, 401],
  ])(
    "%s is compared once, by digests of one length, in constant time",
    async (_which, authorization, status) => {
      await (await call("GET", "/metrics", tokenOf("reader"))).text();
      const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
      const answer = await call("GET", "/metrics", { Authorization: authorization });
      await answer.text();
      expect(answer.status).toBe(status);
      expect(compare.mock.calls.map((pair) => pair.map(({ byteLength }) => byteLength))).toEqual([[32, 32]]);
    },
  );
});
