/**
 * One spelling of a JSON text for all texts that say the same: member order, white space and the escaping of
 * strings don't count. It works on tokens and never on values: a number stays the text it was, because `1`,
 * `1.0` and integers beyond 2^53 are told apart by some origins and not by JavaScript.
 */

import { decodeUtf8, encodeUtf8 } from "../bytes.ts";
import { buildPointerTree, type PointerTree } from "./pointer.ts";

/** Arrays and objects inside each other; a text nested deeper is not read. */
export const JSON_NESTING_MAX = 128;

/** `twice`: where a member was found that is there twice, from the outside in; empty: nowhere so far. */
type Scan = { readonly text: string; at: number; twice: (string | number)[] };
type Member = { name: string; text: string; leftOut: boolean };

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The canonical text (UTF-8) of a JSON body: no white space, members sorted by decoded name in code unit
 * order, strings as `JSON.stringify` writes them, numbers as they came. What the pointers in `ignore` (RFC
 * 6901) point at is left out.
 *
 * Null when the body must be compared as it is: not exactly one RFC 8259 text in UTF-8 without byte order
 * mark, or one that origins may read differently (a member twice, a lone surrogate), or nested deeper than
 * `JSON_NESTING_MAX`.
 */
export function writeCanonicalJson(body: Uint8Array, ignore: readonly string[]): Uint8Array | null {
  const text = decodeUtf8(body);
  if (text === null) return null;
  const ignored = buildPointerTree(ignore);
  const canonical = readText({ text, at: 0, twice: [] }, ignored);
  if (canonical === null) return null;
  return encodeUtf8(ignored?.here === true ? "" : canonical);
}

/** `twice`: a member is there twice, and `path` leads to it. `illegible`: for any other reason there is no one reading. */
export type JsonReading =
  | { kind: "json"; value: unknown }
  | { kind: "twice"; path: readonly (string | number)[] }
  | { kind: "illegible" };

/** The value of a text that `writeCanonicalJson` would have one spelling for: readers of all kinds understand it alike. */
export function readStrictJson(text: string): JsonReading {
  const scan: Scan = { text, at: 0, twice: [] };
  if (readText(scan, null) !== null) return { kind: "json", value: JSON.parse(text) };
  return scan.twice.length > 0 ? { kind: "twice", path: scan.twice } : { kind: "illegible" };
}

function readText(scan: Scan, ignored: PointerTree | null): string | null {
  skipSpace(scan);
  const canonical = readValue(scan, 0, ignored);
  skipSpace(scan);
  return scan.at === scan.text.length ? canonical : null;
}

/**
 * Each reader starts at its value's first character, stops behind its last, and gives the canonical text or
 * null.
 */
function readValue(scan: Scan, depth: number, ignored: PointerTree | null): string | null {
  switch (scan.text.charCodeAt(scan.at)) {
    case QUOTE:
      return readString(scan);
    case OPEN_OBJECT:
      return depth < JSON_NESTING_MAX ? readObject(scan, depth + 1, ignored) : null;
    case OPEN_ARRAY:
      return depth < JSON_NESTING_MAX ? readArray(scan, depth + 1, ignored) : null;
    case 0x74:
      return readWord(scan, "true");
    case 0x66:
      return readWord(scan, "false");
    case 0x6e:
      return readWord(scan, "null");
    default:
      return readNumber(scan);
  }
}

function readArray(scan: Scan, depth: number, ignored: PointerTree | null): string | null {
  scan.at += 1;
  skipSpace(scan);
  if (takeCharacter(scan, CLOSE_ARRAY)) return "[]";
  let canonical = "";
  for (let index = 0; ; index += 1) {
    skipSpace(scan);
    const below = ignored === null ? null : (ignored.below.get(String(index)) ?? null);
    const value = readValue(scan, depth, below);
    if (value === null) return failWithin(scan, index);
    if (below?.here !== true) canonical += canonical === "" ? value : `,${value}`;
    skipSpace(scan);
    if (takeCharacter(scan, CLOSE_ARRAY)) return `[${canonical}]`;
    if (!takeCharacter(scan, COMMA)) return null;
  }
}

