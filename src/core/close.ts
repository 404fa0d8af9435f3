/**
 * The events that close an attempt or try to: settle, report, release, probe, operators, and the ledger's acknowledgement.
 * Everything here is fenced: a token that is not the current one changes no state.
 */
import type { Closer, Evidence, Operators, UnknownReason } from "./entry.ts";
import { type Decision, type Event, stay, type Verdict } from "./event.ts";
import { OUTBOX_ENTRIES_MAX } from "./limits.ts";
import {
  type Answer,
  isSameToken,
  type KeyRecord,
  type LiveRecord,
  type Outcome,
  type Said,
  type Token,
  undelivered,
} from "./record.ts";
import {
  attemptOf,
  probeAgain,
  probeLater,
  remark,
  toProposed,
  toReleased,
  toSettled,
  toUnknown,
} from "./transition.ts";

type Settle = Extract<Event, { do: "settle" }>;
type Probed = Extract<Event, { do: "probed" }>;
type Acknowledge = Extract<Event, { do: "acknowledge" }>;
type Resolve = Extract<Event, { do: "resolve" }>;

const EXECUTOR: Closer = { actor: "executor" };
const PROBE: Closer = { actor: "probe" };

/** T9: the answer of the current attempt is welcome in flight and in unknown alike. T9b, T9c: anything else changes nothing. */
export function settle(record: KeyRecord, event: Settle, t: number): Decision {
  const { answer } = event;
  if (record.state === "absent") return stay(record, { kind: "fenced" });
  if (!isSameToken(event.token, record)) return stay(late(record, event, t), { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
    case "unknown":
      return stay(toSettled(record, answer, EXECUTOR, t), { kind: "done" });
    case "settled":
      if (isSameAnswer(record.answer, answer)) return stay(record, { kind: "done" });
      // Where it was closed without an answer both say that it is committed. What is stored stays, and nobody has to look.
      return stay(isNews(record, answer) ? contradiction(record, answer, t) : record, { kind: "fenced" });
    case "released":
      return stay(contradiction(record, answer, t), { kind: "fenced" });
  }
}

/** T10: the executor got no whole answer. */
export function reportUnknown(
  record: KeyRecord,
  token: Token,
  reason: UnknownReason,
  t: number,
  now: number,
): Decision {
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
      return stay(toUnknown(record, reason, t, now), { kind: "done" });
    case "unknown":
      return stay(record, { kind: "done" });
    case "settled":
    case "released":
      return stay(record, { kind: "fenced" });
  }
}

/** T11: evidence that the current attempt had no effect. */
export function release(record: KeyRecord, token: Token, evidence: Evidence, t: number): Decision {
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
    case "unknown":
      return stay(toReleased(record, evidence, EXECUTOR, t), { kind: "done" });
    case "released":
      return stay(record, { kind: "done" });
    case "settled":
      return stay(contradiction(record, { kind: "lost" }, t), { kind: "fenced" });
  }
}

/** T16 to T18. A probe asks about one attempt; its word on an older one is worth nothing. */
export function probed(record: KeyRecord, event: Probed, t: number, now: number): Decision {
  const { token, verdict, jitter } = event;
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  if (record.state !== "unknown") return stay(disagreement(record, verdict, t), { kind: "done" });
  const delayMs = record.terms.probeDelayMs;
  switch (verdict.kind) {
    case "committed":
      return stay(toSettled(record, verdict.answer, PROBE, t), { kind: "done" });
    case "none":
      if (verdict.sealed) return stay(toReleased(record, "sealed-none", PROBE, t), { kind: "done" });
      // An executor may dispatch until its outcome is unknown, and the origin may be slow to begin: both lie before `since + delayMs`.
      // A clock that is behind the record doesn't know whether that is over.
      if (delayMs !== null && t <= now && record.since + delayMs <= t - verdict.ageMs) {
        return stay(toReleased(record, "observed-none", PROBE, t), { kind: "done" });
      }
      return stay(probeAgain(record, jitter, t, now), { kind: "done" });
    case "silent":
      return stay(probeLater(record, jitter, t, now), { kind: "done" });
  }
}

/** First truth wins; a probe that says otherwise later is told to the ledger. */
function disagreement(
  record: Exclude<LiveRecord, { state: "unknown" }>,
  verdict: Verdict,
  t: number,
): LiveRecord {
  if (record.state === "settled" && verdict.kind === "none" && verdict.sealed) {
    return contradiction(record, { kind: "lost" }, t);
  }
  if (verdict.kind !== "committed" || !isNews(record, verdict.answer)) return record;
  return contradiction(record, verdict.answer, t);
}

