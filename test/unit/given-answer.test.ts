import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/core/bytes.ts";
import { readGivenAnswer } from "../../src/core/http/given-answer.ts";

const FIELDS = [
  ["content-type", "application/json"],
  ["X-Empty", ""],
] as const;

describe("a given answer", () => {
  it.each<[string, unknown, unknown]>([
    [
      "has status, fields and a text",
      { status: 201, headers: FIELDS, body: "é" },
      { status: 201, headers: FIELDS, body: encodeUtf8("é") },
    ],
    [
      "may have bytes",
      { status: 200, headers: [], body_base64: "AP8=" },
      { status: 200, headers: [], body: Uint8Array.of(0, 255) },
    ],
    ["may be a status alone", { status: 204 }, { status: 204, headers: [], body: new Uint8Array() }],
    [
      "may have members of other names",
      { status: 599, headers: [], body: "", note: 1 },
      { status: 599, headers: [], body: new Uint8Array() },
    ],
  ])("%s", (_claim, given, answer) => {
    expect(readGivenAnswer(given)).toEqual({ kind: "answer", answer });
  });

  it.each<[member: string, given: unknown]>([
    ["answer", null],
    ["answer", "text"],
    ["answer", []],
    ["status", {}],
    ["status", { status: "201" }],
    ["status", { status: 201.5 }],
    ["status", { status: 100 }],
    ["status", { status: 600 }],
    ["headers", { status: 200, headers: { "content-type": "text/plain" } }],
    ["headers", { status: 200, headers: [["a"]] }],
    ["headers", { status: 200, headers: [["a", "b", "c"]] }],
    ["headers", { status: 200, headers: [["a", 1]] }],
    ["headers", { status: 200, headers: [["a b", "c"]] }],
    ["headers", { status: 200, headers: [["", "c"]] }],
    ["headers", { status: 200, headers: [["a", "b\r\nc: d"]] }],
    ["headers", { status: 200, headers: [["a", "\ufffd"]] }],
    ["headers", { status: 200, headers: [["Content-Encoding", "gzip"]] }],
    ["headers", { status: 200, headers: Array.from({ length: 257 }, () => ["a", "b"]) }],
    ["headers", { status: 200, headers: [["a", "b".repeat(65_536)]] }],
    ["body", { status: 200, body: { id: 1 } }],
    ["body", { status: 204, body: "x" }],
    ["body_base64", { status: 200, body_base64: "A" }],
    ["body_base64", { status: 200, body_base64: 1 }],
    ["body_base64", { status: 200, body: "", body_base64: "AP8=" }],
    ["body_base64", { status: 304, body_base64: "AP8=" }],
  ])("is refused for its %s: %j", (member, given) => {
    expect(readGivenAnswer(given)).toEqual({ kind: "refused", member });
  });
});