function readObject(scan: Scan, depth: number, ignored: PointerTree | null): string | null {
  scan.at += 1;
  skipSpace(scan);
  if (takeCharacter(scan, CLOSE_OBJECT)) return "{}";
  const members: Member[] = [];
  for (;;) {
    skipSpace(scan);
    const member = readMember(scan, depth, ignored);
    if (member === null) return null;
    members.push(member);
    skipSpace(scan);
    if (takeCharacter(scan, CLOSE_OBJECT)) return writeMembers(scan, members);
    if (!takeCharacter(scan, COMMA)) return null;
  }
}

function readMember(scan: Scan, depth: number, ignored: PointerTree | null): Member | null {
  if (scan.text.charCodeAt(scan.at) !== QUOTE) return null;
  const token = readString(scan);
  if (token === null) return null;
  skipSpace(scan);
  if (!takeCharacter(scan, COLON)) return null;
  skipSpace(scan);
  const name: string = token.includes("\\") ? JSON.parse(token) : token.slice(1, -1);
  const below = ignored === null ? null : (ignored.below.get(name) ?? null);
  const value = readValue(scan, depth, below);
  if (value === null) return failWithin(scan, name);
  return { name, text: `${token}:${value}`, leftOut: below?.here === true };
}

function failWithin(scan: Scan, step: string | number): null {
  if (scan.twice.length > 0) scan.twice.unshift(step);
  return null;
}

/** Null when a name is there twice, left out or not: which one counts depends on the origin's parser. */
function writeMembers(scan: Scan, members: Member[]): string | null {
  members.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  let canonical = "";
  let last: Member | null = null;
  for (const member of members) {
    if (last?.name === member.name) {
      scan.twice = [member.name];
      return null;
    }
    if (!member.leftOut) canonical += canonical === "" ? member.text : `,${member.text}`;
    last = member;
  }
  return `{${canonical}}`;
}

/**
 * A string without escapes is canonical as it stands; the text comes from strict UTF-8, so only escapes can
 * be lone.
 */
function readString(scan: Scan): string | null {
  const { text, at: start } = scan;
  let escaped = false;
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      scan.at = at + 1;
      const token = text.slice(start, at + 1);
      return escaped ? respellString(token) : token;
    }
    if (unit < 0x20) return null;
    if (unit === BACKSLASH) {
      escaped = true;
      at += 1;
    }
  }
  return null;
}

/**
 * `token` ends at the first quote that no backslash covers; whether its escapes are right is left to
 * `JSON.parse`.
 */
function respellString(token: string): string | null {
  try {
    const value: string = JSON.parse(token);
    return value.isWellFormed() ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}

function readNumber(scan: Scan): string | null {
  const start = scan.at;
  takeCharacter(scan, MINUS);
  if (!takeCharacter(scan, ZERO) && !takeDigits(scan)) return null;
  if (takeCharacter(scan, DOT) && !takeDigits(scan)) return null;
  if ((scan.text.charCodeAt(scan.at) | 0x20) === 0x65) {
    scan.at += 1;
    if (!takeCharacter(scan, 0x2b)) takeCharacter(scan, MINUS);
    if (!takeDigits(scan)) return null;
  }
  return scan.text.slice(start, scan.at);
}

function readWord(scan: Scan, word: string): string | null {
  if (!scan.text.startsWith(word, scan.at)) return null;
  scan.at += word.length;
  return word;
}

function takeDigits(scan: Scan): boolean {
  const start = scan.at;
  let unit = scan.text.charCodeAt(scan.at);
  while (unit >= 0x30 && unit <= 0x39) {
    scan.at += 1;
    unit = scan.text.charCodeAt(scan.at);
  }
  return scan.at > start;
}

function takeCharacter(scan: Scan, unit: number): boolean {
  if (scan.text.charCodeAt(scan.at) !== unit) return false;
  scan.at += 1;
  return true;
}

function skipSpace(scan: Scan): void {
  let unit = scan.text.charCodeAt(scan.at);
  while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) {
    scan.at += 1;
    unit = scan.text.charCodeAt(scan.at);
  }
}
