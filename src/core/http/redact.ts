/** The stored copy of an answer, less what its route leaves out. */
import { writeCanonicalJson } from "../fingerprint/json.ts";
import { readMediaType } from "../fingerprint/media-type.ts";
import { readPointerTokens } from "../fingerprint/pointer.ts";
import { fieldValue, isContentDigest, type Pairs } from "./headers.ts";

export type Redacted =
  /** Nothing was left out: store it as it came. */
  | { kind: "same" }
  /** Written anew, with sorted members; fields that were true of the old bytes are gone. */
  | { kind: "rewritten"; headers: Pairs; body: Uint8Array }
  /** It may be JSON and can't be read, so what has to go can't be found: don't store it. */
  | { kind: "illegible" };

/**
 * Leaves out the values at `pointers` (RFC 6901). A body is taken for JSON if it can be read as JSON, whatever its type says: a type
 * that is missing or spelled oddly must not switch this off.
 */
export function redactAnswer(body: Uint8Array, headers: Pairs, pointers: readonly string[]): Redacted {
  if (pointers.length === 0 || body.byteLength === 0) return { kind: "same" };
  const whole = writeCanonicalJson(body, []);
  const rest = whole === null ? null : writeCanonicalJson(body, pointers);
  if (whole === null || rest === null) {
    return mayBeJson(headers) || mayHold(body, pointers) ? { kind: "illegible" } : { kind: "same" };
  }
  if (isEqual(whole, rest)) return { kind: "same" };
  return { kind: "rewritten", headers: headers.filter(([name]) => !isContentDigest(name)), body: rest };
}

function mayBeJson(headers: Pairs): boolean {
  const type = fieldValue(headers, "content-type");
  return type === null || readMediaType(type) === null || /json/i.test(type);
}

/** Whether a member that a pointer ends in is named in the text, as in JSON with something before or behind it. */
function mayHold(body: Uint8Array, pointers: readonly string[]): boolean {
  const text = new TextDecoder().decode(body);
  return pointers.some((pointer) => {
    const member = readPointerTokens(pointer)?.at(-1);
    return member === undefined || text.includes(JSON.stringify(member));
  });
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, at) => byte === b[at]);
}
