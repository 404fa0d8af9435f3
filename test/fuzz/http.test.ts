// Aim: what is read of a request is what the contract says, whatever comes. Method: each reader beside a recogniser written from the text.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Pairs, pairsForClient, pairsForOrigin, pairsToKeep } from "../../src/core/http/headers.ts";
import { readKey } from "../../src/core/http/key.ts";
import { readTarget } from "../../src/core/http/target.ts";
import { hold, mutated, textOf } from "./runs.ts";

/** A bare text or an RFC 9651 string, visible ASCII without comma; white space around it does not count. */
function recogniseKey(value: string): string | null {
  const text = value.replace(/^[ \t]*/, "").replace(/[ \t]*$/, "");
  const isVisible = (key: string) => key !== "" && [...key].every((c) => c >= "!" && c <= "~" && c !== ",");
  if (!text.startsWith('"')) return isVisible(text) && !text.includes('"') ? text : null;
  let key = "";
  for (let at = 1; at < text.length; at += 1) {
    if (text[at] === '"') return at === text.length - 1 && isVisible(key) ? key : null;
    if (text[at] === "\\") {
      at += 1;
      if (text[at] !== '"' && text[at] !== "\\") return null;
    }
    key += text[at] ?? "";
  }
  return null;
}

describe("a key", () => {
  const value = fc.oneof(
    textOf(["a", "Z", "9", '"', "\\", ",", ";", "=", " ", "\t", "\u007f", "é", "\0", "~", "!"]),
    mutated(['"order-1"', "order-1", '"a\\"b\\\\"', '"k";p=1'], ['"', "\\", ",", " ", ";", "\t", "x"]),
    fc.string({ unit: "binary", maxLength: 300 }),
  );
  const length = { min: 1, max: 255 };

  it("is read exactly where the form is kept", () => {
    hold(
      fc.property(value, (text) => {
        const key = recogniseKey(text);
        const isFit = key !== null && key.length <= 255;
        const read = readKey(text, length);
        expect(read.kind === "key" ? read.key : null).toBe(isFit ? key : null);
      }),
    );
  });

  it("is the same key bare and as a string, and read again it stays the same", () => {
    hold(
      fc.property(value, (text) => {
        const read = readKey(text, length);
        if (read.kind !== "key") return;
        const quoted = `"${read.key.replace(/["\\]/g, "\\$&")}"`;
        expect(readKey(quoted, length)).toEqual(read);
        if (!read.key.includes('"')) expect(readKey(` ${read.key}\t`, length)).toEqual(read);
      }),
    );
  });
});

/** No second reading: no dot segment under any decoding of dots and separators, no other host, nothing that is cut off. */
function isTarget(rest: string): boolean {
  if ([...rest].some((c) => c <= " " || c === "\u007f" || c === "#")) return false;
  const path = rest.split("?", 1)[0] ?? "";
  if (path.includes("\\") || path.startsWith("//")) return false;
  const segments = path.split(/\/|%2f|%5c/i).map((segment) => segment.split(/;|%3b/i, 1)[0] ?? "");
  return !segments.some((segment) => [".", ".."].includes(segment.replace(/%2e/gi, ".")));
}

describe("a target", () => {
  const pieces = [
    "/",
    "//",
    ".",
    "..",
    "%2e",
    "%2F",
    "%5c",
    "\\",
    ";",
    "%3B",
    "?",
    "#",
    "@",
    "a",
    "%",
    " ",
    "é",
    "\u007f",
    ":",
    "%00",
  ];
  const rest = fc.oneof(
    textOf(pieces).map((text) => `/${text}`),
    mutated(["/pay/charges?x=1&y=../..", "/a/%2e%2e/b"], pieces).filter((text) => /^[/?]/.test(text)),
  );

  it("is read exactly where there is one reading of it", () => {
    hold(
      fc.property(rest, (text) => {
        expect(readTarget(`http://gateway.test${text}`).kind).toBe(isTarget(text) ? "target" : "refused");
      }),
    );
  });

  it("is the same read again, and behind the origin's address", () => {
    hold(
      fc.property(rest, (text) => {
        const read = readTarget(`http://gateway.test${text}`);
        if (read.kind !== "target") return;
        const { path, search } = read;
        expect(readTarget(`https://other.test:8443${path}${search}`)).toEqual(read);
        const sent = new URL(`http://origin.test/prefix${path}${search}`);
        expect([sent.host, sent.pathname]).toEqual(["origin.test", `/prefix${path}`]);
        expect(sent.search).toBe(search === "?" ? "" : search);
      }),
    );
  });

  it("with another host or a name in it is refused or of no effect", () => {
    hold(
      fc.property(textOf(["a", "@", ":", "b", "%40", "\\", "/"], 6), rest, (authority, text) => {
        const read = readTarget(`http://g${authority}${text}`);
        if (read.kind === "target") expect(read.path.startsWith("//")).toBe(false);
        const host = authority.split(/[/\\]/, 1)[0] ?? "";
        if (host.includes("@")) expect(read.kind).toBe("refused");
      }),
    );
  });
});

