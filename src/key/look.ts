/** What a status read tells of a stored record. */
import type { KnownEffect } from "../core/effect/judge.ts";
import { DISPATCH_CAPABILITY } from "../core/entry.ts";
import type { Look, OperationStatus } from "../core/ports.ts";
import { isExpired, isPurgeable, isUntold, type LiveRecord, timeOf, windowEnd } from "../core/record.ts";
import type { Loaded } from "./storage/store.ts";

/** `isKept`: whether a ledger keeps what the record has to tell. `readEffects` gives what was reported in its life. */
export function describeRecord(
  loaded: Loaded,
  now: number,
  isKept: boolean,
  readEffects: (record: LiveRecord) => readonly KnownEffect[],
): Look {
  if (loaded.kind === "unreadable") return { kind: "unavailable" };
  const { record } = loaded;
  if (record.state === "absent") return { kind: "none" };
  const t = timeOf(record, now);
  if (isPurgeable(record, t)) return { kind: "none" };
  const status = statusOf(record, t, isKept, readEffects(record));
  return { kind: "found", owner: record.owner, route: record.route, status };
}

function statusOf(
  record: LiveRecord,
  t: number,
  isKept: boolean,
  reported: readonly KnownEffect[],
): OperationStatus {
  const stream = record.outbox.at(-1);
  const acked = stream?.acked ?? 0;
  const isTold = isKept && (stream === undefined || !isUntold(stream));
  return {
    state: stateOf(record, t),
    attempts: record.n,
    createdAt: record.bornAt,
    changedAt: changedAt(record),
    expiresAt: record.state === "settled" ? windowEnd(record) : null,
    effects: [dispatchOf(record), ...reported.map(describeEffect)],
    ledger: isTold ? { seq: acked + (stream?.entries.length ?? 0), delivered: acked } : null,
  };
}

function dispatchOf(record: LiveRecord): OperationStatus["effects"][number] {
  const { effect: effectId, n: attempt } = record;
  const state = effectState(record);
  return { effectId, attempt, capability: DISPATCH_CAPABILITY, state, isFlagged: false };
}

function describeEffect({
  id,
  attempt,
  capability,
  phase,
  isFlagged,
}: KnownEffect): OperationStatus["effects"][number] {
  return { effectId: id, attempt, capability, state: phase === "intent" ? "open" : phase, isFlagged };
}

function stateOf(record: LiveRecord, t: number): OperationStatus["state"] {
  if (record.state === "settled" && isExpired(record, t)) return "expired";
  return record.state;
}

function changedAt(record: LiveRecord): number {
  switch (record.state) {
    case "in-flight":
      return record.dispatchedAt;
    case "unknown":
      return record.since;
    case "settled":
      return record.settledAt;
    case "released":
      return record.releasedAt;
  }
}

function effectState(record: LiveRecord): OperationStatus["effects"][number]["state"] {
  switch (record.state) {
    case "in-flight":
      return "open";
    case "unknown":
      return "unknown";
    case "settled":
      return "committed";
    case "released":
      return "failed";
  }
}
