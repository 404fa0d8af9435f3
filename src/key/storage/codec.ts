/**
 * The record as storage holds it. Every read and every write is checked: what this version can't read in full is never
 * treated as absent, and what it could not read back is never written.
 */
import {
  type Answer,
  type LiveRecord,
  type Proposal,
  RECORD_VERSION,
  type Released,
  type Settled,
  type Stream,
  type Terms,
} from "../../core/record.ts";

export type Decoded = { kind: "absent" } | { kind: "record"; record: LiveRecord } | { kind: "unreadable" };

/** Reads a stored value. `unreadable`: written by a newer version, or not a record. */
export function decodeRecord(stored: unknown): Decoded {
  if (stored === undefined) return { kind: "absent" };
  // Written before leases were told apart from the record's time.
  const read = isShape(stored) && stored.state === "in-flight" ? { ahead: 0, ...stored } : stored;
  return isRecord(read) ? { kind: "record", record: read } : { kind: "unreadable" };
}

/** Gives the value to store. Throws where it could not be read back: that is a defect, and nothing has been written yet. */
export function encodeRecord(record: LiveRecord): LiveRecord {
  if (!isRecord(record)) throw new Error("a record that cannot be read back is not written");
  return record;
}

type Shape = Readonly<Record<string, unknown>>;

function isShape(value: unknown): value is Shape {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0;
}

/** Times and counts: whole, not negative, exact. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isRecord(value: unknown): value is LiveRecord {
  return isShape(value) && isLife(value) && isState(value);
}

function isLife(value: Shape): boolean {
  return (
    value.v === RECORD_VERSION &&
    isText(value.inc) &&
    isText(value.nonce) &&
    isText(value.effect) &&
    isText(value.owner) &&
    isText(value.route) &&
    isText(value.fp) &&
    isCount(value.n) &&
    isCount(value.bornAt) &&
    isCount(value.dispatchedAt) &&
    isCount(value.t) &&
    isTerms(value.terms) &&
    Array.isArray(value.outbox) &&
    value.outbox.every(isStream)
  );
}

function isTerms(value: unknown): value is Terms {
  return (
    isShape(value) &&
    (value.executor === "object" || value.executor === "worker") &&
    (value.onCrash === "hold" || value.onCrash === "retry") &&
    isText(value.fingerprint) &&
    (value.probeDelayMs === null || isCount(value.probeDelayMs)) &&
    isCount(value.windowMs) &&
    isCount(value.quarantineMs) &&
    isCount(value.leaseMs) &&
    isCount(value.executionMsMax)
  );
}

function isStream(value: unknown): value is Stream {
  return (
    isShape(value) &&
    isText(value.inc) &&
    isCount(value.acked) &&
    isText(value.head) &&
    Array.isArray(value.entries) &&
    value.entries.every((entry) => isShape(entry) && isText(entry.type) && isCount(entry.at))
  );
}

function isState(value: Shape): boolean {
  switch (value.state as LiveRecord["state"]) {
    case "in-flight":
      return isCount(value.leaseUntil) && isCount(value.executionUntil) && isCount(value.ahead);
    case "unknown":
      return (
        isCount(value.since) &&
        isText(value.reason) &&
        isCount(value.probes) &&
        (value.probeDue === null || isCount(value.probeDue)) &&
        isProposal(value.proposal)
      );
    case "settled":
      return (
        isCount(value["settledAt" satisfies keyof Settled]) && isText(value.actor) && isAnswer(value.answer)
      );
    case "released":
      return isCount(value["releasedAt" satisfies keyof Released]) && isText(value.evidence);
    default:
      return false;
  }
}

function isProposal(value: unknown): value is Proposal {
  if (!isShape(value)) return false;
  const { operators, grounds, outcome } = value;
  if (value.by !== "operators") return value.by === "nobody";
  return (
    Array.isArray(operators) &&
    operators.every(isText) &&
    Array.isArray(grounds) &&
    grounds.length === operators.length &&
    grounds.every(isGrounds) &&
    isShape(outcome) &&
    (outcome.kind === "not-committed" || (outcome.kind === "committed" && isText(outcome.word)))
  );
}

function isGrounds(value: unknown): boolean {
  if (!isShape(value) || !isText(value.digest)) return false;
  return [value.code, value.target].every((token) => token === null || isText(token));
}

function isAnswer(value: unknown): value is Answer {
  if (!isShape(value)) return false;
  switch (value.kind as Answer["kind"]) {
    case "lost":
      return true;
    case "not-kept":
      return isCount(value.status) && isCount(value.size) && isText(value.digest);
    case "kept":
      return isCount(value.status) && isCount(value.size) && isText(value.digest) && isSealed(value.sealed);
    default:
      return false;
  }
}

function isSealed(value: unknown): boolean {
  return (
    isShape(value) &&
    isText(value.key) &&
    value.salt instanceof Uint8Array &&
    value.head instanceof Uint8Array &&
    typeof value.isBound === "boolean" &&
    (value.body === "inline" || (value.body === "rows" && isCount(value.chunks)))
  );
}
