/** What must be true of keys whose window ended while the gateway stood still. Pure. */
import type { Violation } from "./checker.ts";
import { type Fact, type History, isSuccess, selectFacts } from "./history.ts";

export const PAUSE_RULE_NAMES = ["replayed-past-window", "unanswered-behind-pause"] as const;

/** Begins the names of these keys, and of no other. */
export const WINDOW_KEY = "window-";

export function checkPauses({ facts }: History): Violation[] {
  const pauses = facts.flatMap((fact, at) => (fact.kind === "paused" ? [at] : []));
  const byKey = Map.groupBy(
    facts.flatMap((fact, at) => ("key" in fact && fact.key.startsWith(WINDOW_KEY) ? [{ fact, at }] : [])),
    ({ fact }) => fact.key,
  );
  return [...byKey].flatMap(([key, seen]) => {
    // The first pause that it was there for: no window is longer.
    const pause = pauses.find((at) => at > (seen[0]?.at ?? 0));
    if (pause === undefined) return [];
    const before = seen.filter(({ at }) => at < pause).map(({ fact }) => fact);
    const behind = seen.filter(({ at }) => at > pause).map(({ fact }) => fact);
    return [...findReplayed(key, before, behind), ...findUnanswered(key, behind)];
  });
}

/** A call that begins behind the window's end gets another answer than those within: whoever kept that one must not give it. */
function findReplayed(key: string, before: readonly Fact[], behind: readonly Fact[]): Violation[] {
  const kept = new Set(selectFacts(before, "told").map(({ told }) => told.digest));
  const later = new Set(selectFacts(behind, "called").map(({ call }) => call));
  return selectFacts(behind, "told")
    .filter(({ call, told }) => later.has(call) && isSuccess(told) && kept.has(told.digest))
    .map(({ call }) => ({
      rule: "replayed-past-window",
      key,
      text: `call ${call} got an answer whose window was over`,
    }));
}

/** Its key is free: a call behind the pause runs. */
function findUnanswered(key: string, behind: readonly Fact[]): Violation[] {
  const later = new Set(selectFacts(behind, "called").map(({ call }) => call));
  const isAnswered = selectFacts(behind, "told").some(({ call, told }) => later.has(call) && isSuccess(told));
  return isAnswered
    ? []
    : [{ rule: "unanswered-behind-pause", key, text: "no call behind the pause had a success" }];
}
