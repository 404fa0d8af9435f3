/** Reads the one target of a request: the same path and query are routed, fingerprinted and forwarded. */

/**
 * Why a target is refused: it can be read in two ways, so that a rule checked on one reading could be passed
 * by with the other. `character`: a control character or space. `double-slash`: the path starts with `//`,
 * which reads as a host.
 */
export type TargetFault =
  | "unparsable"
  | "character"
  | "fragment"
  | "userinfo"
  | "backslash"
  | "double-slash"
  | "dot-segment";

export type TargetReading =
  | { kind: "target"; path: string; search: string }
  | { kind: "refused"; reason: TargetFault };

/**
 * Authority, path, query, none of them changed: a URL parser would already have resolved what must be
 * refused.
 */
const SHAPE = /^https?:\/\/([^/?#\\]+)([^?]*)(\?.*)?$/is;

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the job
const CONTROL = /[\x00-\x20\x7f]/;

/**
 * A segment `.` or `..`, dots and separators also percent-encoded, in any mix and case. `;` ends a segment
 * because servers that strip path parameters read `..;x` as `..`.
 */
const DOT_SEGMENT = /(?:^|\/|%2f|%5c)(?:\.|%2e){1,2}(?:$|\/|;|%2f|%5c|%3b)/i;

/** A host and a path that a URL parser gives back as they are: most are, and parsing costs. */
const PLAIN_HOST = /^[A-Za-z0-9.-]+(:[1-5]?\d{1,4})?$/;
const PLAIN = /^\/[A-Za-z0-9/._~-]*$/;

const ENCODED_SEPARATOR = /%2f|%5c/gi;

/**
 * The target of an absolute http(s) URL as the request brought it, not normalised.
 *
 * `path` starts with one slash; `search` is empty or starts with `?` (a bare `?` is kept). Both are
 * percent-encoded as the URL standard does it and are otherwise the bytes that came: `%2F`, `//` inside the
 * path and the query stay. Put behind an origin they must be joined as text. Reading the result again gives
 * the result.
 */
export function readTarget(url: string): TargetReading {
  if (CONTROL.test(url)) return refuse("character");
  if (url.includes("#")) return refuse("fragment");
  const [, authority, rawPath, rawSearch = ""] = SHAPE.exec(url) ?? [];
  if (authority === undefined || rawPath === undefined) return refuse("unparsable");
  if (authority.includes("@")) return refuse("userinfo");
  if (rawPath.includes("\\")) return refuse("backslash");
  if (rawPath.startsWith("//")) return refuse("double-slash");
  if (DOT_SEGMENT.test(rawPath)) return refuse("dot-segment");
  if (PLAIN.test(rawPath) && PLAIN_HOST.test(authority) && rawSearch === "")
    return { kind: "target", path: rawPath, search: "" };
  const parsed = parseUrl(url);
  if (parsed === null) return refuse("unparsable");
  return { kind: "target", path: parsed.pathname, search: rawSearch === "?" ? "?" : parsed.search };
}

/**
 * How a server that decodes separators first would read the path: `%2F` and `%5C` as `/`, once (`%252F`
 * stays). Null when there is only one reading. Give it a path from `readTarget`: then the reading has no dot
 * segments, those have been refused. It is for comparing routes only and may start with `//`.
 */
export function slashReading(path: string): string | null {
  const reading = path.replace(ENCODED_SEPARATOR, "/");
  return reading === path ? null : reading;
}

/**
 * The path with needlessly encoded characters decoded (letters, digits, `-`, `.`, `_`, `~`; RFC 3986 section 6.2.2.2): a server
 * may read it so. Equal to the path where nothing is.
 */
export function unreservedReading(path: string): string {
  return path.replace(/%(?:4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae]|3[0-9]|2d|2e)/gi, (code) => {
    return String.fromCharCode(Number.parseInt(code.slice(1), 16));
  });
}

function parseUrl(url: string): URL | null {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

function refuse(reason: TargetFault): TargetReading {
  return { kind: "refused", reason };
}
