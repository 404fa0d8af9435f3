/**
 * Single texts that settings hold: header names, JSON pointers, URLs, paths. Each reader gives null for what
 * it refuses, and never repairs anything.
 */

import * as bounds from "./bounds.ts";

/** Source: RFC 9110 section 5.6.2, `token`. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Names that say nothing about the caller or are taken: connection and framing (RFC 9110 sections 7.2, 7.6.1,
 * 8.6, 10.1.1; RFC 9112 section 6.1), waiting (RFC 7240), and the fields that the gateway writes itself.
 */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "effect-attempt",
  "effect-evidence",
  "effect-id",
  "effect-probe",
  "effect-token",
  "expect",
  "host",
  "idempotency-created",
  "idempotency-expires",
  "idempotency-original-request-id",
  "idempotency-replayed",
  "idempotency-status",
  "keep-alive",
  "prefer",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The lower-case name of a header that anything may be configured for. */
export function readHeaderName(given: unknown): string | null {
  if (typeof given !== "string" || given.length > bounds.NAME_LENGTH.max || !TOKEN.test(given)) return null;
  return given.toLowerCase();
}

/** As `readHeaderName`, without the reserved names. */
export function readFreeHeaderName(given: unknown): string | null {
  const name = readHeaderName(given);
  return name === null || RESERVED_HEADERS.has(name) ? null : name;
}

/**
 * As `readFreeHeaderName`, for a header that carries a key: it is taken off the request, so no credential may
 * be in it.
 */
export function readKeyHeaderName(given: unknown): string | null {
  const name = readFreeHeaderName(given);
  return name === "authorization" || name === "cookie" ? null : name;
}

/** Case counts. Source: RFC 6265 section 4.1.1, `cookie-name`. */
export function readCookieName(given: unknown): string | null {
  return readHeaderName(given) !== null && typeof given === "string" ? given : null;
}

/** A JSON pointer to something inside the document. Source: RFC 6901 section 3. */
export function readPointer(given: unknown): string | null {
  if (typeof given !== "string" || given.length > bounds.POINTER_LENGTH.max) return null;
  return /^(?:\/(?:[^~/]|~[01])*)+$/.test(given) ? given : null;
}

/** Visible ASCII, for names and identifiers that are compared and never parsed. */
export function readVisible(given: unknown, length: bounds.Range): string | null {
  if (typeof given !== "string" || given.length < length.min || given.length > length.max) return null;
  return /^[!-~]+$/.test(given) ? given : null;
}

/** A URLPattern pathname that the platform accepts. Source: WHATWG URL Pattern. */
export function readMatch(given: unknown): string | null {
  if (typeof given !== "string" || !given.startsWith("/") || given.length > bounds.TEXT_LENGTH.max)
    return null;
  try {
    new URLPattern({ pathname: given });
    // `{id}` would be grouping and match the text "id" only: whoever writes it means a parameter.
    return /[{}]/.test(given) ? null : given;
  } catch {
    return null;
  }
}

/**
 * A URL with one reading: absolute, of one of these protocols, without white space, backslash, user and
 * fragment. What the URL parser would repair is refused instead, so that the text in the configuration is the
 * address that is called.
 */
export function readUrl(given: unknown, protocols: readonly ("http:" | "https:")[]): URL | null {
  if (typeof given !== "string" || given.length > bounds.TEXT_LENGTH.max) return null;
  if (!/^https?:\/\/[^/?#@\\\s]+(?:[/?][^#\\\s]*)?$/i.test(given)) return null;
  const url = URL.parse(given);
  return url !== null && protocols.some((protocol) => protocol === url.protocol) ? url : null;
}

/** As `readUrl` for https; http too where the host is this machine. */
export function readSecureUrl(given: unknown): URL | null {
  const url = readUrl(given, ["http:", "https:"]);
  if (url === null) return null;
  const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  return url.protocol === "https:" || isLoopback ? url : null;
}

/**
 * The address of the origin: scheme and authority, and the path put before every target, without a slash at
 * its end.
 */
export function readOriginUrl(given: unknown): { base: string; prefix: string } | null {
  const url = readUrl(given, ["http:", "https:"]);
  if (url === null || typeof given !== "string" || given.includes("?")) return null;
  const path = given.replace(/^[a-z]+:\/\/[^/]+/i, "").replace(/\/$/, "");
  return path === "" || isPath(path) ? { base: url.origin, prefix: path } : null;
}

/** The path below which the gateway's own endpoints live. */
export function readPrefix(given: unknown): string | null {
  if (typeof given !== "string" || given.length > bounds.NAME_LENGTH.max) return null;
  return isPlainPath(given) ? given : null;
}

/** A path with a query at most, whose braces hold known placeholders only. */
export function readTemplate(given: unknown): string | null {
  if (typeof given !== "string" || given.length > bounds.TEXT_LENGTH.max) return null;
  const filled = given.replace(/\{(?:effect_id|attempt|operation_id)\}/g, "0");
  const [path = "", query = ""] = splitOnce(filled, "?");
  const isSound = path === "/" || isPath(path.replace(/\/$/, ""));
  return isSound && /^[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]*$/.test(query) ? given : null;
}

/** `scheme://host[:port]` exactly as browsers send it. Source: RFC 6454 section 6.2. */
export function readBrowserOrigin(given: unknown): string | null {
  const url = readUrl(given, ["http:", "https:"]);
  return url !== null && url.origin === given ? given : null;
}

/**
 * One or more segments of characters that need no encoding (RFC 3986 section 2.3), none of them a dot
 * segment.
 */
function isPlainPath(path: string): boolean {
  return /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/.test(path);
}

/**
 * As `isPlainPath` with all of RFC 3986's `pchar`, but no encoded dot, slash, backslash or nothing: one
 * reading only.
 */
function isPath(path: string): boolean {
  const segment = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%(?!2[EeFf]|5[Cc]|00)[0-9A-Fa-f]{2})+";
  return new RegExp(`^(?:/(?!\\.{1,2}(?:/|$))${segment})+$`).test(path);
}

function splitOnce(given: string, mark: string): [string, string] {
  const at = given.indexOf(mark);
  return at < 0 ? [given, ""] : [given.slice(0, at), given.slice(at + mark.length)];
}
