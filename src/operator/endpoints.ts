/** The operators' endpoints. Without configured operator tokens none of them exists. */
import type { OperatorToken } from "../core/policy.ts";
import { type Problem, problem } from "../core/problem.ts";
import { type Metrics, writeMetrics } from "./metrics.ts";
import { answerOverview, answerRun, type ReconciliationDesk } from "./reconciliation.ts";
import { identifyOperator, type Role } from "./tokens.ts";

export type OperatorDesk = {
  operators: readonly OperatorToken[];
  prefix: string;
  readMetrics: () => Metrics;
  refuse: (problem: Problem) => Response;
  reconciliation: ReconciliationDesk;
};

/** Null: not an operator's endpoint. */
export async function answerOperator(request: Request, desk: OperatorDesk): Promise<Response | null> {
  const path = new URL(request.url).pathname.slice(desk.prefix.length);
  if (path === "/operator/reconciliation" || path === "/operator/reconciliation/run")
    return answerReconciliation(request, desk, path.endsWith("/run") ? "run" : "read");
  if (path !== "/metrics" || desk.operators.length === 0) return null;
  if (request.method !== "GET") return desk.refuse(problem("method-not-allowed"));
  const refused = await refuseStranger(request, desk, "read");
  if (refused !== null) return refused;
  return new Response(writeMetrics(desk.readMetrics()), {
    headers: {
      "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "Cache-Control": "no-store",
    },
  });
}

async function answerReconciliation(
  request: Request,
  desk: OperatorDesk,
  what: "read" | "run",
): Promise<Response> {
  const { operators, refuse, reconciliation } = desk;
  if (request.method !== (what === "run" ? "POST" : "GET")) return refuse(problem("method-not-allowed"));
  const role = what === "run" ? "resolve" : "read";
  const refused = await refuseStranger(request, desk, role);
  if (refused !== null) return refused;
  if (what === "read") return answerOverview(reconciliation);
  const identified = await identifyOperator(request.headers.get("authorization"), operators, role);
  return answerRun(reconciliation, identified.kind === "operator" ? identified.id : "");
}

/** Null: the request comes from an operator who has the role. Without configured operators nothing is there. */
export async function refuseStranger(
  request: Request,
  { operators, refuse }: Pick<OperatorDesk, "operators" | "refuse">,
  role: Role,
): Promise<Response | null> {
  if (operators.length === 0) return refuse(problem("not-found"));
  const identified = await identifyOperator(request.headers.get("authorization"), operators, role);
  if (identified.kind === "unauthorized") return refuse(problem("operator-unauthorized"));
  return identified.kind === "forbidden" ? refuse(problem("operator-forbidden")) : null;
}
