// Aim: a JSON text that two readers may understand differently has no value, and a member that is there twice is found wherever it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readStrictJson } from "../../src/core/fingerprint/json.ts";

describe("a text with a member that is there twice", () => {
  it.each<[string, readonly (string | number)[]]>([
    ['{"a":1,"a":1}', ["a"]],
    ['{"b":0,"a":1,"a":2}', ["a"]],
    ['{"a":1,"\\u0061":2}', ["a"]],
    ['{"":1,"":2}', [""]],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    [' {"a":{"b":1,"b":2}} ', ["a", "b"]],
    ['[{"a":1},{"b":[0,{"c":1,"c":2}]}]', [1, "b", 1, "c"]],
    ['{"a":{"b":1,"b":2},"a":3}', ["a", "b"]],
  ])("%s says where", (text, path) => {
    expect(readStrictJson(text)).toEqual({ kind: "twice", path });
  });

  it.each(['{"a":1,"a":2', '{"a":1,"a":2}]', '{"a":1,"a":2,}', "", '{"a":"\\ud800"}', "[1,]", "01"])(
    "%j is no text at all",
    (text) => {
      expect(readStrictJson(text).kind).not.toBe("json");
    },
  );
});

describe("any other text", () => {
  it.each([
    ['{"a":1,"A":2}', { a: 1, A: 2 }],
    ['[{"a":1},{"a":1}]', [{ a: 1 }, { a: 1 }]],
    ['{"a":{"a":{"a":1}}}', { a: { a: { a: 1 } } }],
    [" null\n", null],
    ['"a\\u20ac"', "a€"],
  ])("%s has its value", (text, value) => {
    expect(readStrictJson(text)).toEqual({ kind: "json", value });
  });

  it("has the value that JSON has, if it has one", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc.json().map((text) => text.slice(0, -1)),
        ),
        (text) => {
          const reading = readStrictJson(text);
          if (reading.kind === "json") expect(reading.value).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it("that JSON itself has written is read", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        if (text.isWellFormed() && !/\\ud[89a-f]/i.test(text)) {
          expect(readStrictJson(text)).toEqual({ kind: "json", value: JSON.parse(text) });
        }
      }),
    );
  });
});
