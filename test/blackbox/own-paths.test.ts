import { describe, expect, it } from "vitest";
import { Connection } from "../support/client.ts";
import { expectExecuted, expectProblem } from "../support/expect-answer.ts";
import { OPERATORS } from "../support/gateway.ts";
import { describeRoute, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({ routes: [describeRoute("payments"), describeRoute("a.b")] });

describe("a target below the gateway's own prefix", () => {
  it.each(["GET", "POST", "DELETE"])(
    "with a dot segment is refused, whoever it would reach (%s)",
    async (method) => {
      for (const target of [
        "/_oncegate/../payments/x",
        "/_oncegate/..",
        "/_oncegate/./health",
        "/_oncegate/.",
        "/_oncegate/%2e%2e/payments/x",
        "/_oncegate/%2E/health",
        "/_oncegate/.%2e/health",
        "/_oncegate/problems/..",
        "/_oncegate/problems/%2e%2e%2fhealth",
        "/_oncegate/operations/..;x/health",
        "/payments/../_oncegate/health",
      ]) {
        const answer = await stage.send({ method, target, headers: [["Idempotency-Key", makeKey()]] });
        expectProblem(answer, "target-refused");
      }
      expect(stage.origin.starts()).toBe(0);
    },
  );

  it("is answered by the gateway where it has one reading", async () => {
    const answer = await stage.send({ method: "GET", target: "/_oncegate/health" });
    expect(answer.status).toBe(200);
    const other = await stage.send({ method: "GET", target: "/_oncegate/nothing" });
    expect(other.status).toBe(404);
    expect(stage.origin.starts()).toBe(0);
  });
});

describe("on the wire", () => {
  const OPERATOR = ["Authorization", `Bearer ${OPERATORS.first.token}`] as const;

  it.each(["/health", "/problems/internal", "/ledger/key", "/operator/effects", "/nothing"])(
    "HEAD of %s has the fields of GET, its length too, and no body",
    async (path) => {
      const spec = { target: `/_oncegate${path}`, headers: [OPERATOR] };
      const got = await stage.send({ method: "GET", ...spec });
      const asked = await stage.send({ method: "HEAD", ...spec });
      expect(got.body.length).toBeGreaterThan(0);
      expect(asked.rawHead).toBe(got.rawHead);
      expect(asked.body).toHaveLength(0);
    },
  );

  it.each([
    ["/health", 405],
    ["/ledger/key", 405],
    ["/ledger/entries", 401],
    ["/nothing", 404],
    ["/effects", 401],
    ["/operator/explain", 401],
  ])("a large body that %s does not take leaves the connection usable", async (path, status) => {
    const connection = await Connection.open(stage.gateway.port);
    try {
      const body = "x".repeat(2_000_000);
      const refused = await connection.send({ method: "POST", target: `/_oncegate${path}`, body });
      expect(refused.status).toBe(status);
      const next = await connection.send({ method: "GET", target: "/_oncegate/health" });
      expect(next.status).toBe(200);
    } finally {
      connection.close();
    }
  });
});

describe("letters that need not be encoded", () => {
  it.each([
    "/%70ayments/x",
    "/p%61yments/x",
    "/payment%73/x",
    "/payments%2Fx",
    "/%70ayments%2Fx",
    "/%70ayments%5cx",
    "/a%2Eb/x",
    "/a%2eb/x",
  ])("don't lead past a route: %s", async (target) => {
    expectProblem(await stage.post({ target, key: makeKey() }), "target-refused");
    expectProblem(await stage.post({ target, key: null }), "target-refused");
    expect(stage.origin.starts()).toBe(0);
  });

  it.each(["/payments/%78", "/payments/100%25%32%35", "/other/%70ayments", "/%70lain"])(
    "reach the origin as they came where every reading is the same route's: %s",
    async (target) => {
      const answer = await stage.post({ target, key: makeKey() });
      if (target.startsWith("/payments")) expectExecuted(answer);
      expect(answer.status).toBe(201);
      expect(stage.origin.arrivals.map((arrival) => arrival.line)).toEqual([`POST ${target} HTTP/1.1`]);
    },
  );
});
