/** What every event makes of a record in every state, written from the design's transitions, not from the code. */
import type { EntryType } from "../../src/core/entry.ts";
import {
  acknowledged,
  endsAndGrantsAnyone,
  fencesAndGrants,
  fencesOldTokens,
  grantsAnyone,
  grantsSameRequest,
  moved,
  nothingToAcknowledge,
  nothingToObserve,
  nothingToResolve,
  objects,
  observesRefusals,
  probeTellsNothing,
  type Row,
  SAY_NO,
  SAY_YES,
  same,
  takesNoReports,
  takesReports,
} from "./step-cells.ts";
import { EVENT_NAMES, type StateName } from "./step-table.ts";

const absent: Row = {
  ...nothingToObserve,
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
  "probed committed, answer lost": same("fenced"),
  "probed none, sealed": same("fenced"),
  ...probeTellsNothing("fenced"),
  tick: same("done"),
};

const running: Row = {
  ...observesRefusals("in-flight"),
  "observe a twin in flight": moved("in-flight", "done", "observed"),
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
  "probed committed, answer lost": same("done"),
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
  // It was seen before anybody noticed that the lease is over.
  "observe a twin in flight": moved("unknown", "done", "observed", "unknown"),
  "observe a replay": moved("unknown", "done", "unknown"),
  "observe a doubt": moved("unknown", "done", "unknown"),
  "observe a refusal": moved("unknown", "done", "observed", "unknown"),
  "observe two of all": moved("unknown", "done", "observed", "observed", "unknown"),
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
  "probed committed, answer lost": moved("settled", "done", "unknown", "settled"),
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
  ...observesRefusals("unknown"),
  "observe a doubt": moved("unknown", "done", "observed"),
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
  "probed committed, answer lost": moved("settled", "done", "settled"),
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
  ...observesRefusals("settled"),
  "observe a replay": moved("settled", "done", "observed"),
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
  "probed committed, answer lost": same("done"),
  "probed none, sealed": moved("settled", "done", "contradiction"),
  ...probeTellsNothing("done"),
  tick: same("done"),
};

/** Whoever closed it had no answer: who says that it is committed, and has one, says nothing else. */
const answerless: Row = {
  ...settled,
  ...objects("settled", ...SAY_NO),
  settle: same("fenced"),
  "settle, other answer": same("fenced"),
};

const expired: Row = { ...settled, begin: same("expired"), "begin, same nonce": same("expired") };

const released: Row = {
  ...observesRefusals("released"),
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
  "probed committed, answer lost": moved("released", "done", "contradiction"),
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
  return {
    ...(Object.fromEntries(quiet) as Row),
    ...takesNoReports,
    ...nothingToObserve,
    ...endsAndGrantsAnyone,
  };
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
  "unknown, retry": { ...unknown, ...fencesAndGrants },
  "settled, in window": settled,
  "settled, answer lost": answerless,
  "settled, in quarantine": expired,
  "settled, end of quarantine": expired,
  "settled, quarantine over, outbox not empty": closed(settled),
  "settled, quarantine over, outbox empty": { ...closed(settled), ...leaves },
  released,
  "released, quarantine over, outbox not empty": closed(released),
  "released, quarantine over, outbox empty": { ...closed(released), ...leaves },
};
