/** The operators' endpoints. Without configured operator tokens none of them exists. */
import type { OperatorToken } from "../core/policy.ts";
import { type Problem, problem } from "../core/problem.ts";
import { type Metrics, writeMetrics } from "./metrics.ts";
import { identifyOperator } from "./tokens.ts";

export type OperatorDesk = {
  operators: readonly OperatorToken[];
  prefix: string;
  readMetrics: () => Metrics;
  refuse: (problem: Problem) => Response;
};

/** Null: not an operator's endpoint. */
export async function answerOperator(request: Request, desk: OperatorDesk): Promise<Response | null> {
  const path = new URL(request.url).pathname.slice(desk.prefix.length);
  if (path !== "/metrics" || desk.operators.length === 0) return null;
  if (request.method !== "GET") return desk.refuse(problem("method-not-allowed"));
  const identified = await identifyOperator(request.headers.get("authorization"), desk.operators, "read");
  if (identified.kind === "unauthorized") return desk.refuse(problem("operator-unauthorized"));
  if (identified.kind === "forbidden") return desk.refuse(problem("operator-forbidden"));
  return new Response(writeMetrics(desk.readMetrics()), {
    headers: {
      "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "Cache-Control": "no-store",
    },
  });
}
