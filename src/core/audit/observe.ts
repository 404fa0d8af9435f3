/**
 * What callers of a key that exists were told without a change of its state: replays and refusals, for the ledger. An observation is
 * of the record as it was when the caller was answered, so it is written before anything that happens to the record afterwards.
 */
import { type Decision, stay } from "../event.ts";
import { OBSERVED_OUTBOX_MAX } from "../limits.ts";
import { isPurgeable, type KeyRecord, type LiveRecord, undelivered } from "../record.ts";
import { attemptOf, toTold } from "../transition.ts";

/** What a caller was told: `replayed`, or the slug of the problem. */
export type Seen =
  | "replayed"
  | "answer-not-kept"
  | "key-expired"
  | "in-flight"
  | "outcome-unknown"
  | "key-reused"
  | "not-authorized"
  /** The requests can't be compared, or the stored answer does not open. */
  | "store-unavailable";

/** The state in which a caller can have been told so; null: any. */
const SEEN_IN: Record<Seen, LiveRecord["state"] | null> = {
  replayed: "settled",
  "answer-not-kept": "settled",
  "key-expired": "settled",
  "in-flight": "in-flight",
  "outcome-unknown": "unknown",
  "key-reused": null,
  "not-authorized": null,
  "store-unavailable": null,
};

/**
 * T27: all of them or none. `full`: too much waits for the ledger already, and what is left of the outbox is for changes of state. Of a life
 * that is over, or that came after the one that was seen, nothing is told.
 */
export function observe(record: KeyRecord, seen: readonly Seen[], t: number): Decision {
  if (record.state === "absent" || isPurgeable(record, t)) return stay(record, { kind: "done" });
  const said = seen.filter((code) => SEEN_IN[code] === null || SEEN_IN[code] === record.state);
  if (said.length === 0) return stay(record, { kind: "done" });
  if (undelivered(record) + said.length > OBSERVED_OUTBOX_MAX) return stay(record, { kind: "full" });
  const entries = said.map((code) => ({ type: "observed" as const, code, ...attemptOf(record, t) }));
  return stay(toTold(record, entries, t), { kind: "done" });
}
