/** Reported effects as entries of the key's stream, and how much room they take until the ledger has them. */
import type { Entry } from "../entry.ts";
import { ENTRY_FRAME_CHARS } from "../limits.ts";
import type { LiveRecord } from "../record.ts";
import type { Noted } from "./judge.ts";

export function reportedEntry({ told, isContradiction }: Noted, attempt: number, at: number): Entry {
  const { id, ...said } = told;
  return { type: isContradiction ? "effect-contradiction" : "effect", ...said, at, effect: id, attempt };
}

/** Length of reported entries as the ledger will write them, at most. All of it is ASCII. */
export function charsOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + JSON.stringify(entry).length + ENTRY_FRAME_CHARS, 0);
}

export function reportedChars(record: LiveRecord): number {
  const entries = record.outbox.flatMap((stream) => stream.entries);
  return charsOf(entries.filter(({ type }) => type === "effect" || type === "effect-contradiction"));
}
