/** Operator tokens: `id.secret`, of which only the SHA-256 of the secret is configured. */
import { fromHex } from "../core/bytes.ts";
import type { OperatorToken } from "../core/policy.ts";
import { type Problem, problem } from "../core/problem.ts";

export type Role = OperatorToken["roles"][number];

export type Identified = { kind: "operator"; id: string } | { kind: "unauthorized" } | { kind: "forbidden" };

/** Compared with when no operator has the id, so that an unknown id costs what a wrong secret costs. */
const NOBODY: OperatorToken = { id: "", sha256: "0".repeat(64), roles: [] };

/** Who sends this `Authorization` field, and whether that operator has a role. */
async function identifyOperator(
  authorization: string | null,
  operators: readonly OperatorToken[],
  role: Role,
): Promise<Identified> {
  const [, id = "", secret = ""] =
    /^Bearer +([A-Za-z0-9_-]{1,64})\.([\x21-\x7e]{1,512})$/i.exec(authorization ?? "") ?? [];
  const operator = operators.find((candidate) => candidate.id === id) ?? NOBODY;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  const wanted = fromHex(operator.sha256) ?? new Uint8Array(32);
  const isRight = crypto.subtle.timingSafeEqual(digest, wanted);
  if (!isRight || operator === NOBODY) return { kind: "unauthorized" };
  return operator.roles.includes(role) ? { kind: "operator", id } : { kind: "forbidden" };
}

/** Who asks, or what is answered to somebody who may not. */
export async function admitOperator(
  request: Request,
  { operators }: { operators: readonly OperatorToken[] },
  role: Role,
): Promise<{ kind: "operator"; id: string } | { kind: "refused"; problem: Problem }> {
  if (operators.length === 0) return { kind: "refused", problem: problem("not-found") };
  const identified = await identifyOperator(request.headers.get("authorization"), operators, role);
  switch (identified.kind) {
    case "operator":
      return identified;
    case "unauthorized":
      return { kind: "refused", problem: problem("operator-unauthorized") };
    case "forbidden":
      return { kind: "refused", problem: problem("operator-forbidden") };
  }
}
