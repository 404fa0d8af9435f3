/** Step 4's message: what a key object has to know of a request that no stored answer was at hand for. */
import { type Pairs, pairsForOrigin } from "../../core/http/headers.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { Keyring, Operation } from "../../core/ports.ts";
import { type Problem, problem } from "../../core/problem.ts";
import { ownerMessage } from "../../core/scope.ts";
import type { Ticket } from "./admit.ts";
import { readWait } from "./prefer.ts";

export type Made = { kind: "operation"; operation: Operation } | { kind: "refused"; problem: Problem };

export async function makeOperation(
  request: Request,
  policy: RoutePolicy,
  keyring: Keyring,
  ticket: Ticket,
): Promise<Made> {
  const headers = pairsForOrigin([...request.headers], policy.keyHeader, reliedOn(policy));
  if (headers.kind === "refused") return { kind: "refused", problem: problem("header-refused") };
  const { name, fp, key, principal, target, body } = ticket;
  const operation: Operation = {
    name,
    route: policy.id,
    fp,
    owner: await keyring.owner(ownerMessage(policy.id, principal)),
    nonce: crypto.randomUUID(),
    authorized: policy.authorize === null,
    waitMs: Math.min(readWait(request.headers.get("prefer")), policy.waitMsMax),
    rawKey: policy.sealWithKey ? key : "",
    request: {
      method: request.method,
      target,
      headers: await withOriginKey(headers.pairs, policy, keyring, ticket),
      body: async () => body,
    },
  };
  return { kind: "operation", operation };
}

/** Fields the gateway itself has read meaning from: a connection option that has them removed on the way is refused. */
function reliedOn(policy: RoutePolicy): readonly string[] {
  const { principal, fingerprint } = policy;
  const named =
    principal.from === "credential" ? principal.headers : principal.from === "header" ? [principal.name] : [];
  return [...named, ...fingerprint.headers];
}

async function withOriginKey(
  pairs: Pairs,
  policy: RoutePolicy,
  keyring: Keyring,
  ticket: Ticket,
): Promise<Pairs> {
  const { originKey } = policy;
  if (originKey.send === "none") return pairs;
  const value = originKey.send === "raw" ? ticket.key : await keyring.originKey(ticket.name);
  const rest = pairs.filter(([field]) => field.toLowerCase() !== originKey.header.toLowerCase());
  return [...rest, [originKey.header, value]];
}
