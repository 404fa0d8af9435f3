/** Answers that do not come from the attempt itself: a probe's and an operator's are kept as if they had come when they were due. */
import type { GivenAnswer } from "../../core/http/given-answer.ts";
import { pairsForClient } from "../../core/http/headers.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { FreshAnswer, Keyring } from "../../core/ports.ts";
import type { Answer, LiveRecord } from "../../core/record.ts";
import { copyAnswer, describeOnly } from "./copy.ts";
import { sealFresh } from "./seal.ts";

/** `policy`: null where the record's route is gone. `rawKey`: the client's own key; null where no client has brought it. */
export type KeptBy = { name: string; keyring: Keyring; policy: RoutePolicy | null; rawKey: string | null };

/** The copy that the record's route keeps, under the seal of the record's current attempt. `rows` hold what does not fit into the record. */
export async function sealGiven(
  given: GivenAnswer,
  { inc, n, fp }: LiveRecord,
  { name, keyring, policy, rawKey }: KeptBy,
): Promise<{ answer: Answer; rows: readonly ArrayBuffer[] }> {
  const copy = await copyGiven(given, policy, rawKey);
  const isBound = policy?.sealWithKey === true;
  const secret = isBound ? (rawKey ?? "") : "";
  return sealFresh(keyring, copy, { name, inc, n, fp, status: copy.status, secret }, isBound);
}

/**
 * Not its text where the route is gone, so that nobody knows what has to be left out; where it is over the route's limit; and where answers
 * are sealed with the client's own key and nobody has brought it.
 */
async function copyGiven(
  given: GivenAnswer,
  policy: RoutePolicy | null,
  rawKey: string | null,
): Promise<FreshAnswer> {
  if (policy === null || given.body.byteLength > policy.responseBytesMax)
    return describeOnly(given.status, given.body);
  const copy = await copyAnswer({ ...given, headers: pairsForClient(given.headers) }, policy);
  const isKeyMissing = policy.sealWithKey && rawKey === null;
  return isKeyMissing && copy.kind === "whole" ? describeOnly(copy.status, copy.body) : copy;
}
