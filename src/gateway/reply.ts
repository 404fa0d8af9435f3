/** Step 9: the answer a client gets. The only place that makes responses to guarded requests. */

import { GATEWAY_FIELDS, type Pairs, toFields } from "../core/http/headers.ts";
import { isBodiless } from "../core/http/outcome.ts";
import type { Given } from "../core/ports.ts";
import { type Problem, problemBody } from "../core/problem.ts";

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

function respond(given: Given, mark: Mark, link: StatusLink, add: Pairs): Response {
  const own: [string, string][] = [["Idempotency-Status", mark]];
  if (link !== null) own.push(["Link", `<${link.prefix}/operations/${link.operation}>; rel="status"`]);
  const body = isBodiless(given.status) ? null : given.body;
  return new Response(body, { status: given.status, headers: toFields([...given.headers, ...add, ...own]) });
}

export function replyExecuted(given: Given, times: Times, link: StatusLink): Response {
  return respond(given, "executed", link, [["Idempotency-Expires", httpDate(times.expiresAt)]]);
}

/** A stored answer again: same status, fields and bytes. What belongs to one exchange is this exchange's own. */
export function replyReplayed(given: Given, times: Times, link: StatusLink, now: number): Response {
  return respond(given, "replayed", link, [
    ["Idempotency-Replayed", "true"],
    ["Idempotency-Created", httpDate(times.createdAt)],
    ["Idempotency-Expires", httpDate(times.expiresAt)],
    ["Cache-Control", "no-store"],
    ["Date", httpDate(now)],
  ]);
}

/** The origin's own answer that is not stored: streamed, released, or of unknown outcome. */
export function replyGiven(given: Given, mark: Mark, link: StatusLink): Response {
  return respond(given, mark, link, []);
}

/** RFC 9457. */
export function replyProblem(problem: Problem, prefix: string, link: StatusLink): Response {
  const headers = new Headers({
    "Content-Type": "application/problem+json",
    "Cache-Control": "no-store",
    "Idempotency-Status": problem.mark,
  });
  if (problem.retryAfterS !== null) headers.set("Retry-After", String(problem.retryAfterS));
  if (problem.slug === "principal-missing" || problem.slug === "operator-unauthorized") {
    headers.set("WWW-Authenticate", "Bearer");
  }
  if (link !== null) headers.append("Link", `<${link.prefix}/operations/${link.operation}>; rel="status"`);
  return new Response(JSON.stringify(problemBody(problem, prefix)), { status: problem.status, headers });
}

/** An unguarded answer: the origin's own, less what only the gateway may say. */
export function replyUnprotected(response: Response): Response {
  const marked = new Response(response.body, response);
  for (const name of GATEWAY_FIELDS) marked.headers.delete(name);
  marked.headers.set("Idempotency-Status", "unprotected");
  return marked;
}
