import { describe, expect, it } from "vitest";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";

const SECRET = "4242424242424242";
const CARD = JSON.stringify({ card: { number: SECRET, brand: "visa" }, amount: 1 });

/** An origin whose answer has exactly this type; null: none. */
function mockTyped(body: string, type: string | null, more: Record<string, string> = {}) {
  const headers = type === null ? more : { "Content-Type": type, ...more };
  return mockOrigin(() => new Response(new TextEncoder().encode(body), { status: 201, headers }));
}

const TYPES = [
  "application/json",
  "application/json;charset",
  "application/json; charset=",
  "application/json, application/json",
  "APPLICATION/JSON",
  "application/vnd.api+json",
  "text/json",
  "text/plain",
  "text/plain; charset=utf-8",
  "application/octet-stream",
  "application/x-ndjson",
  "not a type",
  "",
  null,
];

describe.each(TYPES)("a redacted answer of type %j", (type) => {
  it("is given whole once, and replayed without the value", async () => {
    const origin = mockTyped(CARD, type);
    const key = makeKey();
    expect(await expectAnswer(await post("/redact", key), "executed")).toBe(CARD);
    const replay = await expectAnswer(await post("/redact", key), "replayed");
    expect(JSON.parse(replay)).toEqual({ card: { brand: "visa" }, amount: 1 });
    expect(replay).not.toContain(SECRET);
    expect(origin.count).toBe(1);
  });
});

const UNREADABLE: [string, string][] = [
  ["that is cut off", CARD.slice(0, -5)],
  ["of several lines", `${CARD}\n${CARD}\n`],
  ["with a member given twice", `{"card":{"number":"${SECRET}"},"card":{}}`],
  ["behind a byte order mark", `\ufeff${CARD}`],
];

describe.each(["application/json", "application/x-ndjson", "text/plain", null])("JSON of type %j", (type) => {
  it.each(UNREADABLE)("%s is never replayed with the value", async (_case, body) => {
    const origin = mockTyped(body, type);
    const key = makeKey();
    expect(await expectAnswer(await post("/redact", key), "executed")).toBe(body.replace("\ufeff", ""));
    const again = await post("/redact", key);
    expect(await again.clone().text()).not.toContain(SECRET);
    if (again.status === 409) await expectProblem(again, "answer-not-kept", 409);
    else await expectAnswer(again, "replayed");
    expect(origin.count).toBe(1);
  });
});

describe("an answer with nothing to leave out", () => {
  it.each([
    [
      "JSON with spacing and its own member order",
      ' { "z" : 1.0,\n "card": {"brand":"visa"} } ',
      "application/json",
    ],
    ["text", "card number: none", "text/plain"],
    ["a list", '[{"number":"1"}, 2 ]', "application/json"],
  ])("is replayed as the bytes that came: %s", async (_case, body, type) => {
    mockTyped(body, type, { ETag: '"v1"', "Content-Digest": "sha-256=:AAAA:" });
    const key = makeKey();
    await expectAnswer(await post("/redact", key), "executed");
    const replay = await post("/redact", key);
    expect(replay.headers.get("ETag")).toBe('"v1"');
    expect(replay.headers.get("Content-Digest")).toBe("sha-256=:AAAA:");
    expect(await expectAnswer(replay, "replayed")).toBe(body);
  });
});

describe("a rewritten copy", () => {
  it("has no field that was true of the old bytes, and the first caller has them all", async () => {
    const digests = {
      ETag: '"v1"',
      "Content-Digest": "sha-256=:AAAA:",
      "Repr-Digest": "sha-256=:AAAA:",
      Digest: "sha-256=AAAA",
      "Content-MD5": "AAAA",
    };
    mockTyped(CARD, "application/json", { ...digests, "X-Note": "kept" });
    const key = makeKey();
    const first = await post("/redact", key);
    for (const [name, value] of Object.entries(digests)) expect(first.headers.get(name), name).toBe(value);
    await expectAnswer(first, "executed");
    const replay = await post("/redact", key);
    for (const name of Object.keys(digests)) expect(replay.headers.get(name), name).toBeNull();
    expect(replay.headers.get("X-Note")).toBe("kept");
    expect(JSON.parse(await expectAnswer(replay, "replayed"))).toEqual({
      amount: 1,
      card: { brand: "visa" },
    });
  });
});
