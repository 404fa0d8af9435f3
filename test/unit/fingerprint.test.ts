import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FINGERPRINT_VERSION,
  type FingerprintInput,
  fingerprintMessage,
} from "../../src/core/fingerprint/message.ts";
import { fieldValue, type Pairs } from "../../src/core/http/headers.ts";

const RAW = { body: "raw", ignore: [], headers: [] } as const;
const JSON_RULE = { body: "json", ignore: [], headers: [] } as const;

/** A small request; `body` as text. */
type Sample = Partial<Omit<FingerprintInput, "body" | "field">> & { body?: string; headers?: Pairs };

function message(sample: Sample): string {
  const { body = "", headers = [], ...rest } = sample;
  const input: FingerprintInput = {
    method: "POST",
    path: "/pay",
    search: "",
    contentType: null,
    field: (name) => fieldValue(headers, name),
    rule: RAW,
    ...rest,
    body: Buffer.from(body, "latin1"),
  };
  return Buffer.from(fingerprintMessage(input)).toString("hex");
}

const json = (body: string, more: Sample = {}): Sample => ({
  contentType: "application/json",
  rule: JSON_RULE,
  body,
  ...more,
});
const form = (boundary: string, content = "1", more = ""): Sample => ({
  contentType: `multipart/form-data; boundary=${boundary}${more}`,
  body: `--${boundary}\r\nA: b\r\n\r\n${content}\r\n--${boundary}--\r\n`,
});
const counting = (headers: Pairs, names = ["x-a", "x-b"]): Sample => ({
  headers,
  rule: { body: "raw", ignore: [], headers: names },
});

