// Aim: a defect is answered like everything else. Method: the isolate's memory of answers throws.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AnswerCache } from "../../../src/gateway/cache.ts";
import { bindWith, expectProblem, makeKey, post } from "../support/gateway.ts";
import { linesOf, readLog } from "../support/log.ts";
import { mockOrigin, type Origin } from "../support/origin.ts";

const SHOP = "https://shop.example";

let origin: Origin;
beforeEach(() => {
  origin = mockOrigin();
  vi.spyOn(AnswerCache.prototype, "find").mockImplementation(() => {
    throw new Error("SECRET of an exception");
  });
});

describe("a defect on the main path", () => {
  it("is a 500 that names an incident of the log, tells nothing else and sends nothing", async () => {
    const told = await expectProblem(await post("/pay", makeKey()), "internal", 500);
    expect(linesOf("defect")).toEqual([{ event: "defect", incident: told.incident, error: "Error" }]);
    expect(JSON.stringify(told) + readLog()).not.toContain("SECRET");
    expect(origin.count).toBe(0);
  });

  it.each([
    ["a listed page", [SHOP], { allowed: SHOP, vary: "Origin" }],
    ["another page", ["https://other.example"], { allowed: null, vary: "Origin" }],
    ["any page where all are allowed", ["*"], { allowed: "*", vary: null }],
    ["any page where CORS is the origin's business", [], { allowed: null, vary: null }],
  ])("is as readable by %s as any other answer", async (_who, origins, { allowed, vary }) => {
    const bindings = bindWith({ CORS_ORIGINS: JSON.stringify(origins) });
    const response = await post("/pay", makeKey(), { headers: { Origin: SHOP } }, bindings);
    expect(response.status).toBe(500);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe(allowed);
    expect(response.headers.get("Vary")).toBe(vary);
  });
});
