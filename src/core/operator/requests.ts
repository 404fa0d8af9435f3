/** What operators send, as JSON: a value or the member that is wrong out. Members that no such request has are refused. */
import { encodeUtf8, fromBase64, sha256Hex } from "../bytes.ts";
import type { Grounds } from "../entry.ts";
import { type AnswerMember, type GivenAnswer, readGivenAnswer, readPairs } from "../http/given-answer.ts";
import type { Pairs } from "../http/headers.ts";

/** What can be wrong. A name with nothing behind it stands for the object itself: it is none, or has a member that it can't have. */
export type OperatorField =
  | "body"
  | "route"
  | "principal"
  | "key"
  | "effect_id"
  | "outcome"
  | "reason"
  | "evidence"
  | "answer"
  | `answer.${Exclude<AnswerMember, "answer">}`
  | "request"
  | "request.method"
  | "request.target"
  | "request.headers"
  | "request.body"
  | "request.body_base64";

export type Refused = { kind: "refused"; field: OperatorField };

/** Raw values by header, cookie or claim name, or the one value of a rule that has one. Null: none. */
export type GivenPrincipal = Readonly<Record<string, string | number>> | string | null;

/** One key, as its client knows it. */
export type KeyQuery = { kind: "query"; route: string; principal: GivenPrincipal; key: string };

/** A word on one effect. */
export type ResolutionRequest = {
  kind: "resolution";
  effect: string;
  outcome: { kind: "committed"; answer: GivenAnswer | null } | { kind: "not-committed" };
  reason: string;
  evidence: string;
};

/** A request that is not made. */
export type Sample = { kind: "sample"; method: string; target: string; headers: Pairs; body: Uint8Array };

const EFFECT_ID = /^[\x21-\x7e]{1,64}$/;
/** Written text of one line. */
const LINE = /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,200}$/u;
const REASON_TOKEN = /^[a-z0-9][a-z0-9._-]{0,63}$/;
/** Without what an address is made of. */
const REFERENCE_TOKEN = /^[A-Za-z0-9][A-Za-z0-9._:#-]{0,63}$/;
const METHOD = /^[A-Z]{1,16}$/;

type Members = Readonly<Record<string, unknown>>;

export function readKeyQuery(given: unknown): KeyQuery | Refused {
  if (!hasOnly(given, ["route", "principal", "key"])) return refuse("body");
  const { route, principal = null, key } = given;
  if (typeof route !== "string") return refuse("route");
  if (!isPrincipal(principal)) return refuse("principal");
  if (typeof key !== "string") return refuse("key");
  return { kind: "query", route, principal, key };
}

export function readResolution(given: unknown): ResolutionRequest | Refused {
  if (!hasOnly(given, ["effect_id", "outcome", "answer", "reason", "evidence"])) return refuse("body");
  const { effect_id: effect, outcome, answer, reason, evidence } = given;
  if (!isText(effect, EFFECT_ID)) return refuse("effect_id");
  if (outcome !== "committed" && outcome !== "not-committed") return refuse("outcome");
  if (!isText(reason, LINE)) return refuse("reason");
  if (!isText(evidence, LINE)) return refuse("evidence");
  const rest = { kind: "resolution", effect, reason, evidence } as const;
  if (answer === undefined) {
    return {
      ...rest,
      outcome: outcome === "committed" ? { kind: outcome, answer: null } : { kind: outcome },
    };
  }
  if (outcome === "not-committed" || !hasOnly(answer, ["status", "headers", "body", "body_base64"])) {
    return refuse("answer");
  }
  const read = readGivenAnswer(answer);
  if (read.kind === "answer") return { ...rest, outcome: { kind: outcome, answer: read.answer } };
  return refuse(read.member === "answer" ? "answer" : `answer.${read.member}`);
}

export function readSample(given: unknown): Sample | Refused {
  if (!hasOnly(given, ["request"])) return refuse("body");
  const { request } = given;
  if (!hasOnly(request, ["method", "target", "headers", "body", "body_base64"])) return refuse("request");
  const { method, target, headers = [], body, body_base64: encoded } = request;
  if (!isText(method, METHOD)) return refuse("request.method");
  if (typeof target !== "string" || !target.startsWith("/")) return refuse("request.target");
  const pairs = readPairs(headers);
  if (pairs === null) return refuse("request.headers");
  if (body !== undefined && (typeof body !== "string" || !body.isWellFormed())) return refuse("request.body");
  if (encoded !== undefined && (typeof encoded !== "string" || body !== undefined)) {
    return refuse("request.body_base64");
  }
  const bytes = encoded === undefined ? encodeUtf8(body ?? "") : fromBase64(encoded);
  if (bytes === null) return refuse("request.body_base64");
  return { kind: "sample", method, target, headers: pairs, body: bytes };
}

/**
 * What the ledger keeps of a reason and a reference to the evidence: each where it is a token, and in any case the SHA-256 of the
 * JSON list of the two, so that nobody's free text gets into an entry and nobody can put other words in its place.
 */
export async function groundsOf(reason: string, evidence: string): Promise<Grounds> {
  return {
    code: REASON_TOKEN.test(reason) ? reason : null,
    target: REFERENCE_TOKEN.test(evidence) ? evidence : null,
    digest: await sha256Hex(encodeUtf8(JSON.stringify([reason, evidence]))),
  };
}

function refuse(field: OperatorField): Refused {
  return { kind: "refused", field };
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(value: unknown, names: readonly string[]): value is Members {
  return isMembers(value) && Object.keys(value).every((name) => names.includes(name));
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

function isPrincipal(value: unknown): value is GivenPrincipal {
  if (value === null || typeof value === "string") return true;
  return (
    isMembers(value) &&
    Object.values(value).every((each) => typeof each === "string" || typeof each === "number")
  );
}
