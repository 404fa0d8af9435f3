/** The main path: one guarded request from admission to answer. Steps are those of the map in `src/README.md`. */

import type { RoutePolicy } from "../core/policy.ts";
import type { KeyPort, Submitted } from "../core/ports.ts";
import { problem } from "../core/problem.ts";
import { ownerMessage } from "../core/scope.ts";
import { admit, type Unclaimed } from "./admission/admit.ts";
import { discard } from "./admission/body.ts";
import { isAuthorized } from "./authorize.ts";
import type { Gateway } from "./gateway.ts";
import { passUnguarded } from "./pass.ts";
import {
  type Mark,
  replyExecuted,
  replyGiven,
  replyProblem,
  replyReplayed,
  type StatusLink,
} from "./reply.ts";

/** What a request came to, for its log line and the counters. Route and operation are ids, not the client's words. */
export type Handled = { response: Response; mark: Mark | "passed"; route: string; operation: string };

export async function handle(request: Request, gateway: Gateway, keys: KeyPort): Promise<Handled> {
  const routed = gateway.match(request.method, request.url);
  if (routed.kind === "refused") return refuseEarly(request, gateway, "target-refused", "");
  if (routed.kind === "pass") {
    const response = await passUnguarded(request, gateway, routed.path + routed.search, null);
    return { response, mark: "passed", route: "", operation: "" };
  }
  const { policy, path, search } = routed;
  const principal = gateway.principalOf(policy);
  const admitted = await admit(request, { policy, principal, keyring: gateway.keyring, path, search });
  switch (admitted.kind) {
    case "refused": {
      await discard(request.body);
      const response = replyProblem(admitted.problem, gateway.prefix, null);
      return { response, mark: admitted.problem.mark, route: policy.id, operation: "" };
    }
    case "unprotected": {
      const response = await passUnguarded(request, gateway, path + search, policy.keyHeader);
      return { response, mark: "unprotected", route: policy.id, operation: "" };
    }
    case "guarded":
      return answer({ request, gateway, keys, policy, principal: admitted.principal }, admitted.operation);
  }
}

async function refuseEarly(
  request: Request,
  gateway: Gateway,
  slug: "target-refused",
  route: string,
): Promise<Handled> {
  await discard(request.body);
  const refusal = problem(slug);
  return { response: replyProblem(refusal, gateway.prefix, null), mark: refusal.mark, route, operation: "" };
}

/** One request on its way through steps 4 to 9. */
type Visit = {
  request: Request;
  gateway: Gateway;
  keys: KeyPort;
  policy: RoutePolicy;
  principal: readonly string[];
};

/** Steps 4 and 9. */
async function answer(visit: Visit, operation: Unclaimed): Promise<Handled> {
  const { gateway, policy } = visit;
  const link: StatusLink = { prefix: gateway.prefix, operation: operation.name };
  const told = (response: Response, mark: Mark): Handled => ({
    response,
    mark,
    route: policy.id,
    operation: operation.name,
  });
  const submitted = await recallOrSubmit(visit, operation);
  switch (submitted.kind) {
    case "executed":
      return told(replyExecuted(submitted.given, submitted, link), "executed");
    case "replayed":
      return told(replyReplayed(submitted.given, submitted, link, Date.now()), "replayed");
    case "streamed":
      return told(replyGiven(submitted.given, "executed", link), "executed");
    case "released":
      return told(replyGiven(submitted.given, "released", link), "released");
    case "doubtful":
      return told(replyGiven(submitted.given, "unknown", link), "unknown");
    case "authorize":
      return told(replyProblem(problem("not-authorized"), gateway.prefix, link), "refused");
    case "refused":
      return told(replyProblem(submitted.problem, gateway.prefix, link), submitted.problem.mark);
  }
}

/** A stored answer is given only after the route's own service has agreed, wherever it is stored. */
async function recallOrSubmit(visit: Visit, operation: Unclaimed): Promise<Submitted> {
  const { request, gateway, policy } = visit;
  const first = recall(gateway, policy, operation) ?? (await submitClaimed(visit, operation));
  if (first.kind === "authorize" && policy.authorize !== null) {
    if (!(await isAuthorized(policy.authorize, request, policy.principal))) return first;
    return recallOrSubmit(visit, { ...operation, authorized: true });
  }
  remember(gateway, policy, operation, first);
  return first;
}

async function submitClaimed(
  { gateway, keys, policy, principal }: Visit,
  operation: Unclaimed,
): Promise<Submitted> {
  const owner = await gateway.keyring.owner(ownerMessage(policy.id, principal));
  return keys.submit({ ...operation, owner }, policy);
}

/** A settled answer from this isolate's memory, on routes that don't have each replay recorded with the decision. */
function recall(gateway: Gateway, policy: RoutePolicy, operation: Unclaimed): Submitted | null {
  if (!isCacheable(policy)) return null;
  const found = gateway.cache.find(operation.name, operation.fp, Date.now());
  if (found === null) return null;
  if (!operation.authorized) return { kind: "authorize" };
  const { createdAt, expiresAt, ...given } = found;
  return { kind: "replayed", given, createdAt, expiresAt };
}

function isCacheable(policy: RoutePolicy): boolean {
  return policy.audit !== "durable" && !policy.sealWithKey;
}

/**
 * Only what came back as a replay is kept: the first answer may hold fields and values that are not to be given twice,
 * and most keys are never asked for again.
 */
function remember(gateway: Gateway, policy: RoutePolicy, operation: Unclaimed, submitted: Submitted): void {
  if (submitted.kind !== "replayed" || !isCacheable(policy)) return;
  const { status, headers, body } = submitted.given;
  if (!(body instanceof Uint8Array)) return;
  const { createdAt, expiresAt } = submitted;
  gateway.cache.keep(operation.name, operation.fp, { status, headers, body, createdAt, expiresAt });
}