describe("fingerprintMessage", () => {
  it.each<[string, Sample, string]>([
    [
      "nothing but a method and a path",
      {},
      "49a60968e74e7ad1a04c67788d076c097cddac0052ac51624cdfaab91253b874",
    ],
    [
      "JSON, a query and two headers, one of them absent",
      json('{"b":1,"a":[]}', {
        search: "?x=1",
        headers: [["X-A", "1"]],
        rule: { body: "json", ignore: [], headers: ["x-a", "x-b"] },
      }),
      "842f86200e91b8910ac9c4312ff9ad12691d5f1809e5795fe3f20b676e807e33",
    ],
    ["a form", form("one"), "edc82d13fca3bce9c3fdb0fef571113784001d0e3ffc75d2066abcb8bcd3b43f"],
  ])("gives the message of version 1 for %s", (_, sample, digest) => {
    expect(FINGERPRINT_VERSION).toBe(1);
    expect(createHash("sha256").update(message(sample), "hex").digest("hex")).toBe(digest);
  });

  it.each<[string, Sample, Sample]>([
    [
      "headers that the rule does not name",
      { headers: [["traceparent", "1"]] },
      { headers: [["traceparent", "2"]] },
    ],
    ["the case of header names", counting([["X-A", "1"]]), counting([["x-a", "1"]])],
    [
      "the order of different headers",
      counting([
        ["x-a", "1"],
        ["x-b", "2"],
      ]),
      counting([
        ["x-b", "2"],
        ["x-a", "1"],
      ]),
    ],
    [
      "the order of the rule's headers",
      counting([["x-a", "1"]]),
      counting([["x-a", "1"]], ["X-B", "x-a", "x-b"]),
    ],
    [
      "the spelling of the media type",
      { contentType: "Text/Plain; B=1;a=2" },
      { contentType: 'text/plain;a="2"; b=1' },
    ],
    ["member order and spacing of JSON", json('{"a":1,"b":2}'), json('{ "b":2, "a":1 }')],
    [
      "JSON spelling under a +json type",
      json('{"a":1,"b":2}', { contentType: "a/b+json" }),
      json('{"b":2,"a":1}', { contentType: "a/b+json" }),
    ],
    [
      "an ignored member",
      json('{"id":1,"op":"pay"}', { rule: { body: "json", ignore: ["/id"], headers: [] } }),
      json('{"op":"pay","id":2}', { rule: { body: "json", ignore: ["/id"], headers: [] } }),
    ],
    ["the boundary of a form", form("one"), form("two")],
    [
      "the boundary of a form under a JSON rule",
      { ...form("one"), rule: JSON_RULE },
      { ...form("two"), rule: JSON_RULE },
    ],
    ["whether the rule says JSON, where JSON can't be read", json("nope"), json("nope", { rule: RAW })],
  ])("does not count %s", (_, one, other) => {
    expect(message(one)).toBe(message(other));
  });

  it.each<[string, Sample, Sample]>([
    ["the method", { method: "POST" }, { method: "PATCH" }],
    ["the case of the path", { path: "/a" }, { path: "/A" }],
    ["the query", { search: "?dry=1" }, { search: "" }],
    ["a bare question mark", { search: "?" }, { search: "" }],
    ["where path ends and query starts", { path: "/a", search: "?b" }, { path: "/a?b", search: "" }],
    ["where method ends and path starts", { method: "PUT", path: "/a" }, { method: "PUT/", path: "a" }],
    ["the media type", { contentType: "a/b" }, { contentType: "a/c" }],
    ["an absent media type", { contentType: null }, { contentType: "" }],
    ["a media type named like a marker", { contentType: null }, { contentType: "absent" }],
    ["the case of a parameter's value", { contentType: "a/b; x=A" }, { contentType: "a/b; x=a" }],
    ["where parameters end", { contentType: "a/b; x=1; y=2" }, { contentType: 'a/b; x="1; y=2"' }],
    ["an unreadable media type", { contentType: "a/b; x" }, { contentType: "a/b" }],
    ["the value of a named header", counting([["x-a", "1"]]), counting([["x-a", "2"]])],
    ["an absent header", counting([]), counting([["x-a", ""]])],
    ["an absent header named like a marker", counting([]), counting([["x-a", "absent"]])],
    ["which header has the value", counting([["x-a", "1"]]), counting([["x-b", "1"]])],
    [
      "the order of one header's values",
      counting([
        ["x-a", "1"],
        ["x-a", "2"],
      ]),
      counting([
        ["x-a", "2"],
        ["x-a", "1"],
      ]),
    ],
    ["raw bytes", { body: "a" }, { body: "a\n" }],
    ["JSON spacing under a raw rule", json("[1]", { rule: RAW }), json("[ 1]", { rule: RAW })],
    [
      "JSON spacing under another media type",
      json("[1]", { contentType: "text/plain" }),
      json("[ 1]", { contentType: "text/plain" }),
    ],
    [
      "JSON spacing without media type",
      json("[1]", { contentType: null }),
      json("[ 1]", { contentType: null }),
    ],
    ["how a number is written", json("[1]"), json("[1.0]")],
    ["the type of a value", json('{"amount":100}'), json('{"amount":"100"}')],
    ["repeated members", json('{"amount":1,"amount":500}'), json('{"amount":500}')],
    ["the order of repeated members", json('{"a":1,"a":2}'), json('{"a":2,"a":1}')],
    ["a byte order mark", json("\u00ef\u00bb\u00bf[]"), json("[]")],
    ["the form a body was read in", json("[]"), json("[]", { rule: RAW })],
    ["the content of a part", form("one", "1"), form("one", "2")],
    ["other parameters of a form", form("one", "1", "; x=1"), form("one", "1", "; x=2")],
    [
      "a form's boundary when the form can't be read",
      { ...form("one"), body: "x" },
      { ...form("two"), body: "x" },
    ],
    ["what stands after a form", form("one"), { ...form("one"), body: `${form("one").body}bye` }],
    [
      "where a part's header ends",
      form("x", "1"),
      { ...form("x"), body: "--x\r\nA: b\r\n1: \r\n\r\n\r\n--x--\r\n" },
    ],
    [
      "whether it is one part or two",
      form("x", "1\r\n--y\r\nA: b\r\n\r\n2"),
      form("x", "1\r\n--x\r\nA: b\r\n\r\n2"),
    ],
  ])("counts %s", (_, one, other) => {
    expect(message(one)).not.toBe(message(other));
  });

  it.each([
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    "X-Original-URL",
    "X-Rewrite-URL",
  ])("counts %s, by which servers read another request than the one sent, whatever the rule says", (name) => {
    const one = message({ headers: [[name, "DELETE"]] });
    expect(one).not.toBe(message({ headers: [[name, "PUT"]] }));
    expect(one).not.toBe(message({}));
    expect(one).toBe(message({ headers: [[name.toLowerCase(), "DELETE"]] }));
    expect(one).toBe(message(counting([[name, "DELETE"]], [name])));
  });

  const pieces = fc.constantFrom(
    "",
    "a",
    "A",
    "/",
    "?",
    "\u0000",
    "absent",
    "present",
    "x-a",
    "1",
    "type",
    "POST",
  );
  const joined = fc.array(pieces, { maxLength: 3 }).map((parts) => parts.join(""));
  const sample = fc.record({
    method: joined,
    path: joined,
    search: joined,
    contentType: fc.constantFrom(null, "", "absent", "type", "A", "a/b", "a/c", "a/b;x=1", "a/b;x=2"),
    headers: fc.array(fc.tuple(fc.constantFrom("x-a", "x-b"), joined), { maxLength: 1 }),
    body: joined,
  });

  it("differs whenever method, target, type, a named header or the body differ", () => {
    fc.assert(
      fc.property(sample, sample, fc.nat({ max: 63 }), (one, other, mask) => {
        const fields = ["method", "path", "search", "contentType", "headers", "body"] as const;
        const shared = Object.fromEntries(
          fields.filter((_, at) => mask & (1 << at)).map((key) => [key, one[key]]),
        );
        const second = { ...other, ...shared };
        const same = fields.every((key) => JSON.stringify(one[key]) === JSON.stringify(second[key]));
        const rule = { body: "raw", ignore: [], headers: ["x-a", "x-b"] } as const;
        expect(message({ ...one, rule }) === message({ ...second, rule })).toBe(same);
      }),
      { numRuns: 3000 },
    );
  });

  it("differs whenever the parts of a form differ, whatever the boundaries", () => {
    const text = fc.array(fc.constantFrom("a", "b", ":", "\r\n", "-", "\u0000", " "), { maxLength: 4 });
    const header = fc.tuple(fc.constantFrom("a", "b"), fc.constantFrom("", "a", " a", "a:", "b"));
    const part = fc.tuple(
      fc.array(header, { maxLength: 2 }),
      text.map((all) => all.join("")),
    );
    const parts = fc.array(part, { maxLength: 3 });
    const write = (list: [[string, string][], string][], boundary: string): Sample => ({
      contentType: `multipart/form-data; boundary=${boundary}`,
      body: `${list
        .map(([headers, content]) => {
          const lines = headers.map(([name, value]) => `${name}:${value}\r\n`).join("");
          return `--${boundary}\r\n${lines}\r\n${content}\r\n`;
        })
        .join("")}--${boundary}--\r\n`,
    });
    fc.assert(
      fc.property(parts, fc.oneof(parts, fc.constant(null)), (one, maybe) => {
        const other = maybe ?? one;
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(message(write(one, "xyz")) === message(write(other, "zzzy"))).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });
});
