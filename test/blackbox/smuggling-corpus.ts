/** Requests that two servers may read in two ways: RFC 9112 sections 2.2, 3.2, 5, 6 and 7, and what is known of attacks on them. */

/** `sees`: what the origin has to see of it. Every one of them is answered 201. */
export type Crafted = { name: string; bytes: (key: string) => string; sees: readonly string[] };

const OWN = "Host: g\r\nAuthorization: Bearer a\r\nContent-Type: application/json\r\n";
const ONE = ["POST /a/x Bearer a"];
const NONE: readonly string[] = [];
const BOTH = ["POST /a/x Bearer a", "POST /a/hidden Bearer victim"];

/** A whole request of somebody else. */
export function hidden(key: string): string {
  return `POST /a/hidden HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer victim\r\nIdempotency-Key: h-${key}\r\nContent-Length: 2\r\n\r\n{}`;
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

const LAST = "0\r\n\r\n";
const BODY = `${chunk("{}")}${LAST}`;

type Make = (key: string) => { fields?: string; body: string; line?: string };

function row(name: string, sees: readonly string[], make: Make): Crafted {
  const bytes = (key: string): string => {
    const { fields = "Content-Length: 2\r\n", body, line = "POST /a/x HTTP/1.1" } = make(key);
    return `${line}\r\n${OWN}Idempotency-Key: ${key}\r\n${fields}\r\n${body}`;
  };
  return { name, bytes, sees };
}

function raw(name: string, sees: readonly string[], bytes: (key: string) => string): Crafted {
  return { name, sees, bytes };
}

/** One field that frames the body `{}`, or should not. */
function framed(name: string, sees: readonly string[], fields: string, body: string): Crafted {
  return row(name, sees, () => ({ fields, body }));
}

const lengths: readonly Crafted[] = [
  row("both forms, length first: the chunks count, and nothing after them", ONE, (key) => {
    const body = LAST + hidden(key);
    return { fields: `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`, body };
  }),
  row("both forms, length last: the chunks count, and nothing after them", ONE, (key) => {
    const body = LAST + hidden(key);
    return { fields: `Transfer-Encoding: chunked\r\nContent-Length: ${body.length}\r\n`, body };
  }),
  row("both forms, a length that ends in a chunk", ONE, (key) => ({
    fields: "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    body: chunk(hidden(key)) + LAST,
  })),
  row("two lengths that differ, the short one first", NONE, (key) => ({
    fields: `Content-Length: 2\r\nContent-Length: ${2 + hidden(key).length}\r\n`,
    body: `{}${hidden(key)}`,
  })),
  row("two lengths that differ, the long one first", NONE, (key) => ({
    fields: `Content-Length: ${2 + hidden(key).length}\r\nContent-Length: 2\r\n`,
    body: `{}${hidden(key)}`,
  })),
  framed("one length twice", ONE, "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
  framed("a list of one length", NONE, "Content-Length: 2, 2\r\n", "{}"),
  ...["+2", "-1", "0x2", "2a", "2.0", "2 2", "18446744073709551618", ""].map((length) =>
    framed(`a length of "${length}"`, NONE, `Content-Length: ${length}\r\n`, "{}"),
  ),
  framed("a length that is never reached", NONE, "Content-Length: 50\r\n", "{}"),
  row("no length, and a second request behind it", BOTH, (key) => ({ fields: "", body: hidden(key) })),
  row("a second request inside the length", ONE, (key) => ({
    fields: `Content-Length: ${hidden(key).length}\r\n`,
    body: hidden(key),
  })),
  row("a second request behind the length", BOTH, (key) => ({ body: `{}${hidden(key)}` })),
  row("a length of nothing, and a second request behind it", BOTH, (key) => ({
    fields: "Content-Length: 0\r\n",
    body: hidden(key),
  })),
  framed("a length with zeros before it", ONE, "Content-Length: 0002\r\n", "{}"),
  framed("a length between white space", ONE, "Content-Length: \t2 \r\n", "{}"),
  framed("a length and a vertical tab", NONE, "Content-Length: 2\x0b\r\n", "{}"),
  framed("a space before its colon", NONE, "Content-Length : 2\r\n", "{}"),
  framed("an underscore in its name", ONE, "Content_Length: 90\r\nContent-Length: 2\r\n", "{}"),
];

const codings: readonly Crafted[] = [
  ...["xchunked", "chunked, identity", '"chunked"', "\x0bchunked", "chunked;q=1", "chunked,"].map((coding) =>
    row(`a transfer coding of ${JSON.stringify(coding)}`, NONE, (key) => ({
      fields: `Transfer-Encoding: ${coding}\r\nContent-Length: ${LAST.length + hidden(key).length}\r\n`,
      body: LAST + hidden(key),
    })),
  ),
  framed("a coding that nobody undoes", NONE, "Transfer-Encoding: gzip, chunked\r\n", BODY),
  framed("identity before chunked", NONE, "Transfer-Encoding: identity, chunked\r\n", BODY),
  framed("identity alone", NONE, "Transfer-Encoding: identity\r\nContent-Length: 2\r\n", "{}"),
  framed("an empty coding", NONE, "Transfer-Encoding: \r\nContent-Length: 2\r\n", "{}"),
  framed("chunked twice over", NONE, "Transfer-Encoding: chunked, chunked\r\n", BODY),
  framed("chunked in two fields", NONE, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", BODY),
  framed(
    "chunked, then one unheard of",
    NONE,
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n",
    BODY,
  ),
  framed(
    "one unheard of, then chunked",
    NONE,
    "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n",
    BODY,
  ),
  framed("a space behind the coding", ONE, "Transfer-Encoding: chunked \r\n", BODY),
  framed("an underscore in its name", ONE, "Transfer_Encoding: chunked\r\nContent-Length: 2\r\n", "{}"),
  framed("two coding fields", NONE, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", BODY),
  framed("other letters", ONE, "Transfer-Encoding: Chunked\r\n", BODY),
  framed("a tab before the coding", ONE, "Transfer-Encoding:\tchunked\r\n", BODY),
  framed("a coding on a folded line", NONE, "Transfer-Encoding:\r\n chunked\r\n", BODY),
  row("a space before the colon", NONE, (key) => ({
    fields: `Transfer-Encoding : chunked\r\nContent-Length: ${LAST.length + hidden(key).length}\r\n`,
    body: LAST + hidden(key),
  })),
];

const CHUNKED = "Transfer-Encoding: chunked\r\n";
const chunks: readonly Crafted[] = [
  framed("extensions", ONE, CHUNKED, `2;a=b;c="d"\r\n{}\r\n0;x\r\n\r\n`),
  framed(
    "trailers that speak for somebody else",
    ONE,
    CHUNKED,
    `${chunk("{}")}0\r\nAuthorization: Bearer victim\r\nIdempotency-Key: t\r\n\r\n`,
  ),
  row("a bare line feed in an extension", NONE, (key) => ({
    fields: CHUNKED,
    body: `2;a\n{}\r\n${LAST}${hidden(key)}`,
  })),
  framed("bare line feeds", NONE, CHUNKED, "2\n{}\n0\n\n"),
  framed("a size in another notation", NONE, CHUNKED, `0x2\r\n{}\r\n${LAST}`),
  framed("a size beyond 64 bits", NONE, CHUNKED, `10000000000000002\r\n{}\r\n${LAST}`),
  framed("a size below zero", NONE, CHUNKED, `-2\r\n{}\r\n${LAST}`),
  framed("a size in other letters, with zeros before it", ONE, CHUNKED, `00A\r\n{"a":true}\r\n${LAST}`),
  framed("an extension of 20 KB", NONE, CHUNKED, `2;${"x".repeat(20 * 1024)}\r\n{}\r\n${LAST}`),
  row("an extension whose quote has no end, and a second request behind the body", BOTH, (key) => ({
    fields: CHUNKED,
    body: `2;a="\r\n{}\r\n${LAST}${hidden(key)}`,
  })),
  framed(
    "trailers that frame",
    ONE,
    CHUNKED,
    `${chunk("{}")}0\r\nContent-Length: 90\r\nTransfer-Encoding: chunked\r\nHost: other.test\r\n\r\n`,
  ),
  row("a last chunk without its end", NONE, (key) => ({
    fields: CHUNKED,
    body: `${chunk("{}")}0\r\n${hidden(key)}`,
  })),
  row("a carriage return alone behind the size", NONE, (key) => ({
    fields: CHUNKED,
    body: `2\r{}\r\n${LAST}${hidden(key)}`,
  })),
  framed("no size", NONE, CHUNKED, `\r\n{}\r\n${LAST}`),
  row("more data than the size says", NONE, (key) => ({
    fields: CHUNKED,
    body: `2\r\n{}XX${LAST}${hidden(key)}`,
  })),
];

const fields: readonly Crafted[] = [
  raw(
    "line feeds alone",
    ONE,
    (key) => `POST /a/x HTTP/1.1\n${OWN}Idempotency-Key: ${key}\nContent-Length: 2\n\n{}`,
  ),
  framed("a carriage return alone", NONE, "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n", "{}"),
  framed("a folded line", NONE, "X: a\r\n b\r\nContent-Length: 2\r\n", "{}"),
  raw(
    "a first line that is folded",
    NONE,
    (key) => `POST /a/x HTTP/1.1\r\n X: 1\r\n${OWN}Idempotency-Key: ${key}\r\nContent-Length: 2\r\n\r\n{}`,
  ),
  raw(
    "a space before the key's colon",
    NONE,
    (key) => `POST /a/x HTTP/1.1\r\n${OWN}Idempotency-Key : ${key}\r\nContent-Length: 2\r\n\r\n{}`,
  ),
  framed("a null byte", NONE, "X: a\0b\r\nContent-Length: 2\r\n", "{}"),
  framed("a control character", NONE, "X: a\x01b\r\nContent-Length: 2\r\n", "{}"),
  framed("a line without a colon", NONE, "Nothing\r\nContent-Length: 2\r\n", "{}"),
  framed("a field without a name", NONE, ": v\r\nContent-Length: 2\r\n", "{}"),
  framed("a name that is no token", NONE, "X(y): v\r\nContent-Length: 2\r\n", "{}"),
  row("a carriage return alone before a hidden request", NONE, (key) => ({
    fields: `X: a\r\rContent-Length: 0\r\rPOST /a/hidden HTTP/1.1\rIdempotency-Key: h-${key}\r\nContent-Length: 2\r\n`,
    body: "{}",
  })),
  framed("two keys", NONE, "Idempotency-Key: other\r\nContent-Length: 2\r\n", "{}"),
  framed("two hosts", NONE, "Host: other.test\r\nContent-Length: 2\r\n", "{}"),
  framed(
    "two credentials, which are a third one",
    ["POST /a/x Bearer a, Bearer victim"],
    "Authorization: Bearer victim\r\nContent-Length: 2\r\n",
    "{}",
  ),
  raw(
    "no host",
    NONE,
    (key) =>
      `POST /a/x HTTP/1.1\r\nAuthorization: Bearer a\r\nIdempotency-Key: ${key}\r\nContent-Length: 2\r\n\r\n{}`,
  ),
  framed(
    "1,500 of them",
    ONE,
    `${Array.from({ length: 1_500 }, (_, i) => `X-${i}: v\r\n`).join("")}Content-Length: 2\r\n`,
    "{}",
  ),
  framed("one of 70 KB", ONE, `X: ${"v".repeat(70 * 1024)}\r\nContent-Length: 2\r\n`, "{}"),
  framed("one of 600 KB", NONE, `X: ${"v".repeat(600 * 1024)}\r\nContent-Length: 2\r\n`, "{}"),
  framed("Expect, as known", ONE, "Expect: 100-continue\r\nContent-Length: 2\r\n", "{}"),
  framed("Expect, unheard of", ONE, "Expect: 200-magic\r\nContent-Length: 2\r\n", "{}"),
  framed(
    "an upgrade to HTTP/2",
    ONE,
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 2\r\n",
    "{}",
  ),
  framed(
    "an upgrade to WebSocket",
    ONE,
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nContent-Length: 2\r\n",
    "{}",
  ),
];

function line(name: string, sees: readonly string[], first: string): Crafted {
  return row(name, sees, () => ({ body: "{}", line: first }));
}

const lines: readonly Crafted[] = [
  line("an absolute target", ONE, "POST http://other.test/a/x HTTP/1.1"),
  line("an absolute target of another scheme", ONE, "POST https://other.test/a/x HTTP/1.1"),
  line(
    "an absolute target with a name in it",
    ["POST /a/x Bearer a"],
    "POST http://victim@other.test/a/x HTTP/1.1",
  ),
  line("an absolute target without a path", ["POST / Bearer a"], "POST http://other.test HTTP/1.1"),
  line("the target of a CONNECT", ["POST / Bearer a"], "POST other.test:80 HTTP/1.1"),
  line("a target that begins with no slash", NONE, "POST x/a/x HTTP/1.1"),
  line("a target that begins with another host", NONE, "POST @other.test/a/x HTTP/1.1"),
  line("another host in the path", NONE, "POST //other.test/a/x HTTP/1.1"),
  line("a carriage return alone in it", NONE, "POST /a/x HTTP/1.1\rX: y"),
  line("a space before it", NONE, " POST /a/x HTTP/1.1"),
  line("HTTP/1.0", ONE, "POST /a/x HTTP/1.0"),
  row("HTTP/1.0 with chunks", NONE, () => ({ fields: CHUNKED, body: BODY, line: "POST /a/x HTTP/1.0" })),
  ...["HTTP/2.0", "HTTP/1.2", "HTTP/1.1x", "HTTP/1,1", ""].map((version) =>
    line(`a version of "${version}"`, NONE, `POST /a/x ${version}`),
  ),
  line("two spaces", NONE, "POST  /a/x HTTP/1.1"),
  line("a space in the target", NONE, "POST /a/x y HTTP/1.1"),
  line("a null byte in the target", NONE, "POST /a/x\0 HTTP/1.1"),
  line("an encoded line end", ["POST /a/x%0d%0aX:y Bearer a"], "POST /a/x%0d%0aX:y HTTP/1.1"),
  line("a method in other letters", NONE, "post /a/x HTTP/1.1"),
  line("a method nobody knows", NONE, "FROB /a/x HTTP/1.1"),
  raw(
    "empty lines before it",
    ONE,
    (key) => `\r\n\r\nPOST /a/x HTTP/1.1\r\n${OWN}Idempotency-Key: ${key}\r\nContent-Length: 2\r\n\r\n{}`,
  ),
  raw(
    "CONNECT, and a request behind it",
    NONE,
    (key) => `CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n${hidden(key)}`,
  ),
  raw("OPTIONS of the server", ["OPTIONS / nobody"], () => "OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n"),
  raw(
    "a request in the body of a GET",
    ["GET /a/x nobody"],
    (key) => `GET /a/x HTTP/1.1\r\nHost: g\r\nContent-Length: ${hidden(key).length}\r\n\r\n${hidden(key)}`,
  ),
  raw(
    "a request in the chunks of a GET",
    ["GET /a/x nobody"],
    (key) => `GET /a/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(hidden(key))}${LAST}`,
  ),
  raw("HTTP/0.9", NONE, () => "GET /a/x\r\n\r\n"),
  raw("the preface of HTTP/2", NONE, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  raw("a TLS hello", NONE, () => "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"),
  raw("noise", NONE, () => "\x00\xff\x00\xff\r\n\r\n"),
];

export const CORPUS: readonly { about: string; rows: readonly Crafted[] }[] = [
  { about: "lengths", rows: lengths },
  { about: "transfer codings", rows: codings },
  { about: "chunks", rows: chunks },
  { about: "fields", rows: fields },
  { about: "the request line", rows: lines },
];

/** Fields that somebody relies on: taking one off on its way is how an identity has been lost. */
export const NOMINATIONS: readonly string[] = [
  "Idempotency-Key",
  "authorization",
  "Cookie",
  "Host",
  "Content-Length",
  "Content-Type",
  "Content-Encoding",
  "X-Forwarded-For",
  "X-Real-IP",
  "CF-Connecting-IP",
  "Forwarded",
  "Effect-Id",
  "Effect-Token",
  "Idempotency-Status",
  "Prefer",
];
