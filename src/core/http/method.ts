/** Methods of the gateway's own endpoints. */
import { type Problem, problem } from "../problem.ts";

export type EndpointMethod = "GET" | "POST";

/** Where there is a GET there is a HEAD (RFC 9110 section 9.1): the server that sends the answer leaves its body out. */
const TAKEN: Readonly<Record<EndpointMethod, readonly string[]>> = { GET: ["GET", "HEAD"], POST: ["POST"] };

export function isTaken(method: string, endpoint: EndpointMethod): boolean {
  return TAKEN[endpoint].includes(method);
}

/** A 405 has to name the methods that would be taken (RFC 9110 section 15.5.6). */
export function refuseMethod(endpoint: EndpointMethod): Problem {
  return problem("method-not-allowed", null, { allow: TAKEN[endpoint] });
}
