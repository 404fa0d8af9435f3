/** A report of effects, by the key object whose attempt they belong to. */
import { encodeUtf8, sha256Hex } from "../../core/bytes.ts";
import type { ReportingAttempt, Word } from "../../core/effect/judge.ts";
import type { Told } from "../../core/effect/report.ts";
import type { Telling } from "../../core/ports.ts";
import type { Keeper, KeeperParts } from "../keeper.ts";

/** Hex digits that tell two entries of one effect apart: 128 bits. */
const WORD_CHARS = 32;

export async function tellEffects(
  keeper: Keeper,
  parts: KeeperParts,
  attempt: ReportingAttempt,
  report: readonly Told[],
): Promise<Telling> {
  const told = keeper.tell(parts, attempt, await Promise.all(report.map(wordOf)));
  switch (told.kind) {
    case "refused":
    case "stranger":
      return told;
    case "unreadable":
    case "failed":
      return { kind: "unavailable" };
    case "told": {
      const { kind } = told.done.step.answer;
      if (kind === "fenced") return { kind: "stranger" };
      if (kind !== "done") return { kind: "unavailable" };
      const { noted, repeated } = told.judged;
      const flagged = noted.filter(({ isContradiction }) => isContradiction).length;
      return { kind: "taken", recorded: noted.length, repeated, flagged };
    }
  }
}

/** The members of an entry always come in the same order, and its cost's axes too. */
async function wordOf(told: Told): Promise<Word> {
  const { id, capability, phase, target, cost, digest, code } = told;
  const text = JSON.stringify([id, capability, phase, target, cost, digest, code]);
  return { told, word: (await sha256Hex(encodeUtf8(text))).slice(0, WORD_CHARS) };
}
