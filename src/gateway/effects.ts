/** `POST /effects`: an origin reports effects of its attempt, as one JSON object or as lines of them. */
import { type BadEntry, readReport } from "../core/effect/read-report.ts";
import { REPORT_BYTES_MAX, RETRY_STORE_S } from "../core/limits.ts";
import type { KeyPort, Telling } from "../core/ports.ts";
import { type Problem, problem } from "../core/problem.ts";
import { readRequestBody } from "./admission/body.ts";
import type { Gateway } from "./gateway.ts";
import { replyProblem } from "./reply.ts";

export async function answerEffects(request: Request, gateway: Gateway, keys: KeyPort): Promise<Response> {
  const refuse = (refusal: Problem): Response => replyProblem(refusal, gateway.prefix, null);
  const attempt = await gateway.keyring.readEffectToken(tokenOf(request.headers), Date.now());
  if (attempt === null) return refuse(problem("effect-token-refused"));
  const read = await readRequestBody(request, REPORT_BYTES_MAX);
  if (read.kind === "too-large") return refuse(problem("effects-too-large"));
  if (read.kind === "incomplete") return refuse(problem("request-incomplete"));
  const report = readReport(read.bytes);
  if (report.kind === "refused") return refuse(refuseEntry(report));
  return answerTelling(await keys.tell(attempt, report.entries), refuse);
}

/** `Authorization: Bearer`, or the field that the token came in. */
function tokenOf(headers: Headers): string {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer ?? headers.get("effect-token") ?? "";
}

function answerTelling(telling: Telling, refuse: (refusal: Problem) => Response): Response {
  switch (telling.kind) {
    case "taken": {
      const { recorded, repeated, flagged } = telling;
      return Response.json({ recorded, repeated, flagged }, { headers: { "Cache-Control": "no-store" } });
    }
    case "refused":
      return refuse(refuseEntry(telling));
    case "stranger":
      return refuse(problem("effect-token-refused"));
    case "unavailable":
      return refuse(problem("effects-unavailable", RETRY_STORE_S));
  }
}

function refuseEntry({ index, field }: BadEntry): Problem {
  return problem("effects-refused", null, { index, field });
}
