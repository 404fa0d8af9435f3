/** An answer as a probe or an operator gives it, for an operation whose own answer was lost: JSON in, a value or the member that is wrong out. */
import { encodeUtf8, fromBase64 } from "../bytes.ts";
import { fieldValue, type Pairs } from "./headers.ts";
import { isBodiless, isReplayable } from "./outcome.ts";

/** The body is not encoded. */
export type GivenAnswer = { status: number; headers: Pairs; body: Uint8Array };

/** What can be wrong. `answer`: it is no JSON object. */
export type AnswerMember = "answer" | "status" | "headers" | "body" | "body_base64";

export type ReadAnswer = { kind: "answer"; answer: GivenAnswer } | { kind: "refused"; member: AnswerMember };

/** Fields of one answer, and characters of all of them. */
const FIELDS_MAX = 256;
const FIELD_CHARS_MAX = 64 * 1024;

/** RFC 9110 section 5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the job
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f\ufffd]/;

/**
 * `{status, headers, body | body_base64}`: status 200 to 599, headers a list of pairs (none by default), one body or none, not
 * encoded. Members with other names are not looked at.
 */
export function readGivenAnswer(given: unknown): ReadAnswer {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return refuse("answer");
  const { status, headers = [], body, body_base64: encoded } = given as Readonly<Record<string, unknown>>;
  if (typeof status !== "number" || !isReplayable(status)) return refuse("status");
  const pairs = readPairs(headers);
  if (pairs === null || isEncoded(pairs)) return refuse("headers");
  if (body !== undefined && (typeof body !== "string" || !body.isWellFormed())) return refuse("body");
  if (encoded !== undefined && (typeof encoded !== "string" || body !== undefined))
    return refuse("body_base64");
  const bytes = encoded === undefined ? encodeUtf8(body ?? "") : fromBase64(encoded);
  if (bytes === null) return refuse("body_base64");
  if (isBodiless(status) && bytes.byteLength > 0)
    return refuse(encoded === undefined ? "body" : "body_base64");
  return { kind: "answer", answer: { status, headers: pairs, body: bytes } };
}

function refuse(member: AnswerMember): ReadAnswer {
  return { kind: "refused", member };
}

function isEncoded(pairs: Pairs): boolean {
  const coding = fieldValue(pairs, "content-encoding");
  return coding !== null && coding.toLowerCase() !== "identity";
}

/** Null: it is no list of pairs that header fields can be made of. */
export function readPairs(given: unknown): Pairs | null {
  if (!Array.isArray(given) || given.length > FIELDS_MAX) return null;
  const pairs: (readonly [string, string])[] = [];
  let chars = 0;
  for (const pair of given as readonly unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) return null;
    const [name, value] = pair as readonly unknown[];
    if (typeof name !== "string" || typeof value !== "string") return null;
    if (!NAME.test(name) || CONTROL.test(value) || !value.isWellFormed()) return null;
    chars += name.length + value.length;
    pairs.push([name, value]);
  }
  return chars > FIELD_CHARS_MAX || !isTakenByRuntime(pairs) ? null : pairs;
}

/** What the runtime would refuse when the answer is given is refused now. */
function isTakenByRuntime(pairs: Pairs): boolean {
  try {
    return new Headers(pairs.map(([name, value]) => [name, value])) !== null;
  } catch {
    return false;
  }
}
