/** Requests behind others on one connection: what became of the first one must not change where the next one begins. */
import { hidden } from "./smuggling-corpus.ts";

/** `sees`: what the origin has to see; `answers`: all that comes back. */
export type Piped = {
  name: string;
  bytes: (key: string) => string;
  sees: readonly string[];
  answers: readonly number[];
};

const OWN = "POST /a/x Bearer a";
const VICTIM = "POST /a/hidden Bearer victim";
const HOST = "Host: g\r\n";
const CREDENTIAL = "Authorization: Bearer a\r\n";
const BODY = "Content-Length: 2\r\n\r\n{}";

function first(fields: string, line = "POST /a/x HTTP/1.1"): string {
  return `${line}\r\n${HOST}${fields}`;
}

const named = (key: string): string => `${CREDENTIAL}Idempotency-Key: ${key}\r\n`;

/** The body of one that is refused before its body is read is a whole request. */
const unread = (key: string, fields: string, line?: string): string =>
  `${first(fields, line)}Content-Length: ${hidden(key).length}\r\n\r\n${hidden(key)}`;

const bodies: readonly Piped[] = [
  { name: "no key", sees: [], answers: [400], bytes: (key) => unread(key, CREDENTIAL) },
  {
    name: "no principal",
    sees: [],
    answers: [401],
    bytes: (key) => unread(key, `Idempotency-Key: ${key}\r\n`),
  },
  {
    name: "a key that is too long",
    ...{ sees: [], answers: [400], bytes: (key) => unread(key, named("k".repeat(300))) },
  },
  {
    name: "a field that is nominated",
    ...{
      sees: [],
      answers: [400],
      bytes: (key) => unread(key, `${named(key)}Connection: Authorization\r\n`),
    },
  },
  {
    name: "a target that has two readings",
    ...{ sees: [], answers: [400], bytes: (key) => unread(key, named(key), "POST /a/x%2f..%2fy HTTP/1.1") },
  },
  {
    name: "an expectation",
    ...{ sees: [OWN], answers: [201], bytes: (key) => unread(key, `${named(key)}Expect: 100-continue\r\n`) },
  },
  {
    name: "a body that is too large",
    sees: [],
    answers: [413],
    bytes: (key) => {
      const body = hidden(key).repeat(Math.ceil((1_048_576 + 1) / hidden(key).length));
      return `${first(named(key))}Content-Length: ${body.length}\r\n\r\n${body}`;
    },
  },
];

const behind: readonly Piped[] = [
  {
    name: "one without a key",
    sees: [VICTIM],
    answers: [400, 201],
    bytes: (key) => first(CREDENTIAL) + BODY + hidden(key),
  },
  {
    name: "one without a principal",
    ...{ sees: [VICTIM], answers: [401, 201] },
    bytes: (key) => `${first(`Idempotency-Key: ${key}\r\n`)}${BODY}${hidden(key)}`,
  },
  {
    name: "one that nobody can read",
    ...{ sees: [], answers: [400] },
    bytes: (key) => `${first(`${named(key)}X: a\0b\r\n`)}${BODY}${hidden(key)}`,
  },
  {
    name: "one whose chunks break off",
    ...{ sees: [], answers: [400] },
    bytes: (key) =>
      `${first(`${named(key)}Transfer-Encoding: chunked\r\n`)}\r\n2\r\n{}\r\nXX\r\n${hidden(key)}`,
  },
  {
    name: "one that closes",
    ...{ sees: [OWN], answers: [201] },
    bytes: (key) => `${first(`${named(key)}Connection: close\r\n`)}${BODY}${hidden(key)}`,
  },
  {
    name: "one of HTTP/1.0",
    ...{ sees: [OWN], answers: [201] },
    bytes: (key) => `${first(named(key), "POST /a/x HTTP/1.0")}${BODY}${hidden(key)}`,
  },
  {
    name: "one of HTTP/1.0 that keeps the connection",
    ...{ sees: [OWN, VICTIM], answers: [201, 201] },
    bytes: (key) =>
      `${first(`${named(key)}Connection: keep-alive\r\n`, "POST /a/x HTTP/1.0")}${BODY}${hidden(key)}`,
  },
  {
    name: "an upgrade to HTTP/2",
    ...{ sees: [OWN, VICTIM], answers: [201, 201] },
    bytes: (key) =>
      `${first(`${named(key)}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`)}${BODY}${hidden(key)}`,
  },
  {
    name: "two of the same key",
    ...{ sees: [OWN], answers: [201, 201, 201] },
    bytes: (key) => `${first(named(key))}${BODY}`.repeat(3),
  },
];

export const PIPELINES: readonly { about: string; rows: readonly Piped[] }[] = [
  { about: "a request in the body of one that is refused, or made to wait, for", rows: bodies },
  { about: "a request behind", rows: behind },
];
