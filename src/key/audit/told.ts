/** What of a key's answers is an observation: a replay, or a refusal of a key that exists. */
import type { Seen } from "../../core/audit/observe.ts";
import type { StepAnswer } from "../../core/event.ts";
import type { Begun } from "../../core/ports.ts";

/** Null: it is a new attempt's, or goes to the call whose own attempt it was, made again. */
export function seenIn(answer: StepAnswer, nonce: string): Seen | null {
  switch (answer.kind) {
    case "replay": {
      const { settled } = answer;
      if (settled.nonce === nonce) return null;
      return settled.answer.kind === "kept" ? "replayed" : "answer-not-kept";
    }
    case "unknown":
      return answer.unknown.nonce === nonce ? null : "outcome-unknown";
    case "in-flight":
      return "in-flight";
    case "expired":
      return "key-expired";
    case "mismatch":
      return "key-reused";
    case "incomparable":
      return "store-unavailable";
    default:
      return null;
  }
}

/** True where a replay was decided and the stored answer did not open. */
export function isDamaged(answer: StepAnswer, begun: Begun): boolean {
  return answer.kind === "replay" && begun.kind === "refused" && begun.problem.slug === "store-unavailable";
}