const NAMES = [
  ...[
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "HTTP2-Settings",
    "Proxy-Authorization",
  ],
  ...[
    "Host",
    "Content-Length",
    "Expect",
    "Idempotency-Key",
    "Idempotency-Status",
    "Effect-Id",
    "Effect-Token",
    "Effect-Evidence",
  ],
  ...[
    "Content-Type",
    "Authorization",
    "X-A",
    "X-B",
    "Set-Cookie",
    "Date",
    "X-Request-Id",
    "ETag",
    "Content-Encoding",
    "WWW-Authenticate",
  ],
];
const VALUES = [
  "",
  "1",
  "chunked",
  "gzip, chunked",
  "x-a",
  "close, X-B",
  "authorization",
  "Idempotency-Key",
  "a\0b",
  "a\u0001",
  "\ufffd",
  "é",
  "\t x",
];
const pairs: fc.Arbitrary<Pairs> = fc.array(
  fc.tuple(
    fc.oneof(
      fc.constantFrom(...NAMES),
      fc.constantFrom(...NAMES).map((name) => name.toLowerCase()),
    ),
    fc.constantFrom(...VALUES),
  ),
  { maxLength: 8 },
);

const hasControl = (value: string): boolean =>
  [...value].some((c) => (c < " " && c !== "\t") || c === "\u007f" || c === "\ufffd");

const nominatedBy = (given: Pairs): string[] =>
  given
    .filter(([name]) => /^connection$/i.test(name))
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));

describe("header pairs", () => {
  it("reach the origin exactly where they are end to end, and not at all where somebody's identity is nominated", () => {
    hold(
      fc.property(pairs, (given) => {
        const nominated = nominatedBy(given);
        const isStolen = nominated.some((name) => /^(authorization|idempotency-key)$/.test(name));
        const isBroken = given.some(([, value]) => hasControl(value));
        const isCoded = given.some(
          ([name, value]) => /^transfer-encoding$/i.test(name) && value !== "chunked",
        );
        const read = pairsForOrigin(given, "idempotency-key");
        if (isStolen || isBroken || isCoded) {
          expect(read.kind).toBe("refused");
          return;
        }
        const ends =
          /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|proxy-.*|host|content-length|expect|idempotency-(key|status)|effect-(id|token|evidence))$/i;
        const passed = given.filter(([name]) => !ends.test(name) && !nominated.includes(name.toLowerCase()));
        expect(read).toEqual({ kind: "pairs", pairs: passed });
        expect(pairsForOrigin(passed, "idempotency-key")).toEqual(read);
      }),
    );
  });

  it("that are kept are some of those the first caller got, and keeping them again keeps them all", () => {
    hold(
      fc.property(pairs, (given) => {
        const first = pairsForClient(given);
        const kept = pairsToKeep(first, { cookies: false });
        expect(pairsForClient(first)).toEqual(first);
        expect(kept.every(([name, value]) => first.some((one) => one[1] === value) || name === "")).toBe(
          true,
        );
        expect(
          kept.some(([name]) =>
            /^(set-cookie|www-authenticate|date|connection|te|upgrade|x-request-id)$/i.test(name),
          ),
        ).toBe(false);
        expect(kept.length).toBeLessThanOrEqual(first.length);
      }),
    );
  });
});