/** T23: different people have to say the same of the same effect. */
export function resolve(record: KeyRecord, event: Resolve, t: number): Decision {
  if (record.state === "absent" || record.effect !== event.effect) return stay(record, { kind: "stale" });
  const by: Operators = { actor: `operator:${event.operator}`, ...event.grounds };
  if (isResolvedSo(record, event.outcome)) return stay(record, { kind: "done" });
  if (record.state !== "unknown") return stay(objection(record, event.outcome, by, t), { kind: "stale" });
  const earlier = record.proposal;
  const agreed = earlier.by === "operators" && isSameOutcome(earlier.outcome, event.outcome) ? earlier : null;
  const isRepeat = agreed?.operators.includes(event.operator) ?? false;
  const operators = [...(agreed?.operators ?? []), ...(isRepeat ? [] : [event.operator])];
  const { outcome } = event;
  if (operators.length < event.operatorsRequired) {
    if (isRepeat) return stay(record, { kind: "proposed" });
    if (undelivered(record) >= OUTBOX_ENTRIES_MAX) return stay(record, { kind: "full" });
    const grounds = [...(agreed?.grounds ?? []), event.grounds];
    const proposal = { by: "operators", operators, grounds, outcome: saidOf(outcome) } as const;
    return stay(toProposed(record, proposal, by, t), { kind: "proposed" });
  }
  return outcome.kind === "committed"
    ? stay(toSettled(record, outcome.answer, by, t), { kind: "done" })
    : stay(toReleased(record, "operator", by, t), { kind: "done" });
}

/** Operators have resolved it the same way: the call that did it may come again. */
function isResolvedSo(record: LiveRecord, outcome: Outcome): boolean {
  if (record.state === "released") return record.evidence === "operator" && outcome.kind === "not-committed";
  if (record.state !== "settled" || outcome.kind !== "committed") return false;
  return record.actor.startsWith("operator:") && isSameAnswer(record.answer, outcome.answer);
}

/** The first truth has been accepted. An operator who says otherwise changes nothing, and somebody has to look. */
function objection(
  record: Exclude<LiveRecord, { state: "unknown" }>,
  outcome: Outcome,
  by: Operators,
  t: number,
): LiveRecord {
  if (record.state === "settled" && outcome.kind === "not-committed") {
    return contradiction(record, { kind: "lost" }, t, by);
  }
  if (outcome.kind !== "committed" || !isNews(record, outcome.answer)) return record;
  return contradiction(record, outcome.answer, t, by);
}

/** Whether it is news of a record that it is committed with this answer. Nothing is said of an answer that nobody has. */
function isNews(record: Exclude<LiveRecord, { state: "unknown" }>, answer: Answer): boolean {
  if (record.state !== "settled") return record.state === "released";
  const { answer: stored } = record;
  return stored.kind !== "lost" && answer.kind !== "lost" && !isSameAnswer(stored, answer);
}

/** T24: the ledger has everything of one life up to `seq`. Acknowledging less than is known changes nothing. */
export function acknowledge(record: KeyRecord, event: Acknowledge, t: number): KeyRecord {
  if (record.state === "absent") return record;
  const outbox = record.outbox.map((stream) => {
    const count = event.seq - stream.acked;
    if (stream.inc !== event.inc || count <= 0 || count > stream.entries.length) return stream;
    return { ...stream, acked: event.seq, head: event.head, entries: stream.entries.slice(count) };
  });
  const isChanged = outbox.some((stream, i) => stream !== record.outbox[i]);
  if (!isChanged) return record;
  const kept = outbox.filter((stream) => stream.inc === record.inc || stream.entries.length > 0);
  return { ...record, t, outbox: kept };
}

function late(record: LiveRecord, { token, effect, answer }: Settle, t: number): LiveRecord {
  return remark(record, t, { type: "late", answerDigest: digestOf(answer), at: t, effect, attempt: token.n });
}

function contradiction<R extends LiveRecord>(
  record: R,
  answer: Answer,
  t: number,
  by: Operators | null = null,
): R {
  return remark(record, t, {
    type: "contradiction",
    answerDigest: digestOf(answer),
    ...by,
    ...attemptOf(record, t),
  });
}

function digestOf(answer: Answer): string | null {
  return answer.kind === "lost" ? null : answer.digest;
}

function isSameAnswer(a: Answer, b: Answer): boolean {
  if (a.kind === "lost" || b.kind === "lost") return a.kind === b.kind;
  return a.status === b.status && a.digest === b.digest;
}

function isSameOutcome(a: Said, b: Said): boolean {
  return a.kind === "committed" && b.kind === "committed" ? a.word === b.word : a.kind === b.kind;
}

/** The answer itself comes again with the word that is the last one needed. */
function saidOf(outcome: Outcome): Said {
  return outcome.kind === "committed" ? { kind: "committed", word: outcome.word } : outcome;
}
