import { describe, expect, it } from "vitest";
import { bindWith, expectProblem, get, makeKey, makeRequest, post, send } from "../support/gateway.ts";
import { linesOf, readLog } from "../support/log.ts";
import { mockOrigin } from "../support/origin.ts";
import { describeRoute } from "../support/routes.ts";

const CANARY = "CANARY-SECRET-that-is-no-key-8d41c7";

describe("a deployment with mistakes", () => {
  it("answers every request 500 and forwards nothing", async () => {
    const origin = mockOrigin();
    const bindings = bindWith({ ROUTES: [describeRoute("pay", { window: "soon" })] });
    const requests = [
      post("/pay", makeKey(), {}, bindings),
      get("/anything", {}, bindings),
      get("/_oncegate/health", {}, bindings),
      get("/_oncegate/metrics", { Authorization: "Bearer op1.secret-of-op1" }, bindings),
      get("/_oncegate/problems/misconfigured", {}, bindings),
      send(makeRequest("/pay", { method: "OPTIONS", headers: { Origin: "https://shop.example" } }), bindings),
    ];
    for (const response of await Promise.all(requests)) await expectProblem(response, "misconfigured", 500);
    expect(origin.arrivals).toEqual([]);
  });

  it("logs each mistake once, naming the field", async () => {
    mockOrigin();
    const bindings = bindWith({
      ROUTES: [describeRoute("pay", { window: "soon", executor: "moon" })],
      LEDGER_SHARDS: 3,
      PREFIX: "gate",
    });
    for (let tries = 0; tries < 3; tries++) await post("/pay", makeKey(), {}, bindings);
    const mistakes = linesOf("misconfigured").map(({ mistake }) => String(mistake));
    expect(mistakes).toHaveLength(4);
    for (const [field, value] of [
      ["ROUTES[0].window", "soon"],
      ["ROUTES[0].executor", "moon"],
      ["LEDGER_SHARDS", "3"],
      ["PREFIX", "gate"],
    ] as const) {
      const lines = mistakes.filter((mistake) => mistake.startsWith(`${field} `));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(value);
      expect(lines[0]).toContain("allowed: ");
      expect(lines[0]).not.toContain("\n");
    }
  });

  it.each<[string, unknown]>([
    ["NAMING_KEY", undefined],
    ["NAMING_KEY", CANARY],
    ["SEALING_KEY", undefined],
    ["SEALING_KEY", CANARY],
    ["SEALING_KEYS", CANARY],
    ["OPERATOR_TOKENS", JSON.stringify([{ id: "op1", sha256: CANARY, roles: ["read"] }])],
    ["LEDGER_SIGNING_KEY", CANARY],
    ["ORIGIN_EVIDENCE_KEY", CANARY],
    ["ORIGIN_URL", undefined],
  ])("names %s, and never what a secret holds", async (name, value) => {
    const origin = mockOrigin();
    const response = await post("/pay", makeKey(), {}, bindWith({ [name]: value }));
    const body = await expectProblem(response, "misconfigured", 500);
    const [line, ...more] = linesOf("misconfigured");
    expect(more).toEqual([]);
    expect(line?.mistake).toMatch(new RegExp(`^${name}\\b`));
    expect(readLog()).not.toContain(CANARY);
    expect(JSON.stringify(body)).not.toContain(name);
    expect(origin.arrivals).toEqual([]);
  });

  it("hides the secret of a caller's tokens when it stands where its name belongs", async () => {
    const principal = { from: "jwt", secret: CANARY, issuer: "https://id.example", audience: "a" };
    const bindings = bindWith({ ROUTES: [describeRoute("pay", { principal })] });
    await expectProblem(await post("/pay", makeKey(), {}, bindings), "misconfigured", 500);
    expect(linesOf("misconfigured").map(({ mistake }) => mistake)).toEqual([
      expect.stringContaining("ROUTES[0].principal.secret"),
    ]);
    expect(readLog()).not.toContain(CANARY);
  });
});
