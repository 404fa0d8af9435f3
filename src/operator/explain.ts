/** `POST /operator/explain`: what would happen to a sample request. */
import { readSample } from "../core/operator/requests.ts";
import type { OperatorDesk } from "./desk.ts";
import { readJson, refuseField, replyJson } from "./json.ts";

export async function answerExplain(request: Request, desk: OperatorDesk): Promise<Response> {
  const json = await readJson(request, desk);
  if (json.kind === "refused") return desk.refuse(json.problem);
  const sample = readSample(json.value);
  if (sample.kind === "refused") return desk.refuse(refuseField(sample.field));
  const explained = await desk.explain(sample);
  return explained === null ? desk.refuse(refuseField("request")) : replyJson(explained);
}
