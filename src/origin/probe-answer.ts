/** Reads what an origin answers to a probe or a seal. Whatever is not exactly what was agreed on is nothing. */
import { decodeUtf8, encodeUtf8, fromBase64 } from "../core/bytes.ts";
import { fieldValue, type Pairs } from "../core/http/headers.ts";
import { isBodiless, isReplayable } from "../core/http/outcome.ts";
import { PROBE_FIELDS_MAX } from "../core/limits.ts";
import type { Committed, NothingLearned, ProbedAnswer } from "../core/ports.ts";

export type ProbeText = Committed | { kind: "none" } | { kind: "void" } | NothingLearned;

/** A field's name (RFC 9110 section 5.1). */
const NAME = /^[\w!#$%&'*+.^`|~-]{1,256}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the job
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f\ufffd]/;

/** Null: not what was agreed on. Members that nobody knows are left out. */
export function readProbeText(bytes: Uint8Array): ProbeText | null {
  const text = decodeUtf8(bytes);
  if (text === null) return null;
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isTable(said)) return null;
  switch (said.outcome) {
    case "committed": {
      if (said.answer === undefined || said.answer === null) return { kind: "committed", answer: "lost" };
      const answer = readAnswer(said.answer);
      return answer === null ? null : { kind: "committed", answer };
    }
    case "none":
    case "void":
      return { kind: said.outcome };
    case "unknown":
      return { kind: "unknown", why: "said" };
    default:
      return null;
  }
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads `{status, headers, body or body_base64}`: a whole answer of the origin, its body not encoded. Null: not one, or one that
 * nobody could be given.
 */
function readAnswer(given: unknown): ProbedAnswer | null {
  if (!isTable(given) || typeof given.status !== "number" || !isReplayable(given.status)) return null;
  const headers = readHeaders(given.headers);
  const body = readBody(given);
  if (headers === null || body === null) return null;
  const coding = fieldValue(headers, "content-encoding");
  if (coding !== null && coding.toLowerCase() !== "identity") return null;
  if (isBodiless(given.status) && body.byteLength > 0) return null;
  return { status: given.status, headers, body };
}

function readHeaders(given: unknown): Pairs | null {
  if (given === undefined) return [];
  if (!Array.isArray(given) || given.length > PROBE_FIELDS_MAX || !given.every(isPair)) return null;
  try {
    // What the runtime would refuse later is refused now.
    void new Headers(given.map(([name, value]) => [name, value]));
  } catch {
    return null;
  }
  return given;
}

function isPair(given: unknown): given is readonly [string, string] {
  if (!Array.isArray(given) || given.length !== 2) return false;
  const [name, value]: readonly unknown[] = given;
  return (
    typeof name === "string" &&
    NAME.test(name) &&
    typeof value === "string" &&
    value.isWellFormed() &&
    !CONTROL.test(value)
  );
}

function readBody({ body, body_base64: encoded }: Table): Uint8Array | null {
  if (body !== undefined && encoded !== undefined) return null;
  if (encoded !== undefined) return typeof encoded === "string" ? fromBase64(encoded) : null;
  if (body === undefined) return new Uint8Array();
  return typeof body === "string" && body.isWellFormed() ? encodeUtf8(body) : null;
}
