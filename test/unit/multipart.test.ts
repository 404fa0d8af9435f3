import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJson, readBoundary, readMediaType } from "../../src/core/fingerprint/media-type.ts";
import {
  MULTIPART_HEADERS_MAX,
  MULTIPART_PARTS_MAX,
  readMultipart,
} from "../../src/core/fingerprint/multipart.ts";

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

/** What was read, bytes as one character each. */
function read(text: string, boundary = "B") {
  const multipart = readMultipart(Buffer.from(text, "latin1"), boundary);
  if (multipart === null) return null;
  return {
    before: latin1(multipart.before),
    parts: multipart.parts.map((part) => ({
      headers: part.headers.map(([name, value]) => [name, latin1(value)]),
      content: latin1(part.content),
    })),
    after: latin1(multipart.after),
  };
}

type Sample = { headers: [string, string][]; content: string };

function write(parts: Sample[], boundary: string): string {
  const written = parts.map(({ headers, content }) => {
    const lines = headers.map(([name, value]) => `${name}:${value}\r\n`).join("");
    return `--${boundary}\r\n${lines}\r\n${content}\r\n`;
  });
  return `${written.join("")}--${boundary}--\r\n`;
}

describe("readMultipart", () => {
  it("reads a form as a browser writes it", () => {
    const boundary = "----WebKitFormBoundaryAbC";
    const body = [
      `--${boundary}`,
      'Content-Disposition: form-data; name="a"',
      "",
      "1\r\n2",
      `--${boundary}`,
      'content-disposition: form-data; name="f"; filename="\u00e4"',
      "Content-Type: image/png",
      "",
      "\u0000\u00ff\r\n",
      `--${boundary}--`,
      "",
    ].join("\r\n");
    expect(read(body, boundary)).toEqual({
      before: "",
      parts: [
        { headers: [["content-disposition", ' form-data; name="a"']], content: "1\r\n2" },
        {
          headers: [
            ["content-disposition", ' form-data; name="f"; filename="\u00e4"'],
            ["content-type", " image/png"],
          ],
          content: "\u0000\u00ff\r\n",
        },
      ],
      after: "\r\n",
    });
  });

  it.each([
    ["a part without headers", "--B\r\n\r\nx\r\n--B--", [{ headers: [], content: "x" }]],
    ["a part without content", "--B\r\na:\r\n\r\n\r\n--B--", [{ headers: [["a", ""]], content: "" }]],
    ["no part at all", "--B--\r\n", []],
    [
      "content that looks like headers",
      "--B\r\n\r\na:b\r\n\r\nc\r\n--B--",
      [{ headers: [], content: "a:b\r\n\r\nc" }],
    ],
    ["content of dashes", "--B\r\n\r\n----\r\n--\r\n--B--", [{ headers: [], content: "----\r\n--" }]],
    ["content with bare line ends", "--B\r\n\r\n\r\n\n\r\r\n--B--", [{ headers: [], content: "\r\n\n\r" }]],
  ])("reads %s", (_, body, parts) => {
    expect(read(body)?.parts).toEqual(parts);
  });

  it("gives what stands before and after the delimiters", () => {
    expect(read("hello\r\n\r\n--B\r\n\r\nx\r\n--B--\r\nbye")).toMatchObject({
      before: "hello\r\n\r\n",
      after: "\r\nbye",
    });
  });

  it.each([
    ["an empty body", ""],
    ["another boundary", "--C\r\n\r\nx\r\n--C--"],
    ["no end", "--B\r\n\r\nx\r\n--B\r\n"],
    ["an end that is cut", "--B\r\n\r\nx\r\n--B-"],
    ["a delimiter at the very end", "--B\r\n\r\nx\r\n--B"],
    ["bare line feeds", "--B\n\nx\n--B--\n"],
    ["a line feed before a delimiter", "--B\r\n\r\nx\n--B--"],
    ["a boundary inside a line", "--B\r\n\r\nx--B\r\n--B--"],
    ["a longer word after the boundary", "--B\r\n\r\nx\r\n--Bx\r\n\r\ny\r\n--B--"],
    ["white space after the boundary", "--B \r\n\r\nx\r\n--B--"],
    ["text after the end", "--B\r\n\r\nx\r\n--B--x"],
    ["a delimiter after the end", "--B\r\n\r\nx\r\n--B--\r\n--B\r\n\r\ny\r\n--B--"],
    ["a second end", "--B\r\n\r\nx\r\n--B--\r\n\r\ny\r\n--B--"],
    ["the boundary before the first delimiter", "x--B\r\n--B\r\n\r\nx\r\n--B--"],
    ["headers without an empty line", "--B\r\na: b\r\n--B--"],
    ["neither headers nor content", "--B\r\n--B--"],
    ["an empty line that is also the delimiter's", "--B\r\n\r\n--B--"],
    ["a header without colon", "--B\r\na\r\n\r\nx\r\n--B--"],
    ["a header without name", "--B\r\n: a\r\n\r\nx\r\n--B--"],
    ["a space before the colon", "--B\r\na : b\r\n\r\nx\r\n--B--"],
    ["a folded header", "--B\r\na: b\r\n c\r\n\r\nx\r\n--B--"],
    ["a bare line feed in a header", "--B\r\na: b\nc: d\r\n\r\nx\r\n--B--"],
    ["a bare carriage return in a header", "--B\r\na: b\rc\r\n\r\nx\r\n--B--"],
    ["a NUL in a header", "--B\r\na: \u0000\r\n\r\nx\r\n--B--"],
  ])("does not read %s", (_, body) => {
    expect(read(body)).toBeNull();
  });

  it("reads as many parts and headers as the bounds say and no more", () => {
    const parts = (count: number) => Array.from({ length: count }, () => ({ headers: [], content: "" }));
    const headers = (count: number) => Array.from({ length: count }, (): [string, string] => ["a", "b"]);
    expect(read(write(parts(MULTIPART_PARTS_MAX), "B"))?.parts.length).toBe(MULTIPART_PARTS_MAX);
    expect(read(write(parts(MULTIPART_PARTS_MAX + 1), "B"))).toBeNull();
    const most = [{ headers: headers(MULTIPART_HEADERS_MAX), content: "" }];
    expect(read(write(most, "B"))?.parts.length).toBe(1);
    expect(read(write([{ headers: headers(MULTIPART_HEADERS_MAX + 1), content: "" }], "B"))).toBeNull();
  });

  it("reads back what was written, under any boundary", () => {
    const content = fc.array(fc.constantFrom("\r\n", "-", "--", "a", "\u0000", ":", "\n"), { maxLength: 8 });
    const sample = fc.record({
      headers: fc.array(fc.tuple(fc.constantFrom("a", "content-type"), fc.constantFrom("", " b", "\t;c="))),
      content: content.map((pieces) => pieces.join("")),
    });
    const boundary = fc.stringMatching(/^[-x]{0,4}y[-y]{0,3}z$/);
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 4 }), boundary, (parts, text) => {
        expect(read(write(parts, text), text)).toEqual({ before: "", parts, after: "\r\n" });
      }),
    );
  });

  it("finds every place of a boundary that repeats itself", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[-x]{0,30}$/),
        fc.stringMatching(/^[-x]{1,5}$/),
        (content, boundary) => {
          const body = `--${boundary}\r\n\r\n${content}\r\n--${boundary}--`;
          const clash = content.includes(`--${boundary}`);
          expect(read(body, boundary) === null).toBe(clash);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("readMediaType", () => {
  it.each([
    ["Application/JSON", "application/json", []],
    ["text/html;charset=UTF-8", "text/html", [["charset", "utf-8"]]],
    ['Text/HTML ; Charset="utf-8"', "text/html", [["charset", "utf-8"]]],
    [
      "a/b; Z=1;; b=Two ;",
      "a/b",
      [
        ["b", "Two"],
        ["z", "1"],
      ],
    ],
    ['a/b; x="q\\"; y\\\\"', "a/b", [["x", 'q"; y\\']]],
    ['a/b; x=""', "a/b", [["x", ""]]],
    ["multipart/form-data; boundary===_a=b/c", "multipart/form-data", [["boundary", "==_a=b/c"]]],
  ])("reads %s", (value, type, parameters) => {
    expect(readMediaType(value)).toEqual({ type, parameters });
  });

  it.each([
    "",
    "json",
    "a/",
    "/b",
    "a/b c",
    "a/b, c/d",
    "a/b; x",
    "a/b; x=",
    "a/b; x=1; X=1",
    'a/b; x="',
    "a b/c",
  ])("does not read %j", (value) => {
    expect(readMediaType(value)).toBeNull();
  });

  it.each([
    ["application/json", true],
    ["application/vnd.api+json; v=1", true],
    ["text/json", false],
    ["application/jsonp", false],
    ["application/json-seq", false],
  ])("takes %s for JSON: %s", (value, expected) => {
    const media = readMediaType(value);
    expect(media !== null && isJson(media)).toBe(expected);
  });

  it.each([
    ["multipart/form-data; boundary=x", "x"],
    ['multipart/mixed; boundary="a b"', "a b"],
    ['multipart/mixed; boundary="a "', null],
    [`multipart/mixed; boundary=${"x".repeat(70)}`, "x".repeat(70)],
    [`multipart/mixed; boundary=${"x".repeat(71)}`, null],
    ["multipart/mixed; boundary=a*b", null],
    ["multipart/mixed", null],
    ["text/plain; boundary=x", null],
  ])("finds the boundary of %s", (value, expected) => {
    const media = readMediaType(value);
    expect(media !== null && readBoundary(media)).toBe(expected);
  });
});
