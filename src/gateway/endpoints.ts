/** The gateway's own endpoints below `PREFIX` that need no operator. */

import { encodeUtf8 } from "../core/bytes.ts";
import { ownerMessage } from "../core/http/scope.ts";
import { LOOK_WAIT_MS_MAX, RETRY_STORE_S } from "../core/limits.ts";
import type { KeyPort, Look } from "../core/ports.ts";
import { explainProblem, isSlug, problem } from "../core/problem.ts";
import { readWait } from "./admission/prefer.ts";
import type { Gateway } from "./gateway.ts";
import { readOperationId } from "./operation-id.ts";
import { replyProblem } from "./reply.ts";

const NO_STORE = { "Cache-Control": "no-store" };

/** 200 when a key object and the ledger's database answer. A name that is no key's: nothing is written. */
export async function answerHealth(
  gateway: Gateway,
  keys: KeyPort,
  isDatabaseUp: () => Promise<boolean>,
): Promise<Response> {
  const [look, database] = await Promise.all([keys.look("health", 0), isDatabaseUp()]);
  const objects = look.kind !== "unavailable";
  const isSound = objects && database;
  const say = (up: boolean): string => (up ? "up" : "down");
  const body = { status: isSound ? "sound" : "unsound", key_objects: say(objects), database: say(database) };
  if (!isSound) gateway.report("health", { key_objects: say(objects), database: say(database) });
  return Response.json(body, { status: isSound ? 200 : 503, headers: NO_STORE });
}

/** The page behind a problem's `type`: HTML for people, JSON for everybody else. */
export function answerProblemPage(request: Request, slug: string, gateway: Gateway): Response {
  if (!isSlug(slug)) return replyProblem(problem("not-found"), gateway.prefix, null);
  const told = { type: `${gateway.prefix}/problems/${slug}`, ...explainProblem(slug) };
  const varies = { Vary: "Accept" };
  if (!(request.headers.get("accept") ?? "").includes("text/html")) {
    return Response.json(told, { headers: varies });
  }
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${told.title}</title><h1>${told.title}</h1>
<p>${told.detail}</p><dl><dt>Status</dt><dd>${told.status}</dd><dt>Retry</dt><dd>${told.retry}</dd></dl></html>`;
  return new Response(html, {
    headers: {
      ...varies,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": "default-src 'none'",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

/** State of one operation, for the principal it belongs to. Everybody else learns nothing: it is not there. */
export async function answerOperation(
  request: Request,
  id: string,
  gateway: Gateway,
  keys: KeyPort,
): Promise<Response> {
  const hidden = (): Response => replyProblem(problem("not-found"), gateway.prefix, null);
  const unavailable = (): Response =>
    replyProblem(problem("store-unavailable", RETRY_STORE_S), gateway.prefix, null);
  const name = await readOperationId(id, gateway.keyring);
  if (name === null) return hidden();
  const waitMs = Math.min(readWait(request.headers.get("prefer")), LOOK_WAIT_MS_MAX);
  // Who asks is checked on a look that doesn't wait: a stranger can't hold a place among the waiters.
  const first = await keys.look(name, 0);
  if (first.kind === "unavailable") return unavailable();
  if (first.kind === "none") return hidden();
  const ownership = await checkOwner(request, first, gateway);
  if (ownership === "unavailable") return unavailable();
  if (ownership === "stranger") return hidden();
  const look = waitMs > 0 ? await keys.look(name, waitMs) : first;
  if (look.kind === "unavailable") return unavailable();
  if (look.kind === "none") return hidden();
  return Response.json(operationBody(id, look), { headers: NO_STORE });
}

type Found = Extract<Look, { kind: "found" }>;

async function checkOwner(
  request: Request,
  look: Found,
  gateway: Gateway,
): Promise<"owner" | "stranger" | "unavailable"> {
  const policy = gateway.policyOf(look.route);
  if (policy === null) return "stranger";
  const principal = await gateway.principalOf(policy)(request);
  if (principal.kind !== "known") return principal.kind === "missing" ? "stranger" : "unavailable";
  const owner = await gateway.keyring.owner(ownerMessage(policy.id, principal.parts));
  const [a, b] = [encodeUtf8(owner), encodeUtf8(look.owner)];
  return a.byteLength === b.byteLength && crypto.subtle.timingSafeEqual(a, b) ? "owner" : "stranger";
}

function operationBody(id: string, { status }: Found): Record<string, unknown> {
  const time = (ms: number): string => new Date(ms).toISOString();
  return {
    id,
    state: status.state,
    attempts: status.attempts,
    created_at: time(status.createdAt),
    changed_at: time(status.changedAt),
    ...(status.expiresAt === null ? {} : { expires_at: time(status.expiresAt) }),
    effects: status.effects.map(({ effectId, attempt, capability, state, isFlagged }) => ({
      effect_id: effectId,
      attempt,
      capability,
      state,
      ...(isFlagged ? { flagged: true } : {}),
    })),
    ...(status.ledger === null ? {} : { ledger: status.ledger }),
  };
}
