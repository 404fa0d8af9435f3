/** Steps 1 to 3: everything that is decided before the key is touched. The order is the order of the problem table. */
import { type FingerprintInput, fingerprintMessage } from "../../core/fingerprint/message.ts";
import { type Pairs, pairsForOrigin } from "../../core/http/headers.ts";
import { readKey } from "../../core/http/key.ts";
import { nameMessage } from "../../core/http/scope.ts";
import { RETRY_STORE_S } from "../../core/limits.ts";
import { type FingerprintRule, principalHeaders, type RoutePolicy } from "../../core/policy.ts";
import type { Keyring } from "../../core/ports.ts";
import { type Problem, problem } from "../../core/problem.ts";
import { writeOperationId } from "../operation-id.ts";
import { decodeForFingerprint, readRequestBody } from "./body.ts";
import type { PrincipalReader } from "./principal.ts";

export type Admitted =
  | { kind: "guarded"; ticket: Ticket }
  /** No key, and the route does not insist: forwarded as it is, without a promise. */
  | { kind: "unprotected" }
  | { kind: "refused"; problem: Problem };

/** What is known of a guarded request before anybody claims its key. */
export type Ticket = {
  /** Of the key object. */
  name: string;
  /** The public id. */
  operation: string;
  fp: string;
  key: string;
  principal: readonly string[];
  target: string;
  /** What goes on to the origin. */
  headers: Pairs;
  body: Uint8Array;
};

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
  if (principal.kind === "unavailable") return refuse(problem("store-unavailable", RETRY_STORE_S));
  const headers = pairsForOrigin([...request.headers], policy.keyHeader, reliedOn(policy));
  if (headers.kind === "refused") return refuse(problem("header-refused"));
  const body = await readRequestBody(request, policy.requestBytesMax);
  if (body.kind === "too-large") return refuse(problem("request-too-large"));
  if (body.kind === "incomplete") return refuse(problem("request-incomplete"));

  const { key } = read;
  const name = await keyring.name(nameMessage(policy.id, principal.parts, key));
  const described = await describeRequest(request, admission, body.bytes);
  const fp = await keyring.fingerprint(fingerprintMessage(described));
  const operation = await writeOperationId(name, keyring);
  const sent = { target: path + search, headers: headers.pairs, body: body.bytes };
  return { kind: "guarded", ticket: { name, operation, fp, key, principal: principal.parts, ...sent } };
}

/** What the fingerprint is made of. */
export async function describeRequest(
  request: Request,
  admission: Pick<Admission, "policy" | "path" | "search">,
  body: Uint8Array,
): Promise<FingerprintInput> {
  const { policy, path, search } = admission;
  const { method, headers } = request;
  const content = await decodeForFingerprint(body, headers.get("content-encoding"), policy.requestBytesMax);
  return {
    method,
    path,
    search,
    contentType: headers.get("content-type"),
    field: (name) => headers.get(name),
    rule: content.kind === "decoded" ? policy.fingerprint : withEncoding(policy.fingerprint),
    body: content.bytes,
  };
}

/** Fields the gateway itself has read meaning from: a connection option that has them removed on the way is refused. */
function reliedOn({ principal, fingerprint }: RoutePolicy): readonly string[] {
  return [...principalHeaders(principal), ...fingerprint.headers];
}

/** Bytes that could not be decoded say what they mean only together with their coding. */
function withEncoding(rule: FingerprintRule): FingerprintRule {
  return { ...rule, headers: [...rule.headers, "content-encoding"] };
}

function refuse(refusal: Problem): Admitted {
  return { kind: "refused", problem: refusal };
}
