// Aim: every endpoint of the gateway's own says which methods it takes, and takes HEAD where it takes GET (RFC 9110 sections 9.1, 15.5.6).
import { describe, expect, it } from "vitest";
import { expectProblem, makeKey, makeRequest, operationOf, post, send } from "../support/gateway.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

const READ = [
  "/health",
  "/problems/in-flight",
  "/operations/none",
  "/metrics",
  "/operator/versions",
  "/operator/keys?state=unknown",
  "/operator/effects",
  "/operator/reconciliation",
  "/ledger/key",
  "/ledger/checkpoint",
  "/ledger/checkpoint/1:0",
  "/ledger/entries?shard=1:0",
  "/ledger/proof?shard=1:0&index=0&size=1",
  "/ledger/consistency?shard=1:0&from=1&to=1",
];
const WRITTEN = [
  "/effects",
  "/operator/keys/find",
  "/operator/explain",
  "/operator/reconciliation/run",
  "/operator/operations/none/resolve",
];

function call(method: string, path: string): Promise<Response> {
  return send(makeRequest(`/_oncegate${path}`, { method, headers: tokenOf("op1") }));
}

describe.each<[string, readonly string[], readonly string[]]>([
  ["GET, HEAD", READ, ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]],
  ["POST", WRITTEN, ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]],
])("an endpoint for %s", (allowed, paths, others) => {
  it.each(paths.flatMap((path) => others.map((method) => [method, path] as const)))(
    "answers %s %s with what it takes",
    async (method, path) => {
      const response = await call(method, path);
      expect(response.headers.get("Allow")).toBe(allowed);
      const { allow } = await expectProblem(response, "method-not-allowed", 405);
      expect(allow).toEqual(allowed.split(", "));
    },
  );
});

/** All fields but the answer's own date. */
function fieldsOf(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name !== "date"));
}

describe("HEAD", () => {
  it.each(READ)("of %s has the status and fields of GET", async (path) => {
    const got = await call("GET", path);
    const asked = await call("HEAD", path);
    expect(asked.status).toBe(got.status);
    expect(fieldsOf(asked)).toEqual(fieldsOf(got));
    await Promise.all([got.text(), asked.text()]);
  });

  it("tells an operation to its principal alone", async () => {
    mockOrigin();
    const answer = await post("/pay", makeKey());
    await answer.text();
    const path = `/_oncegate/operations/${operationOf(answer)}`;
    const ask = async (who: string): Promise<number> =>
      (await send(makeRequest(path, { method: "HEAD", headers: { Authorization: `Bearer ${who}` } }))).status;
    expect([await ask("alice"), await ask("bob")]).toEqual([200, 404]);
  });
});
