/** The route table: the gateway's own endpoints, then everything else, which is guarded traffic. One catch for defects. */
import { type IRequest, Router } from "itty-router";
import { type EndpointMethod, isTaken, refuseMethod } from "../core/http/method.ts";
import { readTarget, type TargetReading } from "../core/http/target.ts";
import type { KeyPort } from "../core/ports.ts";
import { problem } from "../core/problem.ts";
import { nameOf } from "../report.ts";
import { discard } from "./admission/body.ts";
import { answerPreflight, withCors } from "./cors.ts";
import { answerEffects } from "./effects.ts";
import { answerHealth, answerOperation, answerProblemPage } from "./endpoints.ts";
import type { Gateway } from "./gateway.ts";
import { handle, type KeepAlive } from "./handle.ts";
import { replyProblem } from "./reply.ts";

/** What is made anew for every request. `operator` serves the operators' endpoints; null: not one of them. */
export type Visit = {
  gateway: Gateway;
  keys: KeyPort;
  /** Goes on with work after the answer. */
  keepAlive: KeepAlive;
  isDatabaseUp: () => Promise<boolean>;
  operator: (request: Request) => Promise<Response | null>;
  /** Serves the ledger's endpoints. */
  ledger: (request: Request) => Promise<Response | null>;
};

export type Serve = (request: Request, visit: Visit) => Promise<Response>;

type Endpoint = {
  path: string;
  method: EndpointMethod;
  answer: (request: IRequest, visit: Visit) => Response | Promise<Response>;
};

const ENDPOINTS: readonly Endpoint[] = [
  {
    path: "/health",
    method: "GET",
    answer: (_request, { gateway, keys, isDatabaseUp }) => answerHealth(gateway, keys, isDatabaseUp),
  },
  {
    path: "/problems/:slug",
    method: "GET",
    answer: (request, { gateway }) =>
      answerProblemPage(asRequest(request), request.params.slug ?? "", gateway),
  },
  {
    path: "/operations/:id",
    method: "GET",
    answer: (request, { gateway, keys }) =>
      answerOperation(asRequest(request), request.params.id ?? "", gateway, keys),
  },
  {
    path: "/effects",
    method: "POST",
    answer: (request, { gateway, keys }) => answerEffects(asRequest(request), gateway, keys),
  },
];

/** Builds the table once for a prefix. */
export function makeRouter(prefix: string): Serve {
  const own = Router<IRequest, [Visit], Response>({ base: prefix });
  for (const { path, method, answer } of ENDPOINTS) {
    own.all(path, (request, visit) =>
      isTaken(request.method, method)
        ? answer(request, visit)
        : replyProblem(refuseMethod(method), prefix, null),
    );
  }
  own.all("*", async (request, { operator, ledger }) => {
    const asked = asRequest(request);
    return (
      (await ledger(asked)) ?? (await operator(asked)) ?? replyProblem(problem("not-found"), prefix, null)
    );
  });

  const answer = async (request: Request, visit: Visit): Promise<Response> => {
    const target = readTarget(request.url);
    if (!isOwn(target, prefix)) return serveTraffic(request, target, visit);
    const answered = (await own.fetch(request, visit)) ?? replyProblem(problem("not-found"), prefix, null);
    await discard(request.body);
    return answered;
  };

  return async (request, visit) => {
    const { gateway } = visit;
    const { corsOrigins } = gateway.config;
    try {
      const preflight = answerPreflight(request, corsOrigins);
      return preflight ?? withCors(await answer(request, visit), request, corsOrigins);
    } catch (error) {
      const incident = crypto.randomUUID();
      gateway.report("defect", { incident, error: nameOf(error) });
      const refusal = replyProblem(problem("internal", null, { incident }), prefix, null);
      return withCors(refusal, request, corsOrigins);
    }
  };
}

/** Requests that went as they should: `LOG_REQUESTS = "problems"` leaves them out. */
const QUIET_MARKS: ReadonlySet<string> = new Set([
  "executed",
  "replayed",
  "released",
  "unprotected",
  "passed",
]);

async function serveTraffic(
  request: Request,
  target: TargetReading,
  { gateway, keys, keepAlive }: Visit,
): Promise<Response> {
  const startedAt = Date.now();
  const handled = await handle(request, target, gateway, keys, keepAlive);
  gateway.counters.count(handled);
  const { mark, route, operation, response } = handled;
  if (gateway.config.logRequests === "all" || !QUIET_MARKS.has(mark)) {
    gateway.report("request", {
      status: response.status,
      mark,
      route,
      operation,
      ms: Date.now() - startedAt,
    });
  }
  return response;
}

/** The target has one reading, and its path starts with the prefix as a whole segment. Any other goes where it is refused. */
export function isOwn(target: TargetReading, prefix: string): boolean {
  if (target.kind === "refused") return false;
  const { path } = target;
  return path.startsWith(prefix) && /^([/?]|$)/.test(path.slice(prefix.length));
}

/** The router's request is the platform's own, with fields added. */
function asRequest(request: IRequest): Request {
  return request as unknown as Request;
}
