/** Step 9: the answer a client gets. The only place that makes responses to guarded requests. */

import { GATEWAY_FIELDS, type Pairs, toFields } from "../core/http/headers.ts";
import { isBodiless } from "../core/http/outcome.ts";
import type { Given } from "../core/ports.ts";
import { type Problem, problemBody, type Slug } from "../core/problem.ts";

export type Mark =
  | "executed"
  | "replayed"
  | "unprotected"
  | "released"
  | "in-flight"
  | "unknown"
  | "mismatch"
  | "expired"
  | "refused";

/** Fields of the gateway's own that scripts in browsers may read. */
export const EXPOSED_FIELDS = [
  "Idempotency-Status",
  "Idempotency-Replayed",
  "Idempotency-Created",
  "Idempotency-Expires",
  "Idempotency-Original-Request-Id",
  "Link",
  "Retry-After",
] as const;

/** Where a client can ask for the state of an operation. Null: the request never became one. */
export type StatusLink = { prefix: string; operation: string } | null;

type Times = { createdAt: number; expiresAt: number };

/** RFC 9110 section 5.6.7. */
function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

function respond(given: Given, fields: Pairs): Response {
  return new Response(isBodiless(given.status) ? null : given.body, {
    status: given.status,
    headers: toFields(fields),
  });
}

function ownFields(mark: Mark, link: StatusLink): Pairs {
  const marked: [string, string] = ["Idempotency-Status", mark];
  return link === null ? [marked] : [marked, ["Link", linkTo(link)]];
}

function linkTo(link: NonNullable<StatusLink>): string {
  return `<${link.prefix}/operations/${link.operation}>; rel="status"`;
}

export function replyExecuted(given: Given, times: Times, link: StatusLink): Response {
  const expires: [string, string] = ["Idempotency-Expires", httpDate(times.expiresAt)];
  return respond(given, [...given.headers, expires, ...ownFields("executed", link)]);
}

/** The fields of a replay, all but its date: what belongs to one exchange is that exchange's own. */
export function replayFields(given: Given, times: Times, link: StatusLink): Pairs {
  return [
    ...given.headers,
    ["Idempotency-Replayed", "true"],
    ["Idempotency-Created", httpDate(times.createdAt)],
    ["Idempotency-Expires", httpDate(times.expiresAt)],
    ["Cache-Control", "no-store"],
    ...ownFields("replayed", link),
  ];
}

/** A stored answer again: same status, fields and bytes. `fields` come from `replayFields`. */
export function replyReplayed(given: Omit<Given, "headers">, fields: Pairs, now: number): Response {
  return respond({ ...given, headers: [] }, [...fields, ["Date", httpDate(now)]]);
}

/** The origin's own answer that is not stored: streamed, released, or of unknown outcome. */
export function replyGiven(given: Given, mark: Mark, link: StatusLink): Response {
  return respond(given, [...given.headers, ...ownFields(mark, link)]);
}

/** Refusals with a 401, which have to say what would be taken (RFC 9110 section 11.6.1). */
const BEARER_SLUGS: readonly Slug[] = ["principal-missing", "operator-unauthorized", "effect-token-refused"];

/** RFC 9457. */
export function replyProblem(problem: Problem, prefix: string, link: StatusLink): Response {
  const headers = new Headers({
    "Content-Type": "application/problem+json",
    "Cache-Control": "no-store",
    "Idempotency-Status": problem.mark,
  });
  if (problem.retryAfterS !== null) headers.set("Retry-After", String(problem.retryAfterS));
  if (BEARER_SLUGS.includes(problem.slug)) {
    headers.set("WWW-Authenticate", "Bearer");
  }
  const { allow } = problem.extras;
  if (allow !== undefined) headers.set("Allow", allow.join(", "));
  if (link !== null) headers.append("Link", linkTo(link));
  return new Response(JSON.stringify(problemBody(problem, prefix)), { status: problem.status, headers });
}

/** An unguarded answer: the origin's own, less what only the gateway may say. */
export function replyUnprotected(response: Response): Response {
  const marked = new Response(response.body, response);
  for (const name of GATEWAY_FIELDS) marked.headers.delete(name);
  marked.headers.set("Idempotency-Status", "unprotected");
  return marked;
}
