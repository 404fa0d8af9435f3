import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeUtf8, encodeUtf8 } from "../../src/core/bytes.ts";
import type { Pairs } from "../../src/core/http/headers.ts";
import { redactAnswer } from "../../src/core/http/redact.ts";

const POINTERS = ["/card/number", "/tokens/0"];
const JSON_TYPE: Pairs = [["Content-Type", "application/json"]];

/** What is stored of a text: itself, another text, or null for nothing. */
function redact(text: string, headers: Pairs = JSON_TYPE, pointers = POINTERS): string | null {
  const redacted = redactAnswer(encodeUtf8(text), headers, pointers);
  switch (redacted.kind) {
    case "same":
      return text;
    case "rewritten":
      return decodeUtf8(redacted.body);
    case "illegible":
      return null;
  }
}

describe("the stored copy of an answer", () => {
  it.each([
    ["a member", '{"card":{"number":"42","brand":"visa"}}', '{"card":{"brand":"visa"}}'],
    ["the whole of a member's value", '{"card":{"number":{"pan":[4,2]}}}', '{"card":{}}'],
    ["an element of a list", '{"tokens":["secret","public"]}', '{"tokens":["public"]}'],
  ])("lacks %s that is pointed at", (_name, text, stored) => {
    expect(JSON.parse(redact(text) ?? "null")).toEqual(JSON.parse(stored));
  });

  it.each([
    ["spacing and member order", ' {"b": 1.0, "a": [1e3]}\n'],
    ["a pointer that leads nowhere", '{"card":"none","number":1}'],
    ["no members", "[]"],
    ["no bytes", ""],
  ])("is the bytes that came where nothing is left out: %s", (_name, text) => {
    expect(redactAnswer(encodeUtf8(text), JSON_TYPE, POINTERS)).toEqual({ kind: "same" });
  });

  it("is the bytes that came where the route leaves nothing out, readable or not", () => {
    expect(redactAnswer(encodeUtf8('{"card":{"number"'), JSON_TYPE, [])).toEqual({ kind: "same" });
  });

  it.each<[string, Pairs]>([
    ["no type", []],
    ["a type cut off", [["content-type", "application/json;charset"]]],
    ["a type that is no type", [["content-type", "json!"]]],
    ["a type of text", [["content-type", "text/plain"]]],
    [
      "two types",
      [
        ["content-type", "text/plain"],
        ["Content-Type", "application/json"],
      ],
    ],
    ["a binary type", [["content-type", "application/octet-stream"]]],
  ])("lacks what is pointed at, whatever its type says: %s", (_name, headers) => {
    expect(redact('{"card":{"number":"42"}}', headers)).toBe('{"card":{}}');
  });

  it.each<[string, Pairs]>([
    ["no type", []],
    ["a type that is no type", [["content-type", "json!"]]],
    ["JSON", JSON_TYPE],
    ["lines of JSON", [["content-type", "application/x-ndjson"]]],
    ["a kind of JSON", [["content-type", "application/problem+json; charset=utf-8"]]],
  ])("is nothing where it may be JSON and can't be read: %s", (_name, headers) => {
    expect(redact('{"card":{"number":"42"}} {}', headers)).toBeNull();
    expect(redact('{"card":{"number":"42"},"card":1}', headers)).toBeNull();
    expect(redact('{"card":{"number":"42', headers)).toBeNull();
  });

  it("is kept where it is text of another kind", () => {
    expect(redact("<p>done</p>", [["content-type", "text/html"]])).toBe("<p>done</p>");
  });

  it("loses every field that was true of the old bytes, and no other", () => {
    const kept: Pairs = [
      ["Content-Type", "application/json"],
      ["X-Note", "1"],
    ];
    const digests: Pairs = ["ETag", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "etag"].map(
      (name) => [name, "x"],
    );
    const redacted = redactAnswer(encodeUtf8('{"card":{"number":1}}'), [...digests, ...kept], POINTERS);
    expect(redacted).toMatchObject({ kind: "rewritten", headers: kept });
  });

  it("never holds a value that is pointed at, and holds all others", () => {
    const others = fc.dictionary(
      fc.string().filter((name) => name !== "card" && name !== "__proto__"),
      fc.jsonValue({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(others, fc.string({ minLength: 1 }), fc.boolean(), (rest, secret, isSpaced) => {
        const value = { ...rest, card: { number: `SECRET${secret}` } };
        const stored = redact(JSON.stringify(value, null, isSpaced ? 2 : 0), []);
        if (stored === null) return;
        expect(JSON.parse(stored)).toEqual(JSON.parse(JSON.stringify({ ...rest, card: {} })));
      }),
    );
  });
});
