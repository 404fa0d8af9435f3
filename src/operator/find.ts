/** `POST /operator/keys/find`: what is known of one key, or of each that is meant. One that was never used is not there, and stays unused. */
import { RETRY_STORE_S } from "../core/limits.ts";
import { readKeyQuery } from "../core/operator/requests.ts";
import type { Inspection, OperationDetail } from "../core/ports.ts";
import { problem } from "../core/problem.ts";
import type { Proposal } from "../core/record.ts";
import type { OperatorDesk } from "./desk.ts";
import { readJson, refuseField, replyJson, writeTime } from "./json.ts";

export async function answerFind(request: Request, desk: OperatorDesk): Promise<Response> {
  const json = await readJson(request, desk);
  if (json.kind === "refused") return desk.refuse(json.problem);
  const query = readKeyQuery(json.value);
  if (query.kind === "refused") return desk.refuse(refuseField(query.field));
  const named = await desk.nameKey(query);
  if (named.kind === "refused") return desk.refuse(refuseField(named.field));
  const inspected = await Promise.all(
    named.names.map(async (name) => ({ name, inspection: await desk.keys.inspect(name, null) })),
  );
  const items: Record<string, unknown>[] = [];
  for (const { name, inspection } of inspected) {
    if (inspection.kind === "unavailable") return desk.refuse(problem("store-unavailable", RETRY_STORE_S));
    if (inspection.kind === "found") items.push(await describe(name, inspection, desk));
  }
  return replyJson({ items });
}

type Found = Extract<Inspection, { kind: "found" }>;

async function describe(
  name: string,
  { route, status, detail }: Found,
  desk: OperatorDesk,
): Promise<Record<string, unknown>> {
  const stream = await desk.streamOf(name, detail.inc);
  return {
    id: await desk.writeId(name),
    route,
    state: status.state,
    attempts: status.attempts,
    created_at: writeTime(status.createdAt),
    dispatched_at: writeTime(detail.dispatchedAt),
    changed_at: writeTime(status.changedAt),
    ...(status.expiresAt === null ? {} : { expires_at: writeTime(status.expiresAt) }),
    ...describeState(detail, desk.operatorsRequired),
    effects: status.effects.map(({ effectId, attempt, capability, state, isFlagged }) => ({
      effect_id: effectId,
      attempt,
      capability,
      state,
      flagged: isFlagged,
    })),
    ...(status.ledger === null ? {} : { ledger: { stream, ...status.ledger } }),
  };
}

function describeState(detail: OperationDetail, operatorsRequired: number): Record<string, unknown> {
  switch (detail.state) {
    case "in-flight":
      return { lease_until: writeTime(detail.leaseUntil) };
    case "unknown": {
      const proposal = describeProposal(detail.proposal, operatorsRequired);
      return { reason: detail.reason, probes: detail.probes, ...(proposal === null ? {} : { proposal }) };
    }
    case "settled":
      return { settled_by: detail.actor, answer: describeKept(detail.answer) };
    case "released":
      return { evidence: detail.evidence };
  }
}

function describeKept(answer: Extract<OperationDetail, { state: "settled" }>["answer"]): unknown {
  const { kind, ...rest } = answer;
  return { copy: kind, ...rest };
}

/** `answer` is a digest: two operators agree if theirs is the same. Null: nobody has said anything. */
function describeProposal(proposal: Proposal, operatorsRequired: number): Record<string, unknown> | null {
  if (proposal.by === "nobody") return null;
  const { operators, grounds, outcome } = proposal;
  return {
    outcome: outcome.kind,
    ...(outcome.kind === "committed" ? { answer: outcome.word } : {}),
    operators: operators.map((operator, i) => ({
      operator,
      ...(grounds[i]?.code == null ? {} : { reason: grounds[i].code }),
      ...(grounds[i]?.target == null ? {} : { evidence: grounds[i].target }),
      grounds_digest: grounds[i]?.digest,
    })),
    missing: Math.max(operatorsRequired - operators.length, 0),
  };
}
