/** What a search is about, and what it finds. */
import type { Step } from "../model/history.ts";
import type { BACK, Case } from "./place.ts";

/**
 * `dispatches`: `late` is an executor that does not mind when its grant reached it. `clock`: the object's clock may step back once, by a
 * little, or by more than a lease, and be set right then.
 */
export type Search = {
  step: Step;
  about: Case;
  attemptsMax: number;
  dispatches: "in-time" | "late";
  clock: keyof typeof BACK;
};

/** `complete`: there is nothing beyond. `path` of a violation: what happened, in order. */
export type Found =
  | { kind: "sound"; states: number; moves: number; depth: number; complete: boolean }
  | { kind: "broken"; by: string; what: string; path: readonly string[]; states: number };
