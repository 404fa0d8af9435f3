/** CORS for deployments that list their browser origins. Where none is listed every header is the origin's business. */
import { PREFLIGHT_AGE_S } from "../core/limits.ts";
import { EXPOSED_FIELDS } from "./reply.ts";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** The origin to allow: the caller's own if it is listed, `*` where everybody is; null: no cross-origin reading. */
function allowedOrigin(request: Request, allowed: readonly string[]): string | null {
  const origin = allowed.length === 0 ? null : request.headers.get("origin");
  if (origin === null) return null;
  if (allowed.includes("*")) return "*";
  return allowed.includes(origin) ? origin : null;
}

/** Answers a preflight itself, without key or claim; null: not a preflight, or none of ours. */
export function answerPreflight(request: Request, allowed: readonly string[]): Response | null {
  if (allowed.length === 0 || request.method !== "OPTIONS") return null;
  if (!request.headers.has("origin") || !request.headers.has("access-control-request-method")) return null;
  const headers = new Headers({
    Vary: "Origin, Access-Control-Request-Headers",
    "Cache-Control": "no-store",
  });
  const origin = allowedOrigin(request, allowed);
  if (origin !== null) {
    const asked = request.headers.get("access-control-request-headers") ?? "";
    const names = new Set([
      "idempotency-key",
      "prefer",
      ...asked
        .toLowerCase()
        .split(",")
        .map((name) => name.trim()),
    ]);
    headers.set("Access-Control-Allow-Origin", origin);
    headers.set("Access-Control-Allow-Methods", METHODS);
    headers.set(
      "Access-Control-Allow-Headers",
      [...names].filter((name) => /^[a-z0-9-]+$/.test(name)).join(", "),
    );
    headers.set("Access-Control-Max-Age", String(PREFLIGHT_AGE_S));
    if (origin !== "*") headers.set("Access-Control-Allow-Credentials", "true");
  }
  return new Response(null, { status: 204, headers });
}

/** The same answer, readable by an allowed browser origin. Where only some are allowed, every answer varies with who asks. */
export function withCors(response: Response, request: Request, allowed: readonly string[]): Response {
  if (allowed.length === 0 || response.webSocket !== null) return response;
  const origin = allowedOrigin(request, allowed);
  const readable = new Response(response.body, response);
  if (!allowed.includes("*")) readable.headers.append("Vary", "Origin");
  if (origin === null) return readable;
  readable.headers.set("Access-Control-Allow-Origin", origin);
  readable.headers.set("Access-Control-Expose-Headers", EXPOSED_FIELDS.join(", "));
  if (origin === "*") readable.headers.delete("Access-Control-Allow-Credentials");
  else readable.headers.set("Access-Control-Allow-Credentials", "true");
  return readable;
}
