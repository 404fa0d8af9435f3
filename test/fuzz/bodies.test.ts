// Aim: a body counts in one form exactly where it has one reading. Method: each reader beside a recogniser of its own, whatever comes.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JSON_NESTING_MAX, writeCanonicalJson } from "../../src/core/fingerprint/json.ts";
import { readBoundary, readMediaType } from "../../src/core/fingerprint/media-type.ts";
import { type Multipart, readMultipart } from "../../src/core/fingerprint/multipart.ts";
import { isOneJson } from "./recognise-json.ts";
import { hold, mutated, textOf } from "./runs.ts";

describe("a JSON body", () => {
  const samples = [
    '{"a":1,"b":[true,null,{"c":"d"}]}',
    '{"b":1.50,"a":-0e+7,"\\u0061b":"\\ud83d\\ude00\\/"}',
    `${"[".repeat(JSON_NESTING_MAX)}1${"]".repeat(JSON_NESTING_MAX)}`,
    ' [ 12345678901234567890 , "é\u2028" ]\n',
  ];
  const pieces = [
    '"a"',
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "\\u0061",
    "\\ud800",
    "\\",
    '"',
    "0",
    "-",
    ".",
    "e",
    "\t",
    "\ufeff",
  ];
  const text = fc.oneof(
    mutated(samples, pieces),
    textOf(pieces),
    fc.json({ maxDepth: 4 }),
    fc.string({ unit: "binary" }),
  );

  it("has a canonical text exactly where it is one JSON text that every parser reads alike, of the same meaning", () => {
    hold(
      fc.property(text, (body) => {
        const canonical = writeCanonicalJson(Buffer.from(body), []);
        // What can't be UTF-8 is not what the text says any more.
        const sent = Buffer.from(body).toString();
        expect(canonical !== null).toBe(isOneJson(sent));
        if (canonical !== null)
          expect(JSON.parse(Buffer.from(canonical).toString())).toEqual(JSON.parse(sent));
      }),
    );
  });

  it("has a canonical text that is its own, and no longer than the body", () => {
    hold(
      fc.property(text, (body) => {
        const canonical = writeCanonicalJson(Buffer.from(body), []);
        if (canonical === null) return;
        expect(canonical.length).toBeLessThanOrEqual(Buffer.byteLength(body));
        expect(writeCanonicalJson(canonical, [])).toEqual(canonical);
      }),
    );
  });

  it("of any bytes has none, or one that is its own", () => {
    hold(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.array(textOf(["/", "a", "0", "~1"], 4)),
        (bytes, ignore) => {
          const canonical = writeCanonicalJson(bytes, ignore);
          if (canonical !== null && ignore.length === 0)
            expect(writeCanonicalJson(canonical, [])).toEqual(canonical);
        },
      ),
    );
  });
});

