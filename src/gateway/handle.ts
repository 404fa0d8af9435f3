/** The main path: one guarded request from admission to answer. Steps are those of the map in `src/README.md`. */

import type { Seen } from "../core/audit/observe.ts";
import { isForwardableCoding, type Pairs } from "../core/http/headers.ts";
import type { TargetReading } from "../core/http/target.ts";
import { RETRY_STORE_S } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type { KeyPort, Submitted } from "../core/ports.ts";
import { type Problem, problem } from "../core/problem.ts";
import { admit, type Ticket } from "./admission/admit.ts";
import { discard } from "./admission/body.ts";
import { makeOperation } from "./admission/operation.ts";
import { isAuthorized } from "./authorize.ts";
import type { CachedAnswer } from "./cache.ts";
import type { Gateway } from "./gateway.ts";
import { passUnguarded } from "./pass.ts";
import {
  type Mark,
  replayFields,
  replyExecuted,
  replyGiven,
  replyProblem,
  replyReplayed,
  type StatusLink,
} from "./reply.ts";

/** What a request came to, for its log line and the counters. Route and operation are ids, not the client's words. */
export type HandledRequest = { response: Response; mark: Mark | "passed"; route: string; operation: string };

/** `target` is the request's own, read once. `keepAlive` is the request's own `waitUntil`. */
export async function handle(
  request: Request,
  target: TargetReading,
  gateway: Gateway,
  keys: KeyPort,
  keepAlive: KeepAlive,
): Promise<HandledRequest> {
  const routed = gateway.match(request.method, target);
  if (routed.kind === "refused") return refuse(request, gateway, problem("target-refused"), "");
  if (routed.kind === "pass") return pass(request, gateway, routed.path + routed.search, null);
  const { policy, path, search } = routed;
  const principal = gateway.principalOf(policy);
  const admitted = await admit(request, { policy, principal, keyring: gateway.keyring, path, search });
  switch (admitted.kind) {
    case "refused":
      return refuse(request, gateway, admitted.problem, policy.id);
    case "unprotected":
      return pass(request, gateway, path + search, policy);
    case "guarded":
      return answer({ request, gateway, keys, keepAlive, policy, ticket: admitted.ticket });
  }
}

/** `policy`: of the route that would have guarded it; null: there is none. Bytes in a coding that would not be named any more mean nothing. */
async function pass(
  request: Request,
  gateway: Gateway,
  target: string,
  policy: RoutePolicy | null,
): Promise<HandledRequest> {
  const route = policy?.id ?? "";
  if (!isForwardableCoding(request.headers.get("transfer-encoding"))) {
    return refuse(request, gateway, problem("header-refused"), route);
  }
  const isMarked = policy !== null;
  const response = await passUnguarded(request, gateway, target, { isMarked });
  return { response, mark: isMarked ? "unprotected" : "passed", route, operation: "" };
}

async function refuse(
  request: Request,
  gateway: Gateway,
  refusal: Problem,
  route: string,
): Promise<HandledRequest> {
  await discard(request.body);
  return { response: replyProblem(refusal, gateway.prefix, null), mark: refusal.mark, route, operation: "" };
}

/** One request on its way through steps 4 to 9. */
type GuardedVisit = {
  request: Request;
  gateway: Gateway;
  keys: KeyPort;
  keepAlive: KeepAlive;
  policy: RoutePolicy;
  ticket: Ticket;
};

export type KeepAlive = (work: Promise<unknown>) => void;

/** Steps 4 and 9. A stored answer is given only after the route's own service has agreed, wherever it is stored. */
async function answer(visit: GuardedVisit): Promise<HandledRequest> {
  const { policy, ticket } = visit;
  const told = (response: Response, mark: Mark): HandledRequest => ({
    response,
    mark,
    route: policy.id,
    operation: ticket.operation,
  });
  const cached = recall(visit);
  const askedAt = Date.now();
  if (cached === null) return reply(visit, await submitOperation(visit), askedAt, told);
  if (!(await mayHaveAnswer(visit))) return reply(visit, await denyAnswer(visit), askedAt, told);
  observeLater(visit, "replayed");
  return told(replyReplayed(cached, cached.fields, Date.now()), "replayed");
}

type MakeHandled = (response: Response, mark: Mark) => HandledRequest;

/** Step 9. `askedAt`: when the key was asked, by this isolate's clock. */
function reply(
  visit: GuardedVisit,
  submitted: Submitted,
  askedAt: number,
  told: MakeHandled,
): HandledRequest {
  const { gateway, ticket } = visit;
  const link: StatusLink = { prefix: gateway.prefix, operation: ticket.operation };
  switch (submitted.kind) {
    case "executed":
      return told(replyExecuted(submitted.given, submitted, link), "executed");
    case "replayed": {
      const fields = replayFields(submitted.given, submitted, link);
      remember(visit, submitted, askedAt + submitted.leftMs, fields);
      return told(replyReplayed(submitted.given, fields, Date.now()), "replayed");
    }
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

async function submitOperation(visit: GuardedVisit): Promise<Submitted> {
  const { request, gateway, keys, policy, ticket } = visit;
  const operation = await makeOperation(request, policy, gateway.keyring, ticket);
  const first = await keys.submit(operation, policy);
  if (first.kind !== "authorize") return first;
  if (!(await mayHaveAnswer(visit))) return denyAnswer(visit);
  return keys.submit({ ...operation, authorized: true }, policy);
}

/** Where the route has refusals noted with the decision, this one is given only once it is. */
async function denyAnswer(visit: GuardedVisit): Promise<Submitted> {
  const { gateway, keys, policy, ticket } = visit;
  const mustNote = policy.audit === "durable" && gateway.observer !== null;
  if (!mustNote) observeLater(visit, "not-authorized");
  else if (!(await keys.observe(ticket.name, ["not-authorized"]))) {
    return { kind: "refused", problem: problem("store-unavailable", RETRY_STORE_S) };
  }
  return { kind: "authorize" };
}

/** What the key object can't know, because it was not asked. */
function observeLater({ gateway, keys, keepAlive, policy, ticket }: GuardedVisit, seen: Seen): void {
  if (policy.audit !== "eager" || gateway.observer === null) return;
  const work = gateway.observer.note(keys, ticket.name, seen, Date.now());
  if (work !== null) keepAlive(work);
}

async function mayHaveAnswer({ request, policy }: GuardedVisit): Promise<boolean> {
  return policy.authorize === null || isAuthorized(policy.authorize, request, policy.principal);
}

/** A settled answer from this isolate's memory, on routes that don't have each replay recorded with the decision. */
function recall({ gateway, policy, ticket }: GuardedVisit): CachedAnswer | null {
  return isCacheable(policy) ? gateway.cache.find(ticket.name, ticket.fp, Date.now()) : null;
}

function isCacheable(policy: RoutePolicy): boolean {
  return policy.audit !== "durable" && !policy.sealWithKey;
}

type Replayed = Extract<Submitted, { kind: "replayed" }>;

/**
 * Only what came back as a replay is kept: the first answer may hold fields and values that are not to be given twice,
 * and most keys are never asked for again. `until` is counted from before the key was asked: its clock may be another one, and its
 * answer may have been long on its way.
 */
function remember(visit: GuardedVisit, { given }: Replayed, until: number, fields: Pairs): void {
  const { gateway, policy, ticket } = visit;
  const { status, body } = given;
  if (!isCacheable(policy) || !(body instanceof Uint8Array)) return;
  gateway.cache.keep(ticket.name, ticket.fp, { status, fields, body, expiresAt: until });
}
