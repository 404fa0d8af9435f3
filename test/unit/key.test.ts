import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readKey } from "../../src/core/http/key.ts";

const LENGTH = { min: 1, max: 255 };

describe("readKey", () => {
  it("says missing when there is no field", () => {
    expect(readKey(null, LENGTH)).toEqual({ kind: "missing" });
  });

  it.each([
    "order-77/retry_1",
    "01J8ZQ4W5N",
    "__proto__",
    "constructor",
    "../../etc",
    "a:b|c",
    "%2e%2e%2f",
    "null",
    "0",
    "?1",
    ":YWJj:",
    "a;b=1",
    "a\\b",
  ])("reads %s bare and quoted as the same key", (key) => {
    const quoted = `"${key.replaceAll("\\", "\\\\")}"`;
    expect(readKey(key, LENGTH)).toEqual({ kind: "key", key });
    expect(readKey(quoted, LENGTH)).toEqual({ kind: "key", key });
    expect(readKey(` \t${key} `, LENGTH)).toEqual({ kind: "key", key });
    expect(readKey(`\t${quoted}\t`, LENGTH)).toEqual({ kind: "key", key });
  });

  it("reads an escaped quote as part of the key", () => {
    expect(readKey('"a\\"b"', LENGTH)).toEqual({ kind: "key", key: 'a"b' });
  });

  it.each([
    ["", "empty"],
    ["   ", "empty"],
    ['""', "empty"],
    ["k1, k2", "comma"],
    ["k1, k1", "comma"],
    ['"k1", "k2"', "comma"],
    ['"a, b"', "comma"],
    [",", "comma"],
    ["a b", "character"],
    ['"a b"', "character"],
    ["a\u0001", "character"],
    ['"a\u0001"', "character"],
    ["\u007f", "character"],
    ["schl\u00fcssel", "character"],
    ['"\u20ac"', "character"],
    ["a\u00a0", "character"],
    ["\ufeffa", "character"],
    ["a\n", "character"],
    ['"abc', "quoting"],
    ['abc"', "quoting"],
    ['a"b', "quoting"],
    ['"', "quoting"],
    ['"a"b', "quoting"],
    ['"a" "b"', "quoting"],
    ['"a\\b"', "quoting"],
    ['"a\\', "quoting"],
    ['"a";', "quoting"],
    ['"a";x', "parameters"],
    ['"a";x=1', "parameters"],
    ['"a"; x="b"', "parameters"],
  ])("refuses %j as %s", (value, reason) => {
    expect(readKey(value, LENGTH)).toEqual({ kind: "invalid", reason });
  });

  it.each([
    ["ab", "too-short"],
    ['"ab"', "too-short"],
    ["abcdef", "too-long"],
    ['"abcdef"', "too-long"],
  ])("counts the characters of the key alone: %s is %s", (value, reason) => {
    expect(readKey(value, { min: 3, max: 5 })).toEqual({ kind: "invalid", reason });
  });

  it.each(["abc", '"abc"', "abcde", '"abcde"', '"\\"\\"\\"\\"\\""'])(
    "allows %s at a limit of 3 to 5",
    (value) => {
      expect(readKey(value, { min: 3, max: 5 }).kind).toBe("key");
    },
  );

  it("accepts what one regular expression accepts", () => {
    const accepted = /^[ \t]*(?:[!#-+\--~]+|"(?:[!#-+\--[\]-~]|\\["\\])+")[ \t]*$/;
    const unit = fc.constantFrom(...'ab"\\;=,:?@%*( \t\u0000\u00e9~!'.split(""));
    const value = fc.oneof(
      fc.string({ unit, maxLength: 8 }),
      fc.string({ unit, maxLength: 6 }).map((text) => `"${text}"`),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(value, (text) => {
        expect(readKey(text, LENGTH).kind === "key").toBe(accepted.test(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("reads every key back from its quoted form", () => {
    const unit = fc.integer({ min: 0x21, max: 0x7e }).filter((code) => code !== 0x2c);
    const key = fc.array(unit, { minLength: 1, maxLength: 40 }).map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(key, (text) => {
        const quoted = `"${text.replace(/["\\]/g, "\\$&")}"`;
        expect(readKey(quoted, LENGTH)).toEqual({ kind: "key", key: text });
      }),
    );
  });
});
