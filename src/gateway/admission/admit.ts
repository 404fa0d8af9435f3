/** Steps 1 to 3: everything that is decided before the key is touched. The order is the order of the problem table. */
import { fingerprintMessage } from "../../core/fingerprint/message.ts";
import { readKey } from "../../core/http/key.ts";
import type { FingerprintRule, RoutePolicy } from "../../core/policy.ts";
import type { Keyring } from "../../core/ports.ts";
import { type Problem, problem } from "../../core/problem.ts";
import { nameMessage } from "../../core/scope.ts";
import { decodeForFingerprint, readRequestBody } from "./body.ts";
import type { PrincipalReader } from "./principal.ts";

export type Admitted =
  | { kind: "guarded"; ticket: Ticket }
  /** No key, and the route does not insist: forwarded as it is, without a promise. */
  | { kind: "unprotected" }
  | { kind: "refused"; problem: Problem };

/** What is known of a guarded request before anybody claims its key. */
export type Ticket = {
  /** Of the key object, and of the operation. */
  name: string;
  fp: string;
  key: string;
  principal: readonly string[];
  target: string;
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
  const body = await readRequestBody(request, policy.requestBytesMax);
  if (body.kind === "too-large") return refuse(problem("request-too-large"));
  if (body.kind === "incomplete") return refuse(problem("request-incomplete"));

  const { key } = read;
  const name = await keyring.name(nameMessage(policy.id, principal.parts, key));
  const fp = await keyring.fingerprint(await describeRequest(request, admission, body.bytes));
  const ticket = { name, fp, key, principal: principal.parts, target: path + search, body: body.bytes };
  return { kind: "guarded", ticket };
}

async function describeRequest(
  request: Request,
  admission: Admission,
  body: Uint8Array,
): Promise<Uint8Array> {
  const { policy, path, search } = admission;
  const { method, headers } = request;
  const encoding = headers.get("content-encoding");
  const content =
    encoding === null
      ? ({ kind: "decoded", bytes: body } as const)
      : await decodeForFingerprint(body, encoding, policy.requestBytesMax);
  return fingerprintMessage({
    method,
    path,
    search,
    contentType: headers.get("content-type"),
    field: (name) => headers.get(name),
    rule: content.kind === "decoded" ? policy.fingerprint : withEncoding(policy.fingerprint),
    body: content.bytes,
  });
}

/** Bytes that could not be decoded say what they mean only together with their coding. */
function withEncoding(rule: FingerprintRule): FingerprintRule {
  return { ...rule, headers: [...rule.headers, "content-encoding"] };
}

function refuse(refusal: Problem): Admitted {
  return { kind: "refused", problem: refusal };
}
