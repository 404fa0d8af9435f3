/**
 * What a report makes of the effects that are known of a key's life: what is new, what was told before, what contradicts that.
 * All of a report is taken, or nothing of it.
 *
 *   intent ─▶ committed ─▶ compensated
 *        └──▶ failed
 *
 * The first truth stays: a second outcome, and the same phase told in other words, are recorded as contradictions and change nothing.
 */
import { REPORTED_OF_ATTEMPT_MAX, REPORTED_OF_LIFE_MAX } from "../limits.ts";
import type { EffectPhase, ReportField, Told } from "./report.ts";

/** `word`: digest of all that an entry says, the same for a repeat and for nothing else. */
export type Word = { told: Told; word: string };

/** An effect as it is known. `words` has all that was taken or noted, in order. */
export type KnownEffect = {
  id: string;
  attempt: number;
  capability: string;
  phase: EffectPhase;
  words: readonly string[];
  isFlagged: boolean;
};

/** Version of the stored form of reported effects. */
export const EFFECTS_VERSION = 1;

/** The reported effects of one life of a key. `attempts`: those that have reported, with the number of entries taken from each. */
export type KnownEffects = {
  v: typeof EFFECTS_VERSION;
  inc: string;
  attempts: readonly { n: number; effect: string; count: number }[];
  effects: readonly KnownEffect[];
};

export type ReportingAttempt = { n: number; effect: string };

/** One entry to be told to the ledger. */
export type Noted = { told: Told; isContradiction: boolean };

export type Judged =
  | { kind: "taken"; known: KnownEffects; noted: readonly Noted[]; repeated: number }
  /** `index`: of the entry that is wrong, from 0. */
  | { kind: "refused"; index: number; field: ReportField };

type WordVerdict = "new" | "repeat" | "contradiction" | ReportField;

/** Needs an attempt of that life. */
export function judgeReport(known: KnownEffects, attempt: ReportingAttempt, report: readonly Word[]): Judged {
  const effects = new Map(known.effects.map((effect) => [effect.id, effect]));
  const own = known.attempts.find(({ n }) => n === attempt.n) ?? { ...attempt, count: 0 };
  const total = known.attempts.reduce((sum, { count }) => sum + count, 0);
  const dispatches = new Set([attempt.effect, ...known.attempts.map(({ effect }) => effect)]);
  const noted: Noted[] = [];
  for (const [index, { told, word }] of report.entries()) {
    const earlier = effects.get(told.id);
    const verdict = dispatches.has(told.id) ? "effect_id" : judgeWord(earlier, told, word);
    if (verdict === "repeat") continue;
    if (verdict !== "new" && verdict !== "contradiction") return { kind: "refused", index, field: verdict };
    noted.push({ told, isContradiction: verdict === "contradiction" });
    const isFull =
      own.count + noted.length > REPORTED_OF_ATTEMPT_MAX || total + noted.length > REPORTED_OF_LIFE_MAX;
    if (isFull) return { kind: "refused", index, field: "report" };
    effects.set(told.id, grow(earlier, told, word, attempt.n, verdict));
  }
  const others = known.attempts.filter(({ n }) => n !== attempt.n);
  const attempts = [...others, { ...own, count: own.count + noted.length }];
  return {
    kind: "taken",
    known: { ...known, attempts, effects: [...effects.values()] },
    noted,
    repeated: report.length - noted.length,
  };
}

function judgeWord(earlier: KnownEffect | undefined, told: Told, word: string): WordVerdict {
  if (earlier === undefined) return told.phase === "intent" ? "new" : "phase";
  if (earlier.words.includes(word)) return "repeat";
  if (earlier.capability !== told.capability) return "contradiction";
  switch (told.phase) {
    case "intent":
      return "contradiction";
    case "committed":
    case "failed":
      return earlier.phase === "intent" ? "new" : "contradiction";
    case "compensated":
      if (earlier.phase === "committed") return "new";
      return earlier.phase === "compensated" ? "contradiction" : "phase";
  }
}

function grow(
  earlier: KnownEffect | undefined,
  told: Told,
  word: string,
  attempt: number,
  verdict: "new" | "contradiction",
): KnownEffect {
  const { id, capability, phase } = told;
  if (earlier === undefined) return { id, attempt, capability, phase, words: [word], isFlagged: false };
  const words = [...earlier.words, word];
  return verdict === "new" ? { ...earlier, phase, words } : { ...earlier, words, isFlagged: true };
}
