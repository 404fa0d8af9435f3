/** The copy of an answer that a route keeps: which of its fields, with which values left out, and how much of it. */
import { sha256Hex } from "../../core/bytes.ts";
import { type Pairs, pairsToKeep } from "../../core/http/headers.ts";
import { redactAnswer } from "../../core/http/redact.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { FreshAnswer } from "../../core/ports.ts";

/** A whole answer as its first caller gets it. */
export type WholeAnswer = { status: number; headers: Pairs; body: Uint8Array };
export type NotKept = Extract<FreshAnswer, { kind: "not-kept" }>;

/** `not-kept`: values have to be left out that can't be found in it. */
export async function copyAnswer(
  { status, headers, body }: WholeAnswer,
  policy: Pick<RoutePolicy, "replayCookies" | "redact">,
): Promise<FreshAnswer> {
  const kept = pairsToKeep(headers, { cookies: policy.replayCookies });
  const redacted = redactAnswer(body, kept, policy.redact);
  switch (redacted.kind) {
    case "same":
      return { kind: "whole", status, headers: kept, body };
    case "rewritten":
      return { kind: "whole", status, headers: redacted.headers, body: redacted.body };
    case "illegible":
      return describeOnly(status, body);
  }
}

/** What is kept of an answer that can't be given again. */
export async function describeOnly(status: number, body: Uint8Array): Promise<NotKept> {
  return { kind: "not-kept", status, size: body.byteLength, digest: await sha256Hex(body) };
}
