/** Reads `Content-Type`, so that spellings of one media type count as one. */

/** `type` is `type/subtype` in lower case; parameters have lower-case names, each once, sorted. */
export type MediaType = { type: string; parameters: readonly (readonly [name: string, value: string])[] };

const TYPE = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+\/[!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*/;
/** A value outside quotes may also hold what RFC 9110 asks to quote: `boundary=a=b` is common. */
const PARAMETER = /;[ \t]*(?:([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"\\]+)))?[ \t]*/y;

/**
 * The media type of a `Content-Type` value (RFC 9110 section 8.3.1), or null when it is not one or names a
 * parameter twice. Quoting is undone; the value of `charset` is in lower case, since case has no meaning
 * there (section 8.3.2).
 */
export function readMediaType(value: string): MediaType | null {
  const start = TYPE.exec(value);
  if (start === null) return null;
  const [head, type = ""] = start;
  const parameters = readParameters(value, head.length);
  return parameters === null ? null : { type: type.toLowerCase(), parameters };
}

/** True for `application/json` and every `+json` type (RFC 6839 section 3.1). */
export function isJson(media: MediaType): boolean {
  return media.type === "application/json" || media.type.endsWith("+json");
}

/** The boundary of a `multipart/*` type, as RFC 2046 section 5.1.1 allows it; null for all else. */
export function readBoundary(media: MediaType): string | null {
  if (!media.type.startsWith("multipart/")) return null;
  const boundary = media.parameters.find(([name]) => name === "boundary")?.[1] ?? "";
  return /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary) ? boundary : null;
}

function readParameters(value: string, start: number): MediaType["parameters"] | null {
  const found = new Map<string, string>();
  let at = start;
  while (at < value.length) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(value);
    if (match === null) return null;
    at = PARAMETER.lastIndex;
    const [, name, quoted, bare] = match;
    if (name === undefined) continue;
    const field = name.toLowerCase();
    if (found.has(field)) return null;
    const text = bare ?? (quoted ?? "").replace(/\\(.)/g, "$1");
    found.set(field, field === "charset" ? text.toLowerCase() : text);
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
}
