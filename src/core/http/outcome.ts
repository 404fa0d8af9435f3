/** What an origin's answer means for its key, under the route's policy. */
import type { Evidence, UnknownReason } from "../entry.ts";
import type { RoutePolicy } from "../policy.ts";

export type Judgement =
  /** A whole answer of the origin: store it, replay it. */
  | { kind: "keep" }
  /** Proven, or asserted by the route's owner, to be without effect: give it, store nothing, the key is free. */
  | { kind: "release"; evidence: Evidence }
  /** Nobody knows. `isOrigins`: the first caller still gets the origin's words, marked unknown. */
  | { kind: "unknown"; reason: UnknownReason; isOrigins: boolean };

/** The path says that it never reached the origin: refused (521), unreachable (523), no TLS (525, 526). */
const NEVER_SENT: ReadonlySet<number> = new Set([521, 523, 525, 526]);

/** The path says that it got no proper answer: the origin may have the request. */
const PATH_SPEAKING: ReadonlySet<number> = new Set([502, 504, 520, 522, 524, 527, 530]);

/** 421 and 425: the server says that it did not process the request (RFC 9110 15.5.20, RFC 8470 5.2). */
const NOT_PROCESSED: ReadonlySet<number> = new Set([421, 425]);

/**
 * `evidence` is what a checked `Effect-Evidence` field of the answer proved, or null. An unchecked field proves
 * nothing: origins echo headers.
 */
export function judgeAnswer(
  status: number,
  policy: Pick<RoutePolicy, "releaseStatuses" | "probe">,
  evidence: "signed-none" | null,
): Judgement {
  if (evidence !== null) return { kind: "release", evidence };
  if (NEVER_SENT.has(status)) return { kind: "release", evidence: "never-dispatched" };
  if (PATH_SPEAKING.has(status)) return { kind: "unknown", reason: "path-status", isOrigins: false };
  if (NOT_PROCESSED.has(status)) return { kind: "release", evidence: "protocol-none" };
  if (policy.releaseStatuses.includes(status)) return { kind: "release", evidence: "status-list" };
  if (status >= 500 && status <= 599 && policy.probe !== null)
    return { kind: "unknown", reason: "server-error", isOrigins: true };
  return { kind: "keep" };
}

/** True where the runtime can rebuild an answer of this status (it makes responses of 200 to 599 only). */
export function isReplayable(status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status <= 599;
}

/** True for statuses whose answers have no body by definition (RFC 9110 6.4.1; 205: 15.3.6). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
