/** What an operator is told of a key's record, and what a request would get from it. Nothing is written. */

import type { StepAnswer } from "../../core/event.ts";
import type { RoutePolicy } from "../../core/policy.ts";
import type { Inspection, KeptOf, OperationDetail, Rehearsed } from "../../core/ports.ts";
import type { Answer, LiveRecord } from "../../core/record.ts";
import type { Keeper, KeeperParts } from "../keeper.ts";
import { termsOf } from "../local-claim.ts";
import { describeRecord } from "../look.ts";

export type InspectParts = KeeperParts & { route: (id: string) => RoutePolicy | null };

/** An attempt that was lost with its executor is told as what it will be found to be. */
export function inspectKey(keeper: Keeper, parts: InspectParts, rehearsed: Rehearsed | null): Inspection {
  const ticked = keeper.rehearse(parts, { do: "tick" });
  if (ticked.kind === "unreadable") return { kind: "unavailable" };
  const { record } = ticked.step;
  if (record.state === "absent") return { kind: "none" };
  const { store } = keeper;
  const loaded = { kind: "readable", record } as const;
  const look = describeRecord(loaded, Date.now(), parts.ledger.isKept, (live) => store.readEffects(live));
  if (look.kind !== "found") return look;
  const would = rehearsed === null ? null : rehearse(keeper, parts, record, rehearsed);
  return { kind: "found", route: look.route, status: look.status, detail: detailOf(record), would };
}

/** Null: this version has no such route. */
function rehearse(
  keeper: Keeper,
  parts: InspectParts,
  { owner }: LiveRecord,
  { route, fp }: Rehearsed,
): StepAnswer["kind"] | null {
  const policy = parts.route(route);
  if (policy === null) return null;
  const terms = termsOf(policy, policy.executor);
  // Nothing of these gets anywhere: the attempt they would name is not granted.
  const fresh = { inc: "rehearsed", effect: "rehearsed", owner, route, terms };
  const event = { do: "begin", nonce: "rehearsed", fp, authorized: true, fresh } as const;
  const rehearsal = keeper.rehearse(parts, event);
  return rehearsal.kind === "unreadable" ? null : rehearsal.step.answer.kind;
}

function detailOf(record: LiveRecord): OperationDetail {
  const { inc, dispatchedAt } = record;
  switch (record.state) {
    case "in-flight":
      return { inc, dispatchedAt, state: record.state, leaseUntil: record.leaseUntil - record.ahead };
    case "unknown": {
      const { state, reason, probes, proposal } = record;
      return { inc, dispatchedAt, state, reason, probes, proposal };
    }
    case "settled":
      return { inc, dispatchedAt, state: record.state, actor: record.actor, answer: keptOf(record.answer) };
    case "released":
      return { inc, dispatchedAt, state: record.state, evidence: record.evidence };
  }
}

function keptOf(answer: Answer): KeptOf {
  if (answer.kind === "lost") return answer;
  const { kind, status, size, digest } = answer;
  return { kind, status, size, digest };
}
