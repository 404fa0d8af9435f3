/** What every event makes of a record in every state, written from the design's transitions, not from the code. */
import type { EntryType } from "../../src/core/entry.ts";
import type { StepAnswer } from "../../src/core/event.ts";
import type { KeyRecord } from "../../src/core/record.ts";
import { EVENT_NAMES, type EventName, type StateName } from "./step-table.ts";

/** `to`: `same` is the very record that came in; a state's own name is a changed record of that state. */
export type Cell = {
  to: "same" | KeyRecord["state"];
  answer: StepAnswer["kind"];
  adds: readonly EntryType[];
};

type Row = Record<EventName, Cell>;

const same = (answer: Cell["answer"]): Cell => ({ to: "same", answer, adds: [] });
const moved = (to: KeyRecord["state"], answer: Cell["answer"], ...adds: EntryType[]): Cell => ({
  to,
  answer,
  adds,
});

const grantsAnyone = {
  begin: moved("in-flight", "run", "granted"),
  "begin, other fingerprint": moved("in-flight", "run", "granted"),
  "begin, same nonce": moved("in-flight", "run", "granted"),
  "begin, not authorized": moved("in-flight", "run", "granted"),
};

/** A life whose quarantine is over ends with the next one's begin. */
const endsAndGrantsAnyone = {
  begin: moved("in-flight", "run", "purged", "granted"),
  "begin, other fingerprint": moved("in-flight", "run", "purged", "granted"),
  "begin, same nonce": moved("in-flight", "run", "purged", "granted"),
  "begin, not authorized": moved("in-flight", "run", "purged", "granted"),
};

const grantsSameRequest = { ...grantsAnyone, "begin, other fingerprint": same("mismatch") };

