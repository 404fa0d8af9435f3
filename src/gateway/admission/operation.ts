/** Step 4's message: what a key object has to know of a request that no stored answer was at hand for. */
import type { Pairs } from "../../core/http/headers.ts";
import { ownerMessage } from "../../core/http/scope.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { Keyring, Operation } from "../../core/ports.ts";
import type { Ticket } from "./admit.ts";
import { readWait } from "./prefer.ts";

export async function makeOperation(
  request: Request,
  policy: RoutePolicy,
  keyring: Keyring,
  ticket: Ticket,
): Promise<Operation> {
  const { name, fp, key, principal, target, body } = ticket;
  return {
    name,
    route: policy.id,
    fp,
    owner: await keyring.owner(ownerMessage(policy.id, principal)),
    nonce: crypto.randomUUID(),
    authorized: policy.authorize === null,
    waitMs: Math.min(readWait(request.headers.get("prefer")), policy.waitMsMax),
    rawKey: key,
    request: {
      method: request.method,
      target,
      headers: await withOriginKey(ticket, policy, keyring),
      body: async () => body,
    },
  };
}

async function withOriginKey(ticket: Ticket, policy: RoutePolicy, keyring: Keyring): Promise<Pairs> {
  const { originKey } = policy;
  if (originKey.send === "none") return ticket.headers;
  const value = originKey.send === "raw" ? ticket.key : await keyring.originKey(ticket.name);
  const rest = ticket.headers.filter(([field]) => field.toLowerCase() !== originKey.header.toLowerCase());
  return [...rest, [originKey.header, value]];
}
