/** Cells, and cells that go together, of the table of what every event makes of a record in every state. */
import type { EntryType } from "../../src/core/entry.ts";
import type { StepAnswer } from "../../src/core/event.ts";
import type { KeyRecord } from "../../src/core/record.ts";
import type { EventName } from "./step-table.ts";

export type Cell = {
  to: "same" | KeyRecord["state"];
  answer: StepAnswer["kind"];
  adds: readonly EntryType[];
};

export type Row = Record<EventName, Cell>;

export const same = (answer: Cell["answer"]): Cell => ({ to: "same", answer, adds: [] });
export const moved = (to: KeyRecord["state"], answer: Cell["answer"], ...adds: EntryType[]): Cell => ({
  to,
  answer,
  adds,
});

export const grantsAnyone = {
  begin: moved("in-flight", "run", "granted"),
  "begin, other fingerprint": moved("in-flight", "run", "granted"),
  "begin, same nonce": moved("in-flight", "run", "granted"),
  "begin, not authorized": moved("in-flight", "run", "granted"),
};

/** The attempt before is left to its executor. */
export const fencesAndGrants = {
  begin: moved("in-flight", "run", "fenced", "granted"),
  "begin, other fingerprint": same("mismatch"),
  "begin, same nonce": moved("in-flight", "run", "fenced", "granted"),
  "begin, not authorized": moved("in-flight", "run", "fenced", "granted"),
};

/** A life whose quarantine is over ends with the next one's begin. */
export const endsAndGrantsAnyone = {
  begin: moved("in-flight", "run", "purged", "granted"),
  "begin, other fingerprint": moved("in-flight", "run", "purged", "granted"),
  "begin, same nonce": moved("in-flight", "run", "purged", "granted"),
  "begin, not authorized": moved("in-flight", "run", "purged", "granted"),
};

export const grantsSameRequest = { ...grantsAnyone, "begin, other fingerprint": same("mismatch") };

export const nothingToResolve = {
  "resolve, A says committed": same("stale"),
  "resolve, A says not committed": same("stale"),
  "resolve, B says committed": same("stale"),
  "resolve, B says not committed": same("stale"),
  "resolve, B says another answer": same("stale"),
  "resolve, B says committed, three required": same("stale"),
  "resolve, C says committed, three required": same("stale"),
  "resolve, one required": same("stale"),
  "resolve, stale effect": same("stale"),
};

/** The first truth stays; an operator who says otherwise is told of. */
export const objects = (state: KeyRecord["state"], ...events: EventName[]) => ({
  ...nothingToResolve,
  ...Object.fromEntries(events.map((event) => [event, moved(state, "stale", "contradiction")])),
});

export const SAY_YES = [
  "resolve, A says committed",
  "resolve, B says committed",
  "resolve, B says another answer",
  "resolve, B says committed, three required",
  "resolve, C says committed, three required",
  "resolve, one required",
] as const;
export const SAY_NO = ["resolve, A says not committed", "resolve, B says not committed"] as const;

/** Nothing is in doubt, or nobody listens: that the origin has seen nothing is no news. */
export const probeTellsNothing = (answer: Cell["answer"]) => ({
  "probed none, observed early": same(answer),
  "probed none, observed late": same(answer),
  "probed none, asked late enough": same(answer),
  "probed none, asked too early": same(answer),
  "probed silent": same(answer),
});

export const nothingToAcknowledge = {
  "acknowledge some": same("done"),
  "acknowledge all": same("done"),
  "acknowledge too much": same("done"),
  "acknowledge other life": same("done"),
};

export const acknowledged = (state: KeyRecord["state"]) => ({
  ...nothingToAcknowledge,
  "acknowledge some": moved(state, "done"),
  "acknowledge all": moved(state, "done"),
});

/** A token that is not the current one changes no state; the digest of a settle goes into the ledger. */
export const fencesOldTokens = (state: KeyRecord["state"]) => ({
  "renew, old attempt": same("fenced"),
  "renew, old life": same("fenced"),
  "settle, old attempt": moved(state, "fenced", "late"),
  "settle, old life": moved(state, "fenced", "late"),
  "report, old attempt": same("fenced"),
  "release, old attempt": same("fenced"),
  "probed committed, old attempt": same("fenced"),
});

/** Of attempts that were granted; which of them may report is judged before. */
export const takesReports = (state: KeyRecord["state"]) => ({
  "tell an effect": moved(state, "done", "effect"),
  "tell an effect, old attempt": moved(state, "done", "effect"),
  "tell nothing new": same("done"),
  "tell an effect, attempt to come": same("fenced"),
});

export const takesNoReports = {
  "tell an effect": same("fenced"),
  "tell an effect, old attempt": same("fenced"),
  "tell nothing new": same("fenced"),
  "tell an effect, attempt to come": same("fenced"),
};

export const nothingToObserve = {
  "observe a replay": same("done"),
  "observe a twin in flight": same("done"),
  "observe a doubt": same("done"),
  "observe a refusal": same("done"),
  "observe two of all": same("done"),
};

/** What callers are told in every state. */
export const observesRefusals = (state: KeyRecord["state"]) => ({
  ...nothingToObserve,
  "observe a refusal": moved(state, "done", "observed"),
  "observe two of all": moved(state, "done", "observed", "observed"),
});
