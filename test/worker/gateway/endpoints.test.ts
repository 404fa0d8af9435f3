import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { explainProblem, SLUGS } from "../../../src/core/problem.ts";
import { bindWith, expectProblem, get, makeRequest, send } from "../support/gateway.ts";
import { linesOf } from "../support/log.ts";
import { mockOrigin } from "../support/origin.ts";

describe("health", () => {
  it("is sound when a key object and the database answer", async () => {
    const origin = mockOrigin();
    const response = await get("/_oncegate/health");
    expect(response.status).toBe(200);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.json()).toEqual({ status: "sound", key_objects: "up", database: "up" });
    expect(origin.arrivals).toEqual([]);
  });

  it.each<[string, unknown]>([
    [
      "throws",
      {
        prepare() {
          throw new Error("no such binding");
        },
      },
    ],
    ["rejects", { prepare: () => ({ first: () => Promise.reject(new Error("D1_ERROR: CANARY")) }) }],
    ["has no schema", { prepare: () => env.DB.prepare("SELECT version FROM nowhere") }],
  ])("is unsound when the database %s, and says no more than that", async (_case, DB) => {
    const response = await get("/_oncegate/health", {}, bindWith({ DB }));
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: "unsound", key_objects: "up", database: "down" });
    expect(linesOf("health")).toEqual([{ event: "health", key_objects: "up", database: "down" }]);
  });
});

describe("the page of a problem", () => {
  it.each(SLUGS)("%s is there for people and for programs", async (slug) => {
    const { title, status, detail, retry } = explainProblem(slug);
    const json = await get(`/_oncegate/problems/${slug}`);
    expect(json.status).toBe(200);
    expect(await json.json()).toEqual({ type: `/_oncegate/problems/${slug}`, title, status, detail, retry });
    const page = await get(`/_oncegate/problems/${slug}`, { Accept: "text/html,*/*" });
    expect(page.status).toBe(200);
    expect([json, page].map(({ headers }) => headers.get("Vary"))).toEqual(["Accept", "Accept"]);
    expect(page.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).toContain(`<title>${title}</title>`);
    expect(html).toContain(detail);
    expect(html).toContain(retry);
  });

  it.each(["nothing-of-the-kind", "constructor", "__proto__", "%3Cscript%3E"])(
    "%s is not found, and not repeated",
    async (slug) => {
      const response = await get(`/_oncegate/problems/${slug}`);
      const body = await expectProblem(response, "not-found", 404);
      expect(JSON.stringify(body)).not.toContain(slug);
    },
  );
});

describe("a path below the prefix", () => {
  it.each(["/_oncegate", "/_oncegate/", "/_oncegate/nothing", "/_oncegate?x=1"])(
    "%s that is no endpoint is not the origin's",
    async (path) => {
      const origin = mockOrigin();
      await expectProblem(await get(path), "not-found", 404);
      expect(origin.arrivals).toEqual([]);
    },
  );

  it("that only begins with the prefix's letters is the origin's", async () => {
    const origin = mockOrigin();
    await get("/_oncegatex/health");
    expect(origin.arrivals.map(({ url }) => url)).toEqual(["https://origin.example/_oncegatex/health"]);
  });

  it("can be moved, and then leaves the old one to the origin", async () => {
    const origin = mockOrigin();
    const bindings = bindWith({ PREFIX: "/gate" });
    expect((await get("/gate/health", {}, bindings)).status).toBe(200);
    await get("/_oncegate/health", {}, bindings);
    expect(origin.count).toBe(1);
  });

  it.each(["POST", "DELETE", "PUT"])("is not forwarded with %s either", async (method) => {
    const origin = mockOrigin();
    const response = await send(makeRequest("/_oncegate/health", { method }));
    expect([404, 405]).toContain(response.status);
    expect(origin.arrivals).toEqual([]);
  });
});
