/** `POST /operator/operations/{id}/resolve`: an operator says what became of an effect. */
import { RETRY_STORE_S } from "../core/limits.ts";
import { groundsOf, readResolution } from "../core/operator/requests.ts";
import type { Resolving } from "../core/ports.ts";
import { problem } from "../core/problem.ts";
import type { OperatorDesk } from "./desk.ts";
import { readJson, refuseField, replyJson } from "./json.ts";

/** The id is checked before any object is asked: one that somebody made up touches none. */
export async function answerResolve(
  request: Request,
  desk: OperatorDesk,
  operator: string,
  id: string,
): Promise<Response> {
  const json = await readJson(request, desk);
  if (json.kind === "refused") return desk.refuse(json.problem);
  const read = readResolution(json.value);
  if (read.kind === "refused") return desk.refuse(refuseField(read.field));
  const name = await desk.readId(id);
  if (name === null) return desk.refuse(problem("not-found"));
  const { effect, outcome, reason, evidence } = read;
  const grounds = await groundsOf(reason, evidence);
  const { operatorsRequired } = desk;
  const resolving = await desk.keys.resolve(name, { effect, operator, operatorsRequired, grounds, outcome });
  return answerResolving(resolving, { id, effect_id: effect, outcome: outcome.kind }, desk);
}

function answerResolving(
  resolving: Resolving,
  told: Readonly<Record<string, string>>,
  desk: OperatorDesk,
): Response {
  switch (resolving.kind) {
    case "proposed":
      return replyJson({ status: "proposed", ...told, missing: resolving.missing }, 202);
    case "resolved":
      return replyJson({ status: "resolved", ...told, state: resolving.state });
    case "stale":
      return desk.refuse(problem("effect-not-open"));
    case "none":
      return desk.refuse(problem("not-found"));
    case "unavailable":
      return desk.refuse(problem("resolution-unavailable", RETRY_STORE_S));
  }
}