/** The one layout, by regular expressions alone. */
function recogniseMultipart(body: string, boundary: string): string | null {
  const quoted = boundary.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  const [before = "", ...rest] = body.split(new RegExp(`--${quoted}`));
  const last = rest.pop();
  if (last === undefined || !/^--(\r\n|$)/.test(last) || !(before === "" || before.endsWith("\r\n")))
    return null;
  const parts = rest.map((text) =>
    /^\r\n((?:[!#$%&'*+\-.^_`|~\w]+:[^\r\n\0]*\r\n)*)\r\n([\s\S]*)\r\n$/.exec(text),
  );
  if (parts.some((part) => part === null || part[1] === undefined || part[1].split("\r\n").length > 33))
    return null;
  const said = parts.map((part) => [
    (part?.[1] ?? "")
      .split("\r\n")
      .slice(0, -1)
      .map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase())),
    part?.[2],
  ]);
  return JSON.stringify([before, said, last.slice(2)]);
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

function write({ before, parts, after }: Multipart, boundary: string): string {
  const written = parts.map(({ headers, content }) => {
    const lines = headers.map(([name, value]) => `${name}:${latin1(value)}\r\n`).join("");
    return `--${boundary}\r\n${lines}\r\n${latin1(content)}\r\n`;
  });
  return `${latin1(before)}${written.join("")}--${boundary}--${latin1(after)}`;
}

function say({ before, parts, after }: Multipart): string {
  const said = parts.map(({ headers, content }) => [
    headers.map(([name, value]) => `${name}:${latin1(value)}`),
    latin1(content),
  ]);
  return JSON.stringify([latin1(before), said, latin1(after)]);
}

describe("a multipart body", () => {
  const samples = [
    '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\nvalue\r\n--b--\r\n',
    "--b\r\n\r\n\r\n--b\r\nA: x\r\nB: y\r\n\r\nz\r\n--b--",
    "note\r\n--b\r\nX:1\r\n\r\nc\r\n--b--\r\nend",
    "--b--",
  ];
  const pieces = [
    "--b",
    "--b--",
    "--",
    "b",
    "\r\n",
    "\r",
    "\n",
    "\0",
    ":",
    " ",
    "a",
    "A: 1\r\n",
    "\r\n\r\n",
    "é",
  ];
  const text = fc.oneof(mutated(samples, pieces), textOf(pieces, 14));

  it("is read part by part exactly where it has the one layout", () => {
    hold(
      fc.property(text, (body) => {
        const read = readMultipart(Buffer.from(body, "latin1"), "b");
        expect(read === null ? null : say(read)).toBe(recogniseMultipart(body, "b"));
      }),
    );
  });

  it("that is read says no more than it is, and is the same written again, under another boundary too", () => {
    hold(
      fc.property(text, (body) => {
        const read = readMultipart(Buffer.from(body, "latin1"), "b");
        if (read === null) return;
        const again = write(read, "b");
        expect(again.toLowerCase()).toBe(body.toLowerCase());
        const other = readMultipart(Buffer.from(write(read, "other-one"), "latin1"), "other-one");
        expect(other === null ? null : say(other)).toBe(say(read));
      }),
    );
  });

  it("of any bytes is read or not, and nothing more", () => {
    hold(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void readMultipart(bytes, "-")));
  });
});

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Type and parameters of a field's value, a character at a time; null where it is none. */
function recogniseType(value: string): [string, [string, string][]] | null {
  const pieces: string[] = [""];
  let quoted = false;
  for (let at = 0; at < value.length; at += 1) {
    const c = value.charAt(at);
    if (c === '"') quoted = !quoted;
    if (c === ";" && !quoted) pieces.push("");
    else pieces.push((pieces.pop() ?? "") + c);
    if (c === "\\" && quoted) pieces.push((pieces.pop() ?? "") + value.charAt(++at));
  }
  const [first = "", ...rest] = pieces.map((piece) => piece.replace(/^[ \t]+/, "").replace(/[ \t]+$/, ""));
  const [kind = "", sub = "", ...more] = first.split("/");
  if (quoted || more.length > 0 || !TOKEN.test(kind) || !TOKEN.test(sub)) return null;
  const found = new Map<string, string>();
  for (const piece of rest.filter((one) => one !== "")) {
    const at = piece.indexOf("=");
    const [name, text] = [piece.slice(0, at).toLowerCase(), piece.slice(at + 1)];
    const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(text);
    if (at < 0 || !TOKEN.test(name) || found.has(name) || !(isQuoted || /^[^\s;,"\\]+$/.test(text)))
      return null;
    const bare = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, "$1") : text;
    found.set(name, name === "charset" ? bare.toLowerCase() : bare);
  }
  return [first.toLowerCase(), [...found].sort(([one], [other]) => (one < other ? -1 : 1))];
}

describe("a media type", () => {
  const samples = [
    "application/json",
    "Text/Plain; charset=UTF-8",
    'multipart/form-data; boundary="a b"; x=y',
    "multipart/mixed;boundary=a=b;",
  ];
  const pieces = ["/", ";", "=", '"', "\\", " ", "\t", ",", "a", "boundary", "charset", "A", "+", "(", "é"];
  const text = fc.oneof(mutated(samples, pieces), textOf(pieces));

  it("is read exactly where it has its form, each parameter once", () => {
    hold(
      fc.property(text, (value) => {
        const read = readMediaType(value);
        expect(read === null ? null : [read.type, read.parameters]).toEqual(recogniseType(value));
      }),
    );
  });

  it("that is read is the same written again, and no longer", () => {
    hold(
      fc.property(text, (value) => {
        const read = readMediaType(value);
        if (read === null) return;
        const parameters = read.parameters.map(
          ([name, said]) => `;${name}="${said.replace(/["\\]/g, "\\$&")}"`,
        );
        expect(readMediaType(`${read.type}${parameters.join("")}`)).toEqual(read);
        expect([read.type, ...read.parameters.flat()].join("").length).toBeLessThanOrEqual(value.length);
        const boundary = readBoundary(read);
        if (boundary !== null) expect(boundary).toMatch(/^[^"\\<>@;[\]{}\r\n]{1,70}(?<! )$/);
      }),
    );
  });
});
