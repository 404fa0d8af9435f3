/**
 * What would happen to a sample request, by the same functions that real ones go through, up to the claim. Nothing is sent, claimed or
 * written. No value of a field, the key or the body is told, only names and digests.
 */

import { readMediaType } from "../../core/fingerprint/media-type.ts";
import { listCountedFields, nameBodyForm } from "../../core/fingerprint/message.ts";
import { readTarget } from "../../core/http/target.ts";
import { RETRY_STORE_S } from "../../core/limits.ts";
import type { Sample } from "../../core/operator/requests.ts";
import type { PrincipalRule, RoutePolicy } from "../../core/policy.ts";
import type { Inspection, KeyPort } from "../../core/ports.ts";
import { problem } from "../../core/problem.ts";
import { type Admission, admit, describeRequest, type Ticket } from "../admission/admit.ts";
import { ANONYMOUS, type PrincipalReader } from "../admission/principal.ts";
import type { Gateway } from "../gateway.ts";
import { isOwn } from "../router.ts";
import { forwards, refuses, type Would, wouldOf } from "./would.ts";

/** Members of the answer, in the order in which they are found out. Null: the sample can't be a request. */
export type Explanation = { readonly would: Would } & Record<string, unknown>;

const HOST = "https://nowhere.invalid";

export async function explainSample(
  sample: Sample,
  gateway: Gateway,
  keys: Pick<KeyPort, "inspect">,
): Promise<Explanation | null> {
  const request = requestOf(sample);
  if (request === null) return null;
  const reading = readTarget(`${HOST}${sample.target}`);
  if (isOwn(reading, gateway.prefix)) return { route: null, would: { does: "serve" } };
  const routed = gateway.match(sample.method, reading);
  if (routed.kind === "refused") return { route: null, would: refuses(problem("target-refused")) };
  const target = routed.path + routed.search;
  if (routed.kind === "pass") return { route: null, target, would: forwards(null) };
  const { policy, path, search } = routed;
  const principal = gateway.principalOf(policy);
  const told = { route: policy.id, target, scope: await describeScope(request, policy, principal) };
  const admission = { policy, principal, keyring: gateway.keyring, path, search };
  const admitted = await admit(request, admission);
  switch (admitted.kind) {
    case "refused":
      return { ...told, would: refuses(admitted.problem) };
    case "unprotected":
      return { ...told, would: forwards("unprotected") };
    case "guarded":
      return { ...told, ...(await explainTicket(request, admitted.ticket, admission, keys)) };
  }
}

async function explainTicket(
  request: Request,
  ticket: Ticket,
  admission: Admission,
  keys: Pick<KeyPort, "inspect">,
): Promise<Explanation> {
  const { policy } = admission;
  const fingerprint = await describeFingerprint(request, ticket, admission);
  const inspection = await keys.inspect(ticket.name, { route: policy.id, fp: ticket.fp });
  const told = { fingerprint, operation: ticket.operation, state: stateOf(inspection) };
  const asks = policy.authorize === null ? {} : { authorize: "asked first where an answer is stored" };
  const isProbed = policy.probe !== null && told.state === "unknown";
  return {
    ...told,
    ...asks,
    ...(isProbed ? { probe: "asked first: what it says may end the doubt" } : {}),
    would: wouldOf(inspection) ?? refuses(problem("store-unavailable", RETRY_STORE_S)),
  };
}

function stateOf(inspection: Inspection): string {
  return inspection.kind === "found" ? inspection.status.state : inspection.kind;
}

/** Null: no such request can be made. Its length is that of its body, whatever the sample's fields say. */
function requestOf({ method, target, headers, body }: Sample): Request | null {
  const framing = ["content-length", "transfer-encoding"];
  const fields = headers.filter(([name]) => !framing.includes(name.toLowerCase()));
  const content = body.byteLength === 0 ? {} : { body };
  try {
    return new Request(new URL(target, HOST), {
      method,
      headers: fields.map(([name, value]) => [name, value]),
      ...content,
    });
  } catch {
    return null;
  }
}

/** `known`: whose key it is can be told. What it is told by is named, and whether it is there. */
async function describeScope(
  request: Request,
  policy: RoutePolicy,
  principal: PrincipalReader,
): Promise<Record<string, unknown>> {
  const { headers } = request;
  const read = await principal(request);
  const isKnown = read.kind === "known";
  const isAnonymous = isKnown && read.parts[0] === ANONYMOUS;
  const parts = listParts(policy.principal, (name) => headers.has(name), isKnown && !isAnonymous);
  const { anonymous, keyHeader, key } = policy;
  return {
    route: policy.id,
    principal: { from: policy.principal.from, parts, known: isKnown, anonymous },
    key: { name: keyHeader, found: headers.has(keyHeader), needed: key },
  };
}

function listParts(
  rule: PrincipalRule,
  hasField: (name: string) => boolean,
  isRead: boolean,
): readonly { name: string; found: boolean }[] {
  switch (rule.from) {
    case "credential":
      return rule.headers.map((name) => ({ name, found: hasField(name) }));
    case "header":
      return [{ name: rule.name, found: hasField(rule.name) }];
    case "cookie":
      return [{ name: rule.name, found: isRead }];
    case "jwt":
      return rule.claims.map((name) => ({ name, found: isRead }));
    case "mtls":
      return [{ name: "fingerprint", found: isRead }];
    case "none":
      return [];
  }
}

async function describeFingerprint(
  request: Request,
  ticket: Ticket,
  admission: Admission,
): Promise<Record<string, unknown>> {
  const input = await describeRequest(request, admission, ticket.body);
  const { method, path, contentType, field, rule, body } = input;
  const media = contentType === null ? null : readMediaType(contentType);
  return {
    method,
    path,
    query: input.search !== "",
    media_type: media?.type ?? (contentType === null ? null : "unreadable"),
    headers: listCountedFields(input).map((name) => ({ name, found: field(name) !== null })),
    body: nameBodyForm(input),
    body_rule: rule.body,
    body_bytes: body.byteLength,
    ignore: rule.ignore,
    digest: ticket.fp,
  };
}
