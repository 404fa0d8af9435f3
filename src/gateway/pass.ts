/** A request without a promise: sent on as it came, streamed both ways. */
import { GATEWAY_FIELDS, isStillCoded, listNominated } from "../core/http/headers.ts";
import { isReplayable } from "../core/http/outcome.ts";
import { problem } from "../core/problem.ts";
import type { Gateway } from "./gateway.ts";
import { replyProblem, replyUnprotected } from "./reply.ts";

/**
 * `isMarked`: a route would have guarded the request, had it brought a key; its answer says so. What no route matches keeps the
 * origin's answer untouched.
 */
export async function passUnguarded(
  request: Request,
  gateway: Gateway,
  target: string,
  { isMarked }: { isMarked: boolean },
): Promise<Response> {
  const forwarded = new Request(gateway.originUrl(target), request);
  // What only the gateway may say to an origin proves nothing coming from a client.
  for (const name of GATEWAY_FIELDS) {
    if (forwarded.headers.has(name)) forwarded.headers.delete(name);
  }
  for (const name of fieldsOfThisHop(forwarded.headers)) forwarded.headers.delete(name);
  let response: Response;
  try {
    response = await gateway.send(forwarded, { redirect: "manual" });
  } catch {
    return replyProblem(problem("origin-unreachable"), gateway.prefix, null);
  }
  // The runtime makes no response of such a status; only one that is passed on untouched can have it.
  const isGivable = isReplayable(response.status);
  const isChanged = isMarked || gateway.config.corsOrigins.length > 0;
  // Without a body the field only says what one would be in (RFC 9112 section 6.1).
  const isIllegible = response.body !== null && isStillCoded(response.headers.get("transfer-encoding"));
  if ((!isGivable && isChanged) || isIllegible) {
    await response.body?.cancel();
    return replyProblem(problem("origin-unreachable"), gateway.prefix, null);
  }
  const passed = isGivable ? withoutNominated(response) : response;
  return isMarked ? replyUnprotected(passed) : passed;
}

/** The answer itself where its `Connection` names no field that it has. */
function withoutNominated(response: Response): Response {
  const nominated = nominatedIn(response.headers).filter((name) => response.headers.has(name));
  if (nominated.length === 0) return response;
  const passed = new Response(response.body, response);
  for (const name of nominated) passed.headers.delete(name);
  return passed;
}

/** What is meant for this gateway only: `Expect`, `Proxy-*`, and fields that `Connection` names (RFC 9110 section 7.6.1). */
function fieldsOfThisHop(headers: Headers): readonly string[] {
  const proxies = [...headers.keys()].filter((name) => name.startsWith("proxy-"));
  return [...nominatedIn(headers), ...proxies, "expect"];
}

/** An upgrade is between client and origin; the runtime takes care of it. */
function nominatedIn(headers: Headers): readonly string[] {
  return listNominated(headers.get("connection")).filter(
    (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !/^(upgrade|keep-alive|close)$/.test(name),
  );
}
