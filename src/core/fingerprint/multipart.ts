/** Reads a multipart body part by part, so that a retry under a new boundary is the same request. */

import { decodeUtf8, encodeUtf8 } from "../bytes.ts";

/**
 * Header names in lower case; values and content are the bytes that came, values with the space after the
 * colon.
 */
export type Part = { headers: readonly (readonly [name: string, value: Uint8Array])[]; content: Uint8Array };

/**
 * `before` and `after` are what stands outside the delimiters; receivers ignore it, a comparison need not.
 */
export type Multipart = { before: Uint8Array; parts: readonly Part[]; after: Uint8Array };

export const MULTIPART_PARTS_MAX = 1000;
export const MULTIPART_HEADERS_MAX = 32;

const DASH = 0x2d;
const CR = 0x0d;
const LF = 0x0a;

/** Where `--boundary` is, and what follows it: another part or the end. `next` is behind the delimiter. */
type Delimiter = { kind: "part" | "end"; at: number; next: number };

/**
 * The parts of a body (RFC 2046 section 5.1.1), or null when the body must be compared as it is. Only the one
 * layout that every parser reads alike is accepted: CRLF line ends, no white space behind a boundary, each
 * part with an empty line after its headers, no folded headers, and the boundary nowhere else in the body,
 * not even after the end. An empty form (`--boundary--` alone) has no parts.
 */
export function readMultipart(body: Uint8Array, boundary: string): Multipart | null {
  const delimiters = readDelimiters(body, encodeUtf8(`--${boundary}`));
  const [first, last] = [delimiters?.at(0), delimiters?.at(-1)];
  if (!delimiters || !first || !last) return null;
  const parts: Part[] = [];
  for (let index = 1; index < delimiters.length; index += 1) {
    const part = readPart(body, delimiters[index - 1]?.next ?? 0, (delimiters[index]?.at ?? 0) - 2);
    if (part === null) return null;
    parts.push(part);
  }
  return { before: body.subarray(0, first.at), parts, after: body.subarray(last.next) };
}

/**
 * At least the end; null when one stands where it is no delimiter, the last is not the end or there are too
 * many.
 */
function readDelimiters(body: Uint8Array, dashBoundary: Uint8Array): readonly Delimiter[] | null {
  const found: Delimiter[] = [];
  const places = findAll(body, dashBoundary, MULTIPART_PARTS_MAX + 1);
  if (places === null) return null;
  for (const at of places) {
    const delimiter = readDelimiter(body, at, at + dashBoundary.length);
    if (delimiter === null || found.at(-1)?.kind === "end") return null;
    found.push(delimiter);
  }
  return found.at(-1)?.kind === "end" ? found : null;
}

function readDelimiter(body: Uint8Array, at: number, next: number): Delimiter | null {
  if (at > 0 && !isLineEnd(body, at - 2)) return null;
  if (isLineEnd(body, next)) return { kind: "part", at, next: next + 2 };
  if (body[next] !== DASH || body[next + 1] !== DASH) return null;
  const over = next + 2 === body.length || isLineEnd(body, next + 2);
  return over ? { kind: "end", at, next: next + 2 } : null;
}

/** `end` is where the line end before the next delimiter starts, which belongs to the delimiter. */
function readPart(body: Uint8Array, start: number, end: number): Part | null {
  const headers: (readonly [string, Uint8Array])[] = [];
  let line = start;
  for (;;) {
    const lineEnd = body.indexOf(CR, line);
    if (lineEnd < 0 || lineEnd + 2 > end || !isLineEnd(body, lineEnd)) return null;
    if (lineEnd === line) return { headers, content: body.subarray(line + 2, end) };
    const header = readHeader(body.subarray(line, lineEnd));
    if (header === null || headers.length === MULTIPART_HEADERS_MAX) return null;
    headers.push(header);
    line = lineEnd + 2;
  }
}

function readHeader(line: Uint8Array): readonly [string, Uint8Array] | null {
  const colon = line.indexOf(0x3a);
  if (colon < 0 || line.includes(LF) || line.includes(0)) return null;
  const name = decodeUtf8(line.subarray(0, colon)) ?? "";
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return null;
  return [name.toLowerCase(), line.subarray(colon + 1)];
}

function isLineEnd(body: Uint8Array, at: number): boolean {
  return body[at] === CR && body[at + 1] === LF;
}

/**
 * Every place of `wanted`, not overlapping, or null when there are more than `most`. Knuth, Morris and
 * Pratt's search: each byte is looked at once, whatever the body repeats.
 */
function findAll(body: Uint8Array, wanted: Uint8Array, most: number): readonly number[] | null {
  const back = buildFallbacks(wanted);
  const places: number[] = [];
  const first = wanted[0] ?? DASH;
  let matched = 0;
  for (let at = body.indexOf(first); at >= 0 && at < body.length; at += 1) {
    const byte = body[at];
    while (matched > 0 && byte !== wanted[matched]) matched = back[matched - 1] ?? 0;
    if (byte === wanted[matched]) matched += 1;
    if (matched === wanted.length) {
      if (places.length === most) return null;
      places.push(at + 1 - wanted.length);
      matched = 0;
    }
    if (matched === 0) {
      const next = body.indexOf(first, at + 1);
      if (next < 0) break;
      at = next - 1;
    }
  }
  return places;
}

/** For each prefix of `wanted`: the length of its longest proper prefix that is also its end. */
function buildFallbacks(wanted: Uint8Array): Uint8Array {
  const back = new Uint8Array(wanted.length);
  let matched = 0;
  for (let at = 1; at < wanted.length; at += 1) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = back[matched - 1] ?? 0;
    if (wanted[at] === wanted[matched]) matched += 1;
    back[at] = matched;
  }
  return back;
}
