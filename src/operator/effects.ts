/** `GET /operator/effects`: what became of what was done outside the store. */
import { problem } from "../core/problem.ts";
import type { OperatorDesk } from "./desk.ts";
import { refuseSinks, replyJson } from "./json.ts";

export async function answerEffectsPage(request: Request, desk: OperatorDesk): Promise<Response> {
  if (desk.listEffects === null) return desk.refuse(refuseSinks(desk.sinks));
  let page: Record<string, unknown> | null;
  try {
    page = await desk.listEffects(new URL(request.url));
  } catch {
    return desk.refuse(problem("ledger-unavailable"));
  }
  return page === null ? desk.refuse(problem("query-invalid")) : replyJson(page);
}
