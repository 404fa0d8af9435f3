/** Steps 1 to 3: everything that is decided before the key is touched. The order is the order of the problem table. */

import { fingerprintMessage } from "../../core/fingerprint/message.ts";
import { pairsForOrigin } from "../../core/http/headers.ts";
import { readKey } from "../../core/http/key.ts";
import type { FingerprintRule, RoutePolicy } from "../../core/policy.ts";
import type { Keyring, Operation } from "../../core/ports.ts";
import { type Problem, problem } from "../../core/problem.ts";
import { nameMessage } from "../../core/scope.ts";
import { decodeForFingerprint, readRequestBody } from "./body.ts";
import { readWait } from "./prefer.ts";
import type { PrincipalReader } from "./principal.ts";

export type Admitted =
  | { kind: "guarded"; operation: Unclaimed; principal: readonly string[] }
  /** No key, and the route does not insist: forwarded as it is, without a promise. */
  | { kind: "unprotected" }
  | { kind: "refused"; problem: Problem };

/** An operation before anybody claims it: a stored answer may be at hand, and then nobody has to be named. */
export type Unclaimed = Omit<Operation, "owner">;

export type Admission = {
  policy: RoutePolicy;
  principal: PrincipalReader;
  keyring: Keyring;
  path: string;
  search: string;
};

export async function admit(request: Request, admission: Admission): Promise<Admitted> {
  const { policy, keyring, path, search } = admission;
  const read = readKey(request.headers.get(policy.keyHeader), policy.keyLength);
  if (read.kind === "invalid") return refuse(problem("key-invalid"));
  if (read.kind === "missing") {
    return policy.key === "required" ? refuse(problem("key-missing")) : { kind: "unprotected" };
  }
  const principal = await admission.principal(request);
  if (principal.kind === "missing") return refuse(problem("principal-missing"));
  const headers = pairsForOrigin([...request.headers], policy.keyHeader, reliedOn(policy));
  if (headers.kind === "refused") return refuse(problem("header-refused"));
  const body = await readRequestBody(request, policy.requestBytesMax);
  if (body.kind === "too-large") return refuse(problem("request-too-large"));
  if (body.kind === "incomplete") return refuse(problem("request-incomplete"));

  const content = await decodeForFingerprint(
    body.bytes,
    request.headers.get("content-encoding"),
    policy.requestBytesMax,
  );
  const message = fingerprintMessage({
    method: request.method,
    path,
    search,
    contentType: request.headers.get("content-type"),
    headers: headers.pairs,
    rule: content.kind === "decoded" ? policy.fingerprint : withEncoding(policy.fingerprint),
    body: content.bytes,
  });
  const name = await keyring.name(nameMessage(policy.id, principal.parts, read.key));
  const operation: Unclaimed = {
    name,
    route: policy.id,
    fp: await keyring.fingerprint(message),
    nonce: crypto.randomUUID(),
    authorized: policy.authorize === null,
    waitMs: Math.min(readWait(request.headers.get("prefer")), policy.waitMsMax),
    rawKey: policy.sealWithKey ? read.key : "",
    request: {
      method: request.method,
      target: path + search,
      headers: await withOriginKey(headers.pairs, policy, keyring, name, read.key),
      body: async () => body.bytes,
    },
  };
  return { kind: "guarded", operation, principal: principal.parts };
}

/** Bytes that could not be decoded say what they mean only together with their coding. */
function withEncoding(rule: FingerprintRule): FingerprintRule {
  return { ...rule, headers: [...rule.headers, "content-encoding"] };
}

/** Fields the gateway itself has read meaning from: a connection option that has them removed on the way is refused. */
function reliedOn(policy: RoutePolicy): readonly string[] {
  const { principal, fingerprint } = policy;
  const named =
    principal.from === "credential" ? principal.headers : principal.from === "header" ? [principal.name] : [];
  return [...named, ...fingerprint.headers];
}

async function withOriginKey(
  pairs: Operation["request"]["headers"],
  policy: RoutePolicy,
  keyring: Keyring,
  name: string,
  key: string,
): Promise<Operation["request"]["headers"]> {
  const { originKey } = policy;
  if (originKey.send === "none") return pairs;
  const value = originKey.send === "raw" ? key : await keyring.originKey(name);
  const rest = pairs.filter(([field]) => field.toLowerCase() !== originKey.header.toLowerCase());
  return [...rest, [originKey.header, value]];
}

function refuse(refusal: Problem): Admitted {
  return { kind: "refused", problem: refusal };
}
