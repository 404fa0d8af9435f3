/**
 * The moves from one record to another, each with the entry it leaves in the outbox. Pure and without judgement:
 * whether a move is allowed is decided in `step.ts` and `close.ts`.
 */
import {
  type Closer,
  type Entry,
  type Evidence,
  type Operators,
  type Resolved,
  STREAM_START,
  type UnknownReason,
} from "./entry.ts";
import { OUTBOX_ENTRIES_MAX, PROBE_FIRST_MS, PROBE_PAUSE_MS_MAX } from "./limits.ts";
import {
  type Answer,
  type InFlight,
  isPurgeable,
  isUntold,
  type Life,
  type LiveRecord,
  type Outbox,
  type Proposal,
  RECORD_VERSION,
  type Released,
  type Settled,
  type Stream,
  type Terms,
  UNTOLD,
  type Unknown,
  undelivered,
} from "./record.ts";

/** What a new attempt brings along. `inc` is used only if the attempt starts a life. */
export type Fresh = { inc: string; effect: string; owner: string; route: string; terms: Terms };

/** Adds an entry to the stream of a record's own life. */
export function note(outbox: Outbox, inc: string, entry: Entry): Outbox {
  const current = outbox.at(-1);
  if (current?.inc === inc) {
    return [...outbox.slice(0, -1), { ...current, entries: [...current.entries, entry] }];
  }
  const stream: Stream = { inc, acked: 0, head: STREAM_START, entries: [entry] };
  return [...outbox.filter((earlier) => earlier.entries.length > 0), stream];
}

/**
 * Adds an entry that tells of something refused. Such entries are dropped once the outbox is full, and once the record may be
 * purged: its last entry, `purged`, may be on its way to the ledger under the next number.
 */
export function remark<R extends LiveRecord>(record: R, t: number, entry: Entry): R {
  if (undelivered(record) >= OUTBOX_ENTRIES_MAX || isPurgeable(record, t)) return record;
  const last = record.outbox.at(-1)?.entries.at(-1);
  const isRepeat =
    last !== undefined && JSON.stringify({ ...last, at: 0 }) === JSON.stringify({ ...entry, at: 0 });
  return isRepeat ? record : { ...record, t, outbox: note(record.outbox, record.inc, entry) };
}

/** The same record with nothing to tell, for deployments that keep no ledger. What is left out of a life can't be told later. */
export function withoutEntries(record: LiveRecord): LiveRecord {
  const current = record.outbox.at(-1);
  if (current === undefined) return record;
  return { ...record, outbox: [emptied(current)] };
}

/** The same record without entries of lives of which something was left out: the ledger would wait for that for ever. */
export function withoutUntold(record: LiveRecord): LiveRecord {
  if (!record.outbox.some(isUntold)) return record;
  const outbox = record.outbox
    .map((stream) => (isUntold(stream) ? emptied(stream) : stream))
    .filter(({ inc, entries }) => inc === record.inc || entries.length > 0);
  return { ...record, outbox };
}

function emptied(stream: Stream): Stream {
  if (stream.entries.length === 0) return stream;
  return { ...stream, acked: stream.acked + stream.entries.length, head: UNTOLD, entries: [] };
}

/** The three members by which an entry names the current attempt. */
export function attemptOf(life: Life, t: number): { at: number; effect: string; attempt: number } {
  return { at: t, effect: life.effect, attempt: life.n };
}

/** Fields every state shares, so that a move never carries a state's own fields into another. */
function lifeOf(record: LiveRecord): Life {
  const { v, inc, n, nonce, effect, owner, route, fp, terms, bornAt, dispatchedAt, t, outbox } = record;
  return { v, inc, n, nonce, effect, owner, route, fp, terms, bornAt, dispatchedAt, t, outbox };
}

/** When a lease ends that is given or renewed at `t`. */
export function leaseEnd(
  { terms, executionUntil }: Pick<InFlight, "terms" | "executionUntil">,
  t: number,
): number {
  return Math.min(t + terms.leaseMs, executionUntil);
}

function grant(life: Life, t: number, now: number): InFlight {
  const executionUntil = t + life.terms.executionMsMax;
  return {
    ...life,
    state: "in-flight",
    leaseUntil: leaseEnd({ terms: life.terms, executionUntil }, t),
    executionUntil,
    ahead: t - now,
    outbox: note(life.outbox, life.inc, { type: "granted", fp: life.fp, ...attemptOf(life, t) }),
  };
}

