/** Answers and outcomes as text, so that two of them can be compared and shown. */
import type { Answer, Outcome } from "../../src/core/record.ts";

export function describeAnswer(answer: Answer): string {
  return answer.kind === "lost" ? "lost" : `${answer.kind} ${answer.status} ${answer.digest}`;
}

export function describeOutcome(outcome: Outcome): string {
  return outcome.kind === "committed" ? `committed ${outcome.word}` : outcome.kind;
}

/** Status and digest of a described answer: what makes a repeated settle the same one. */
export function gistOf(said: string): string {
  return said.replace(/^\S+ /, "");
}