const nothingToResolve = {
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
const objects = (state: KeyRecord["state"], ...events: EventName[]) => ({
  ...nothingToResolve,
  ...Object.fromEntries(events.map((event) => [event, moved(state, "stale", "contradiction")])),
});

const SAY_YES = [
  "resolve, A says committed",
  "resolve, B says committed",
  "resolve, B says another answer",
  "resolve, B says committed, three required",
  "resolve, C says committed, three required",
  "resolve, one required",
] as const;
const SAY_NO = ["resolve, A says not committed", "resolve, B says not committed"] as const;

/** Nothing is in doubt, or nobody listens: that the origin has seen nothing is no news. */
const probeTellsNothing = (answer: Cell["answer"]) => ({
  "probed none, observed early": same(answer),
  "probed none, observed late": same(answer),
  "probed none, asked late enough": same(answer),
  "probed none, asked too early": same(answer),
  "probed silent": same(answer),
});

const nothingToAcknowledge = {
  "acknowledge some": same("done"),
  "acknowledge all": same("done"),
  "acknowledge too much": same("done"),
  "acknowledge other life": same("done"),
};

const acknowledged = (state: KeyRecord["state"]) => ({
  ...nothingToAcknowledge,
  "acknowledge some": moved(state, "done"),
  "acknowledge all": moved(state, "done"),
});

/** A token that is not the current one changes no state; the digest of a settle goes into the ledger. */
const fencesOldTokens = (state: KeyRecord["state"]) => ({
  "renew, old attempt": same("fenced"),
  "renew, old life": same("fenced"),
  "settle, old attempt": moved(state, "fenced", "late"),
  "settle, old life": moved(state, "fenced", "late"),
  "report, old attempt": same("fenced"),
  "release, old attempt": same("fenced"),
  "probed committed, old attempt": same("fenced"),
});

/** Of attempts that were granted; which of them may report is judged before. */
const takesReports = (state: KeyRecord["state"]) => ({
  "tell an effect": moved(state, "done", "effect"),
  "tell an effect, old attempt": moved(state, "done", "effect"),
  "tell nothing new": same("done"),
  "tell an effect, attempt to come": same("fenced"),
});

const takesNoReports = {
  "tell an effect": same("fenced"),
  "tell an effect, old attempt": same("fenced"),
  "tell nothing new": same("fenced"),
  "tell an effect, attempt to come": same("fenced"),
};

const absent: Row = {
  ...takesNoReports,
  ...fencesOldTokens("absent"),
  ...nothingToResolve,
  ...nothingToAcknowledge,
  ...grantsAnyone,
  renew: same("fenced"),
  settle: same("fenced"),
  "settle, other answer": same("fenced"),
  // No record, no stream: there is nowhere to put an entry, and a look-up of an unknown key writes nothing.
  "settle, old attempt": same("fenced"),
  "settle, old life": same("fenced"),
  report: same("fenced"),
  release: same("fenced"),
  orphan: same("done"),
  "probed committed": same("fenced"),
  "probed none, sealed": same("fenced"),
  ...probeTellsNothing("fenced"),
  tick: same("done"),
};

const running: Row = {
  ...takesReports("in-flight"),
  ...fencesOldTokens("in-flight"),
  ...nothingToResolve,
  ...acknowledged("in-flight"),
  begin: same("in-flight"),
  "begin, other fingerprint": same("mismatch"),
  "begin, same nonce": same("run"),
  "begin, not authorized": same("authorize"),
  renew: moved("in-flight", "done"),
  settle: moved("settled", "done", "settled"),
  "settle, other answer": moved("settled", "done", "settled"),
  report: moved("unknown", "done", "unknown"),
  release: moved("released", "done", "released"),
  orphan: moved("unknown", "done", "unknown"),
  "probed committed": same("done"),
  "probed none, sealed": same("done"),
  ...probeTellsNothing("done"),
  tick: same("done"),
};

/** One operator's word, or one that contradicts what was said before, is noted and told. */
const notesWords = (...adds: EntryType[]) => ({
  "resolve, A says committed": moved("unknown", "proposed", ...adds),
  "resolve, A says not committed": moved("unknown", "proposed", ...adds),
  "resolve, B says committed": moved("unknown", "proposed", ...adds),
  "resolve, B says not committed": moved("unknown", "proposed", ...adds),
  "resolve, B says another answer": moved("unknown", "proposed", ...adds),
  "resolve, B says committed, three required": moved("unknown", "proposed", ...adds),
  "resolve, C says committed, three required": moved("unknown", "proposed", ...adds),
});

/** Whatever comes first finds the outcome unknown, but for the truth itself. */
const lapsed: Row = {
  "tell an effect": moved("unknown", "done", "unknown", "effect"),
  "tell an effect, old attempt": moved("unknown", "done", "unknown", "effect"),
  "tell nothing new": moved("unknown", "done", "unknown"),
  "tell an effect, attempt to come": moved("unknown", "fenced", "unknown"),
  begin: moved("unknown", "unknown", "unknown"),
  "begin, other fingerprint": moved("unknown", "mismatch", "unknown"),
  "begin, same nonce": moved("unknown", "unknown", "unknown"),
  "begin, not authorized": moved("unknown", "authorize", "unknown"),
  renew: moved("unknown", "lapsed", "unknown"),
  "renew, old attempt": moved("unknown", "fenced", "unknown"),
  "renew, old life": moved("unknown", "fenced", "unknown"),
  settle: moved("settled", "done", "settled"),
  "settle, other answer": moved("settled", "done", "settled"),
  "settle, old attempt": moved("unknown", "fenced", "unknown", "late"),
  "settle, old life": moved("unknown", "fenced", "unknown", "late"),
  report: moved("unknown", "done", "unknown"),
  "report, old attempt": moved("unknown", "fenced", "unknown"),
  release: moved("released", "done", "released"),
  "release, old attempt": moved("unknown", "fenced", "unknown"),
  orphan: moved("unknown", "done", "unknown"),
  "probed committed": moved("settled", "done", "unknown", "settled"),
  "probed none, sealed": moved("released", "done", "unknown", "released"),
  "probed none, observed early": moved("unknown", "done", "unknown"),
  "probed none, observed late": moved("released", "done", "unknown", "released"),
  "probed none, asked late enough": moved("released", "done", "unknown", "released"),
  "probed none, asked too early": moved("unknown", "done", "unknown"),
  "probed silent": moved("unknown", "done", "unknown"),
  "probed committed, old attempt": moved("unknown", "fenced", "unknown"),
  ...notesWords("unknown", "proposed"),
  "resolve, one required": moved("settled", "done", "unknown", "settled"),
  "resolve, stale effect": moved("unknown", "stale", "unknown"),
  "acknowledge some": moved("unknown", "done", "unknown"),
  "acknowledge all": moved("unknown", "done", "unknown"),
  "acknowledge too much": moved("unknown", "done", "unknown"),
  "acknowledge other life": moved("unknown", "done", "unknown"),
  tick: moved("unknown", "done", "unknown"),
};

const unknown: Row = {
  ...takesReports("unknown"),
  ...fencesOldTokens("unknown"),
  ...acknowledged("unknown"),
  begin: same("unknown"),
  "begin, other fingerprint": same("mismatch"),
  "begin, same nonce": same("unknown"),
  "begin, not authorized": same("authorize"),
  renew: same("lapsed"),
  settle: moved("settled", "done", "settled"),
  "settle, other answer": moved("settled", "done", "settled"),
  report: same("done"),
  release: moved("released", "done", "released"),
  orphan: same("done"),
  "probed committed": moved("settled", "done", "settled"),
  "probed none, sealed": moved("released", "done", "released"),
  "probed none, observed early": moved("unknown", "done"),
  "probed none, observed late": moved("released", "done", "released"),
  "probed none, asked late enough": moved("released", "done", "released"),
  "probed none, asked too early": moved("unknown", "done"),
  "probed silent": moved("unknown", "done"),
  ...notesWords("proposed"),
  "resolve, one required": moved("settled", "done", "settled"),
  "resolve, stale effect": same("stale"),
  tick: same("done"),
};

/** Operator A has said that the effect is committed, two have to. */
const proposed: Row = {
  ...unknown,
  "resolve, A says committed": same("proposed"),
  "resolve, B says committed": moved("settled", "done", "settled"),
};

/** A and B have said the same, three have to. */
const nearlyResolved: Row = {
  ...unknown,
  "resolve, A says committed": moved("settled", "done", "settled"),
  "resolve, B says committed": moved("settled", "done", "settled"),
  "resolve, B says committed, three required": same("proposed"),
  "resolve, C says committed, three required": moved("settled", "done", "settled"),
  "resolve, one required": moved("settled", "done", "settled"),
};

/** Where nobody could ever be asked, no time is long enough. */
const unasked: Row = {
  ...unknown,
  "probed none, observed late": moved("unknown", "done"),
  "probed none, asked late enough": moved("unknown", "done"),
};

const settled: Row = {
  ...takesReports("settled"),
  ...fencesOldTokens("settled"),
  ...objects("settled", ...SAY_NO, "resolve, B says another answer"),
  ...acknowledged("settled"),
  begin: same("replay"),
  "begin, other fingerprint": same("mismatch"),
  "begin, same nonce": same("replay"),
  "begin, not authorized": same("authorize"),
  renew: same("fenced"),
  settle: same("done"),
  "settle, other answer": moved("settled", "fenced", "contradiction"),
  report: same("fenced"),
  release: moved("settled", "fenced", "contradiction"),
  orphan: same("done"),
  "probed committed": same("done"),
  "probed none, sealed": moved("settled", "done", "contradiction"),
  ...probeTellsNothing("done"),
  tick: same("done"),
};

const expired: Row = { ...settled, begin: same("expired"), "begin, same nonce": same("expired") };

const released: Row = {
  ...takesReports("released"),
  ...fencesOldTokens("released"),
  ...objects("released", ...SAY_YES),
  ...acknowledged("released"),
  ...grantsSameRequest,
  renew: same("fenced"),
  settle: moved("released", "fenced", "contradiction"),
  "settle, other answer": moved("released", "fenced", "contradiction"),
  report: same("fenced"),
  release: same("done"),
  orphan: same("done"),
  "probed committed": moved("released", "done", "contradiction"),
  "probed none, sealed": same("done"),
  ...probeTellsNothing("done"),
  tick: same("done"),
};

/** Its last entry may be on its way: nothing is added behind it any more. */
function closed(row: Row): Row {
  const isRemark = (type: EntryType): boolean => type === "late" || type === "contradiction";
  const quiet = EVENT_NAMES.map((event) => [
    event,
    row[event].adds.some(isRemark) ? same(row[event].answer) : row[event],
  ]);
  return { ...(Object.fromEntries(quiet) as Row), ...takesNoReports, ...endsAndGrantsAnyone };
}

/** Nothing left to tell: the next tick wipes the record. */
const leaves = { ...nothingToAcknowledge, tick: moved("absent", "done", "purged") };

export const TABLE: Record<StateName, Row> = {
  absent,
  "in-flight, lease live": running,
  "in-flight, run elsewhere": { ...running, orphan: same("done") },
  "in-flight, lease over": lapsed,
  "unknown, hold": unknown,
  "unknown, nobody to ask": unasked,
  "unknown, one operator spoke": proposed,
  "unknown, two operators spoke": nearlyResolved,
  "unknown, retry": { ...unknown, ...grantsSameRequest },
  "settled, in window": settled,
  "settled, in quarantine": expired,
  "settled, end of quarantine": expired,
  "settled, quarantine over, outbox not empty": closed(settled),
  "settled, quarantine over, outbox empty": { ...closed(settled), ...leaves },
  released,
  "released, quarantine over, outbox not empty": closed(released),
  "released, quarantine over, outbox empty": { ...closed(released), ...leaves },
};
