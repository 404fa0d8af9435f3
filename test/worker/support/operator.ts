/** Operators' requests, and the operations they are about. */
import type { Env } from "../../../src/env.ts";
import { bindWith, makeKey, makeRequest, operationOf, post, send } from "./gateway.ts";
import { keyObject, readRecord } from "./object.ts";
import { answerCreated, mockOrigin, type Origin } from "./origin.ts";

export type Who = "op1" | "op2" | "reader";

export function tokenOf(who: Who): { Authorization: string } {
  return { Authorization: `Bearer ${who}.secret-of-${who}` };
}

/** A POST below `/operator`. A text is sent as it is. */
export function ask(path: string, body: unknown, who: Who = "op1", bindings?: Env): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = makeRequest(`/_oncegate/operator${path}`, {
    method: "POST",
    headers: tokenOf(who),
    body: text,
  });
  return send(request, bindings ?? bindWith({}));
}

export type Open = { route: string; key: string; id: string; effect: string };

/** An operation whose origin did nobody knows what. What comes after that is answered 201. */
export async function makeUnknown(route = "pay", key = makeKey()): Promise<Open & { origin: Origin }> {
  const origin = mockOrigin((arrival, number) => {
    return number === 1 ? new Response("bad gateway", { status: 502 }) : answerCreated(arrival, number);
  });
  const response = await post(`/${route}`, key);
  await response.text();
  const id = operationOf(response);
  const { effect, state } = await readRecord(keyObject(id));
  if (state !== "unknown") throw new Error(state);
  return { route, key, id, effect, origin };
}

export const GROUNDS = { reason: "checked", evidence: "ticket-1" };

/** One operator's word on the effect of an open operation. */
export function resolve(
  { id, effect }: Pick<Open, "id" | "effect">,
  who: Who,
  said: object,
): Promise<Response> {
  return ask(`/operations/${id}/resolve`, { effect_id: effect, ...GROUNDS, ...said }, who);
}
