/**
 * The events that close an attempt or try to: settle, report, release, probe, operators, and the ledger's acknowledgement.
 * Everything here is fenced: a token that is not the current one changes no state.
 */
import type { Evidence, UnknownReason } from "./entry.ts";
import { type Decision, type Event, stay, type Verdict } from "./event.ts";
import { OUTBOX_ENTRIES_MAX } from "./limits.ts";
import {
  type Answer,
  isSameToken,
  type KeyRecord,
  type LiveRecord,
  type Outcome,
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

/** T9: the answer of the current attempt is welcome in flight and in unknown alike. T9b, T9c: anything else changes nothing. */
export function settle(record: KeyRecord, event: Settle, t: number): Decision {
  const { answer } = event;
  if (record.state === "absent") return stay(record, { kind: "fenced" });
  if (!isSameToken(event.token, record)) return stay(late(record, event, t), { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
    case "unknown":
      return stay(toSettled(record, answer, "executor", t), { kind: "done" });
    case "settled":
      if (isSameAnswer(record.answer, answer)) return stay(record, { kind: "done" });
      return stay(contradiction(record, answer, t), { kind: "fenced" });
    case "released":
      return stay(contradiction(record, answer, t), { kind: "fenced" });
  }
}

/** T10: the executor got no whole answer. */
export function report(record: KeyRecord, token: Token, reason: UnknownReason, t: number): Decision {
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
      return stay(toUnknown(record, reason, t), { kind: "done" });
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
      return stay(toReleased(record, evidence, "executor", t), { kind: "done" });
    case "released":
      return stay(record, { kind: "done" });
    case "settled":
      return stay(contradiction(record, { kind: "lost" }, t), { kind: "fenced" });
  }
}

/** T16 to T18. A probe asks about one attempt; its word on an older one is worth nothing. */
export function probed(record: KeyRecord, event: Probed, t: number): Decision {
  const { token, verdict, jitter } = event;
  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  if (record.state !== "unknown") return stay(disagreement(record, verdict, t), { kind: "done" });
  const delayMs = record.terms.probeDelayMs;
  switch (verdict.kind) {
    case "committed":
      return stay(toSettled(record, verdict.answer, "probe", t), { kind: "done" });
    case "none":
      if (verdict.sealed) return stay(toReleased(record, "sealed-none", "probe", t), { kind: "done" });
      // An executor may dispatch until its outcome is unknown, and the origin may be slow to begin: both lie before `since + delayMs`.
      if (delayMs !== null && record.since + delayMs <= t - verdict.ageMs) {
        return stay(toReleased(record, "observed-none", "probe", t), { kind: "done" });
      }
      return stay(probeAgain(record, jitter, t), { kind: "done" });
    case "silent":
      return stay(probeLater(record, jitter, t), { kind: "done" });
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
  if (record.state === "released" && verdict.kind === "committed")
    return contradiction(record, verdict.answer, t);
  return record;
}

/** T23: different people have to say the same of the same effect. */
export function resolve(record: KeyRecord, event: Extract<Event, { do: "resolve" }>, t: number): Decision {
  if (record.state !== "unknown" || record.effect !== event.effect) return stay(record, { kind: "stale" });
  const actor = `operator:${event.operator}` as const;
  const earlier = record.proposal;
  const agreed =
    earlier.by === "operators" && isSameOutcome(earlier.outcome, event.outcome) ? earlier.operators : [];
  const isRepeat = agreed.includes(event.operator);
  const operators = isRepeat ? agreed : [...agreed, event.operator];
  if (operators.length < event.operatorsRequired) {
    if (isRepeat) return stay(record, { kind: "proposed" });
    if (undelivered(record) >= OUTBOX_ENTRIES_MAX) return stay(record, { kind: "full" });
    return stay(toProposed(record, { by: "operators", operators, outcome: event.outcome }, actor, t), {
      kind: "proposed",
    });
  }
  return event.outcome.kind === "committed"
    ? stay(toSettled(record, event.outcome.answer, actor, t), { kind: "done" })
    : stay(toReleased(record, "operator", actor, t), { kind: "done" });
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

function contradiction<R extends LiveRecord>(record: R, answer: Answer, t: number): R {
  return remark(record, t, {
    type: "contradiction",
    answerDigest: digestOf(answer),
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

function isSameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.kind === "committed" && b.kind === "committed") return isSameAnswer(a.answer, b.answer);
  return a.kind === b.kind;
}
