/** A request without a promise: sent on as it came, streamed both ways. */
import { GATEWAY_FIELDS } from "../core/http/headers.ts";
import { problem } from "../core/problem.ts";
import type { Gateway } from "./gateway.ts";
import { replyProblem, replyUnprotected } from "./reply.ts";

/**
 * `keyHeader` is given for a request that a route would have guarded, had it brought a key: its answer is marked, so that a client
 * sees that it has no protection. What no route matches keeps the origin's answer untouched.
 */
export async function passUnguarded(
  request: Request,
  gateway: Gateway,
  target: string,
  keyHeader: string | null,
): Promise<Response> {
  const forwarded = new Request(gateway.originUrl(target), request);
  // What only the gateway may say to an origin proves nothing coming from a client.
  for (const name of GATEWAY_FIELDS) {
    if (forwarded.headers.has(name)) forwarded.headers.delete(name);
  }
  let response: Response;
  try {
    response = await gateway.send(forwarded, { redirect: "manual" });
  } catch {
    return replyProblem(problem("origin-unreachable"), gateway.prefix, null);
  }
  return keyHeader === null ? response : replyUnprotected(response);
}