/** First attempt of a new life. `carried` are undelivered streams of earlier lives of the same key. */
export function startLife(fresh: Fresh, fp: string, nonce: string, carried: Outbox, t: number): InFlight {
  const { inc, effect, owner, route, terms } = fresh;
  const life: Life = {
    v: RECORD_VERSION,
    inc,
    n: 1,
    nonce,
    effect,
    owner,
    route,
    fp,
    terms,
    bornAt: t,
    dispatchedAt: t,
    t,
    outbox: carried,
  };
  return grant(life, t, t);
}

/** Another attempt of the same life, under the terms it began with; only where it runs is its own. */
export function nextAttempt(
  record: Released | Unknown,
  fresh: Fresh,
  nonce: string,
  t: number,
  now: number,
): InFlight {
  const terms = { ...record.terms, executor: fresh.terms.executor };
  const { effect } = fresh;
  const left = { type: "fenced", ...attemptOf(record, t) } as const;
  const outbox = record.state === "unknown" ? note(record.outbox, record.inc, left) : record.outbox;
  const next = { n: record.n + 1, nonce, effect, terms, dispatchedAt: t, t, outbox };
  return grant({ ...lifeOf(record), ...next }, t, now);
}

export function toUnknown(record: InFlight, reason: UnknownReason, t: number, now: number): Unknown {
  // A lease that ran out did so at its end, whenever that is noticed; not so where the clock has been moved meanwhile.
  const isEndKnown = reason === "lease-over" && record.ahead === 0;
  return {
    ...lifeOf(record),
    state: "unknown",
    t,
    since: isEndKnown ? record.leaseUntil : t,
    reason,
    probes: 0,
    probeDue: record.terms.probeDelayMs === null ? null : now,
    proposal: { by: "nobody" },
    outbox: note(record.outbox, record.inc, { type: "unknown", code: reason, ...attemptOf(record, t) }),
  };
}

export function toSettled(record: InFlight | Unknown, answer: Answer, by: Closer, t: number): Settled {
  const told = answer.kind === "lost" ? null : answer;
  return {
    ...lifeOf(record),
    state: "settled",
    t,
    settledAt: t,
    actor: by.actor,
    answer,
    outbox: note(record.outbox, record.inc, {
      type: "settled",
      status: told?.status ?? null,
      answerDigest: told?.digest ?? null,
      ...endingOf(record, by),
      ...attemptOf(record, t),
    }),
  };
}

export function toReleased(record: InFlight | Unknown, evidence: Evidence, by: Closer, t: number): Released {
  return {
    ...lifeOf(record),
    state: "released",
    t,
    releasedAt: t,
    evidence,
    outbox: note(record.outbox, record.inc, {
      type: "released",
      evidence,
      ...endingOf(record, by),
      ...attemptOf(record, t),
    }),
  };
}

/** Probes and operators end nothing but doubt; of the executor it has to be said. */
function endingOf(
  record: InFlight | Unknown,
  by: Closer,
): Operators | { actor: "executor" | "probe"; code: Resolved | null } {
  if ("digest" in by) return by;
  const isDoubtEnded = record.state === "unknown" && by.actor === "executor";
  return { actor: by.actor, code: isDoubtEnded ? "resolved" : null };
}

/** One more operator has said what became of it, and more have to. */
export function toProposed(record: Unknown, proposal: Proposal, by: Operators, t: number): Unknown {
  const entry: Entry = { type: "proposed", ...by, ...attemptOf(record, t) };
  return { ...record, t, proposal, outbox: note(record.outbox, record.inc, entry) };
}

/** Reported effects are told to the ledger; the state stays what it is. */
export function toTold<R extends LiveRecord>(record: R, entries: readonly Entry[], t: number): R {
  const outbox = entries.reduce((told, entry) => note(told, record.inc, entry), record.outbox);
  return { ...record, t, outbox };
}

/** The probe learned nothing: ask again after a pause that doubles, less up to half of it. */
export function probeLater(record: Unknown, jitter: number, t: number, now: number): Unknown {
  const pause = Math.min(PROBE_FIRST_MS * 2 ** Math.min(record.probes, 20), PROBE_PAUSE_MS_MAX);
  return probeAt(record, now + Math.ceil(pause * (1 - jitter / 2)), t);
}

/** Not seen, which is no proof yet: once the origin's delay is over, it will be. While the clock is behind, nobody knows when that is. */
export function probeAgain(record: Unknown, jitter: number, t: number, now: number): Unknown {
  const delayMs = record.terms.probeDelayMs;
  const isProofLater = delayMs !== null && record.since + delayMs > t && t <= now;
  return isProofLater ? probeAt(record, record.since + delayMs, t) : probeLater(record, jitter, t, now);
}

function probeAt(record: Unknown, due: number, t: number): Unknown {
  const probeDue = record.terms.probeDelayMs === null ? null : due;
  return { ...record, t, probes: record.probes + 1, probeDue };
}
