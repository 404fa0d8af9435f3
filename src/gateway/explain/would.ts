/** What a request would get, as an explanation tells it. */
import type { StepAnswer } from "../../core/event.ts";
import type { Inspection } from "../../core/ports.ts";
import { type Problem, problem, type Slug } from "../../core/problem.ts";
import type { Mark } from "../reply.ts";

export type Would =
  /** It is for the gateway itself. */
  | { does: "serve" }
  | { does: "forward"; idempotency_status: "unprotected" | null }
  | { does: "run"; idempotency_status: "executed" }
  | { does: "replay"; idempotency_status: "replayed"; status: number }
  | { does: "refuse"; idempotency_status: Mark; problem: Slug; status: number };

export function refuses({ slug, mark, status }: Problem): Would {
  return { does: "refuse", idempotency_status: mark, problem: slug, status };
}

export function forwards(mark: "unprotected" | null): Would {
  return { does: "forward", idempotency_status: mark };
}

const RUNS: Would = { does: "run", idempotency_status: "executed" };

/** Null: nobody can say. */
export function wouldOf(inspection: Inspection): Would | null {
  switch (inspection.kind) {
    case "unavailable":
      return null;
    case "none":
      return RUNS;
    case "found":
      return inspection.would === "replay" ? replays(inspection) : answered(inspection.would);
  }
}

function replays({ detail }: Extract<Inspection, { kind: "found" }>): Would | null {
  if (detail.state !== "settled") return null;
  const { answer } = detail;
  if (answer.kind !== "kept") return refuses(problem("answer-not-kept"));
  return { does: "replay", idempotency_status: "replayed", status: answer.status };
}

function answered(kind: Exclude<StepAnswer["kind"], "replay"> | null): Would | null {
  switch (kind) {
    case "run":
      return RUNS;
    case "mismatch":
      return refuses(problem("key-reused"));
    case "in-flight":
      return refuses(problem("in-flight"));
    case "expired":
      return refuses(problem("key-expired"));
    case "unknown":
      return refuses(problem("outcome-unknown"));
    default:
      return null;
  }
}
