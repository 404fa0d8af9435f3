/** What must be true where the origin can be asked: it is believed at its first word, and its word is never contradicted. Pure. */
import type { Violation } from "./checker.ts";
import { type Fact, type FactOf, type History, isBreak, selectFacts } from "./history.ts";

export const PROBE_RULE_NAMES = ["asked-again", "released-executed", "left-unknown"] as const;

export function checkProbes(history: History): Violation[] {
  return [...findAskedAgain(history.facts), ...findReleased(history.facts), ...findUnknown(history)];
}

/**
 * A word that closes an outcome is asked for once more only where a kill, or a pause longer than the question may take, came
 * between the origin's word and the record of it: whatever is asked about is closed by the first question whose answer can be
 * heard. The kill that ends a run falls on questions as well: they come all at once where leases have ended in a pause.
 */
function findAskedAgain(facts: readonly Fact[]): Violation[] {
  const saidIn = new Map<string, number>();
  let breaks = 0;
  return facts.flatMap((fact) => {
    if (isBreak(fact)) breaks += 1;
    if (fact.kind !== "probed" || fact.outcome === "none") return [];
    const before = saidIn.get(fact.effect);
    saidIn.set(fact.effect, breaks);
    if (before === undefined || before < breaks) return [];
    return [
      {
        rule: "asked-again",
        key: fact.effect,
        text: `${fact.outcome} was said twice and nothing was killed`,
      },
    ];
  });
}

/** A key is free again only where its attempt had no effect, and never will have. */
function findReleased(facts: readonly Fact[]): Violation[] {
  const executed = new Set(selectFacts(facts, "executed").map(({ effect }) => effect));
  return selectFacts(facts, "entered")
    .filter(({ effect, type }) => type === "released" && executed.has(effect))
    .map(({ effect }) => ({
      rule: "released-executed",
      key: effect,
      text: "it was released, and had its effect",
    }));
}

/** Nobody tries again, and still nothing stays unknown. */
function findUnknown({ operations, facts }: History): Violation[] {
  const first = new Map<string, FactOf<"looked">>();
  const isAsked = new Set(operations.filter(({ crashRule }) => crashRule === "probe").map(({ key }) => key));
  for (const looked of selectFacts(facts, "looked")) {
    if (isAsked.has(looked.key)) first.set(looked.key, looked);
  }
  return [...first.values()]
    .filter(({ state }) => state === "unknown" || state === "in-flight")
    .map(({ key, state }) => ({ rule: "left-unknown", key, text: `it is ${state} at the end` }));
}

/** Milliseconds from the entry that an outcome is unknown to the one that closes it, by attempt; shortest first. */
export function listClosingTimes(facts: readonly Fact[]): number[] {
  const since = new Map<string, number>();
  const asked = new Set(selectFacts(facts, "probed").map(({ effect }) => effect));
  const times: number[] = [];
  for (const { effect, type, at } of selectFacts(facts, "entered")) {
    if (!asked.has(effect)) continue;
    const from = since.get(effect);
    if (type === "unknown") since.set(effect, at);
    else if (from !== undefined && (type === "settled" || type === "released")) times.push(at - from);
  }
  return times.sort((a, b) => a - b);
}
