import { describe, expect, it } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { bindWith, expectProblem, get, makeKey, makeRequest, post, send } from "../support/gateway.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

type Fields = Record<string, string | null>;

const READER = tokenOf("reader");

const metrics = (headers: Fields, bindings = bindWith({})): Promise<Response> =>
  get("/_oncegate/metrics", headers, bindings);

type Sample = { name: string; labels: Record<string, string>; value: number };

/** Reads OpenMetrics text as strictly as it is defined: each line is known, and the last one ends it. */
function readMetrics(text: string): { types: Map<string, string>; samples: Sample[] } {
  const lines = text.split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.pop()).toBe("# EOF");
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of lines) {
    const [, name = "", type = ""] = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (name !== "") types.set(name, type);
    if (name !== "" || /^# (HELP|UNIT) \w+ \S/.test(line)) continue;
    const sample = /^(\w+)\{((?:\w+="[^"\\\n]*",?)*)\} (\d+(?:\.\d+)?)$/.exec(line);
    expect(sample, line).not.toBeNull();
    const pairs = [...(sample?.[2] ?? "").matchAll(/(\w+)="([^"]*)"/g)];
    samples.push({
      name: sample?.[1] ?? "",
      labels: Object.fromEntries(pairs.map(([, label = "", value = ""]) => [label, value])),
      value: Number(sample?.[3]),
    });
  }
  return { types, samples };
}

describe("metrics", () => {
  it.each<[string, Fields]>([
    ["no token", { Authorization: null }],
    ["a caller's token", { Authorization: "Bearer alice" }],
    ["an unknown operator", { Authorization: "Bearer nobody.secret-of-op1" }],
    ["another operator's secret", { Authorization: "Bearer reader.secret-of-op1" }],
    ["no secret", { Authorization: "Bearer reader." }],
    ["part of the secret", { Authorization: "Bearer reader.secret-of-reade" }],
    ["another scheme", { Authorization: "Basic reader.secret-of-reader" }],
  ])("are refused to %s", async (_case, headers) => {
    const refused = await metrics(headers);
    expect(refused.headers.get("WWW-Authenticate")).toBe("Bearer");
    await expectProblem(refused, "operator-unauthorized", 401);
  });

  it("are refused to an operator without the role", async () => {
    const operators = [{ id: "op9", sha256: await sha256Hex(encodeUtf8("pass")), roles: ["resolve"] }];
    const bindings = bindWith({ OPERATOR_TOKENS: JSON.stringify(operators) });
    await expectProblem(
      await metrics({ Authorization: "Bearer op9.pass" }, bindings),
      "operator-forbidden",
      403,
    );
  });

  it("are not there without operators", async () => {
    const bindings = bindWith({ OPERATOR_TOKENS: undefined });
    await expectProblem(await metrics(READER, bindings), "not-found", 404);
  });

  it("are only to be read", async () => {
    const post = makeRequest("/_oncegate/metrics", { method: "POST", headers: READER });
    await expectProblem(await send(post), "method-not-allowed", 405);
  });

  it("count answers by route and mark, in text that can be parsed", async () => {
    mockOrigin();
    const bindings = bindWith({});
    const key = makeKey();
    for (let tries = 0; tries < 4; tries++) await post("/pay", key, {}, bindings);
    await post("/pay", key, { body: "another" }, bindings);
    await post("/optional", key, { headers: { "Idempotency-Key": null } }, bindings);
    const response = await metrics(READER, bindings);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    const { types, samples } = readMetrics(await response.text());
    const count = (route: string, status: string): number | undefined =>
      samples.find(
        ({ name, labels }) =>
          name === "oncegate_answers_total" && labels.route === route && labels.status === status,
      )?.value;
    expect(types.get("oncegate_answers")).toBe("counter");
    expect([count("pay", "executed"), count("pay", "replayed"), count("pay", "mismatch")]).toEqual([1, 3, 1]);
    expect(count("optional", "unprotected")).toBe(1);
    expect(types.get("oncegate_cache_bytes")).toBe("gauge");
    expect(samples.find(({ name }) => name === "oncegate_cache_bytes")?.value).toBeGreaterThan(0);
    expect(new Set(samples.map(({ labels }) => labels.isolate)).size).toBe(1);
  });
});
