/** The operators' endpoints. Without configured operator tokens none of them exists. */
import { type EndpointMethod, isTaken, refuseMethod } from "../core/http/method.ts";
import type { OperatorDesk } from "./desk.ts";
import { answerEffectsPage } from "./effects.ts";
import { answerExplain } from "./explain.ts";
import { answerFind } from "./find.ts";
import { answerMetrics } from "./metrics.ts";
import { answerOpenKeys } from "./open-keys.ts";
import { answerOverview, answerRun } from "./reconciliation.ts";
import { answerResolve } from "./resolve.ts";
import { admitOperator, type Role } from "./tokens.ts";
import { answerVersions } from "./versions.ts";

/** What an endpoint is for, and who may use it. `operator` is who asks; `part` is what stands in the path where that has a variable part. */
type Endpoint = {
  path: RegExp;
  method: EndpointMethod;
  role: Role;
  answer: (request: Request, desk: OperatorDesk, asked: Caller) => Response | Promise<Response>;
};

type Caller = { operator: string; part: string };

const ENDPOINTS: readonly Endpoint[] = [
  {
    path: /^\/metrics$/,
    method: "GET",
    role: "read",
    answer: (_request, desk) => answerMetrics(desk.readMetrics()),
  },
  {
    path: /^\/operator\/versions$/,
    method: "GET",
    role: "read",
    answer: (_request, desk) => answerVersions(desk.versions),
  },
  { path: /^\/operator\/keys\/find$/, method: "POST", role: "read", answer: answerFind },
  { path: /^\/operator\/keys$/, method: "GET", role: "read", answer: answerOpenKeys },
  { path: /^\/operator\/effects$/, method: "GET", role: "read", answer: answerEffectsPage },
  { path: /^\/operator\/explain$/, method: "POST", role: "read", answer: answerExplain },
  {
    path: /^\/operator\/reconciliation$/,
    method: "GET",
    role: "read",
    answer: (_request, desk) => answerOverview(desk.reconciliation),
  },
  {
    path: /^\/operator\/reconciliation\/run$/,
    method: "POST",
    role: "resolve",
    answer: (_request, desk, { operator }) => answerRun(desk.reconciliation, operator),
  },
  {
    path: /^\/operator\/operations\/([^/]+)\/resolve$/,
    method: "POST",
    role: "resolve",
    answer: (request, desk, { operator, part }) => answerResolve(request, desk, operator, part),
  },
];

/** Null: not an operator's endpoint. */
export async function answerOperator(request: Request, desk: OperatorDesk): Promise<Response | null> {
  if (desk.operators.length === 0) return null;
  const path = new URL(request.url).pathname.slice(desk.prefix.length);
  for (const endpoint of ENDPOINTS) {
    const matched = endpoint.path.exec(path);
    if (matched !== null) return answerAt(endpoint, request, desk, matched[1] ?? "");
  }
  return null;
}

async function answerAt(
  { method, role, answer }: Endpoint,
  request: Request,
  desk: OperatorDesk,
  part: string,
): Promise<Response> {
  if (!isTaken(request.method, method)) return desk.refuse(refuseMethod(method));
  const admitted = await admitOperator(request, desk, role);
  if (admitted.kind === "refused") return desk.refuse(admitted.problem);
  return answer(request, desk, { operator: admitted.id, part });
}

/** Null: the request comes from an operator who has the role. Without configured operators nothing is there. */
export async function refuseStranger(
  request: Request,
  desk: Pick<OperatorDesk, "operators" | "refuse">,
  role: Role,
): Promise<Response | null> {
  const admitted = await admitOperator(request, desk, role);
  return admitted.kind === "operator" ? null : desk.refuse(admitted.problem);
}
