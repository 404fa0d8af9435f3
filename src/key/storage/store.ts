/**
 * The key object's storage: one value `record`, one value `effects` where an origin has reported any, rows `body:n` of a large answer, one alarm. The only home of storage keys.
 *
 * Every change is one `transactionSync`: load, step, store, arm. Nothing is awaited in between, so no other event can come
 * between reading a record and writing it; the platform holds back everything sent afterwards until the writes are durable.
 */
import type { Seen } from "../../core/audit/observe.ts";
import {
  type Judged,
  judgeReport,
  type KnownEffect,
  type ReportingAttempt,
  type Word,
} from "../../core/effect/judge.ts";
import type { Event, StepAnswer } from "../../core/event.ts";
import { ALARM_TOO_EARLY_MS } from "../../core/limits.ts";
import { ABSENT, type KeyRecord, type LiveRecord } from "../../core/record.ts";
import { alarmOf, redeliveryOf, type Step } from "../../core/step.ts";
import { decodeEffects } from "../effects/known.ts";
import { Acknowledgements } from "./acknowledgements.ts";
import { type Around, advance, noteSeen, stepAttended, told } from "./advance.ts";
import { decodeRecord, encodeRecord } from "./codec.ts";

const RECORD = "record";
const EFFECTS = "effects";
const rowKey = (index: number): string => `body:${index}`;

export type Loaded = { kind: "readable"; record: KeyRecord } | { kind: "unreadable" };

/** `failed`: storage refused; nothing was written. */
export type Transacted =
  /** `isMoved`: it made more of the record than an observation. `hasNoted`: what was waiting to be noted is. */
  | { kind: "stepped"; before: KeyRecord; step: Step; isMoved: boolean; hasNoted: boolean }
  | { kind: "unreadable" }
  | { kind: "failed"; cause: unknown };

export type Stepped = Extract<Transacted, { kind: "stepped" }>;

/** What an event would make of the record. */
export type Rehearsal = { kind: "rehearsed"; step: Step } | { kind: "unreadable" };

/** What became of a report that could be judged. */
export type ReportTaken = {
  kind: "told";
  done: Stepped;
  judged: Extract<Judged, { kind: "taken" }>;
};

/** Nothing of it was recorded. `stranger`: it is of no attempt of this life that may report. */
export type ReportLeft =
  | Extract<Judged, { kind: "refused" }>
  | { kind: "stranger" }
  | Exclude<Transacted, Stepped>;

/** What of an answer has to be noted along with the decision; null: nothing. */
export type Witness = (answer: StepAnswer) => Seen | null;

const NOBODY: Witness = () => null;

export class KeyStore {
  readonly #storage: DurableObjectStorage;
  /** When the alarm stands; null: none. Undefined until this life of the object has asked. */
  #armed: number | null | undefined;
  /** While the alarm's handler runs nothing is armed: at its end it arms what is due then, and not too soon. */
  #isRinging = false;
  /** What was due by then has been attended to, and is not due again before `until`, whoever comes meanwhile. */
  #rest = { dueBy: 0, until: 0 };
  readonly #acknowledged = new Acknowledgements();

  /**
   * The record as it was written last, until the ledger has been told of it; null: it has to be read. Only what is told and when is taken from
   * it, which costs no read then: what happens to the record is decided on what is stored.
   */
  #written: LiveRecord | null = null;

  /** The life whose last entry may be on its way, and when it ended: a clock that goes back must not bring it to life again. */
  #ending = { inc: "", at: 0 };

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Arms a missing alarm again. Asks storage only once in a life of the object; resolves at once where nothing is to be done. */
  async healAlarm(): Promise<void> {
    if (this.#armed !== undefined) return;
    this.#armed = await this.#storage.getAlarm();
    this.armAgain(0);
  }

  load(): Loaded {
    const decoded = decodeRecord(this.#storage.kv.get(RECORD));
    if (decoded.kind === "unreadable") return decoded;
    if (decoded.kind === "absent") return { kind: "readable", record: ABSENT };
    return { kind: "readable", record: this.#asKnown(decoded.record) };
  }

  /** The same for who tells what has just been written. */
  recall(): Loaded {
    if (this.#written === null) return this.load();
    return { kind: "readable", record: this.#asKnown(this.#written) };
  }

  /** What was to be told of the last write is told, or will be tried again later. */
  forgetWritten(): void {
    this.#written = null;
  }

  /** Not a step: reading a record does nothing else to it, and its time stays what is stored, unless its end has been told. */
  #asKnown(stored: LiveRecord): KeyRecord {
    const t = Math.max(stored.t, this.#ending.inc === stored.inc ? this.#ending.at : 0);
    return this.#acknowledged.applyTo(t === stored.t ? stored : { ...stored, t }, t);
  }

  /**
   * Steps the record by one event, and first by `orphan` where it shows an attempt of this object's own in flight that nobody
   * runs. `rows` are stored with a record that names them. A record that would end here is left for `wipe`.
   */
  transact(
    event: Event,
    around: Around,
    rows: readonly ArrayBuffer[] = [],
    witness: Witness = NOBODY,
  ): Transacted {
    return this.#inTransaction(() => this.#apply(event, around, rows, witness));
  }

  /** The same without writing anything. */
  rehearse(event: Event, around: Around): Rehearsal {
    const loaded = this.load();
    return loaded.kind === "unreadable"
      ? loaded
      : { kind: "rehearsed", step: stepAttended(loaded.record, event, around.isRunning, Date.now()) };
  }

  /** Judges a report by what is known of this life's effects, and tells what is new of it: both are written, or neither. */
  tell(attempt: ReportingAttempt, report: readonly Word[], around: Around): ReportTaken | ReportLeft {
    return this.#inTransaction<ReportTaken | ReportLeft>(() => {
      const loaded = this.load();
      if (loaded.kind === "unreadable") return loaded;
      const { record } = loaded;
      if (record.state === "absent") return { kind: "stranger" };
      const known = decodeEffects(this.#storage.kv.get(EFFECTS), record.inc);
      if (known === null) return { kind: "unreadable" };
      const isCurrent = record.n === attempt.n && record.effect === attempt.effect;
      const isKnown = known.attempts.some(({ n, effect }) => n === attempt.n && effect === attempt.effect);
      if (!isCurrent && !isKnown) return { kind: "stranger" };
      const judged = judgeReport(known, attempt, report);
      if (judged.kind === "refused") return judged;
      const done = this.#apply({ do: "tell", attempt, noted: judged.noted }, around, [], NOBODY);
      if (done.kind !== "stepped") return done;
      if (done.step.answer.kind === "done" && judged.noted.length > 0) {
        this.#storage.kv.put(EFFECTS, judged.known);
      }
      return { kind: "told", done, judged };
    });
  }

  /** The reported effects of a record's life, in the order in which they were first told. */
  readEffects(record: LiveRecord): readonly KnownEffect[] {
    return decodeEffects(this.#storage.kv.get(EFFECTS), record.inc)?.effects ?? [];
  }

  #inTransaction<Result>(act: () => Result): Result | { kind: "failed"; cause: unknown } {
    try {
      return this.#storage.transactionSync(act);
    } catch (cause) {
      this.#armed = undefined;
      this.#written = null;
      return { kind: "failed", cause };
    }
  }

  #apply(event: Event, around: Around, rows: readonly ArrayBuffer[], witness: Witness): Transacted {
    const loaded = this.load();
    if (loaded.kind === "unreadable") return loaded;
    const before = loaded.record;
    const now = Date.now();
    const { moved, isMoved, hasNoted } = advance(before, event, around, now);
    const stepped = noteSeen(moved, witness(moved.answer), now);
    const isChanged = stepped.record !== before;
    const record = isChanged ? told(stepped.record, around.keepsEntries) : stepped.record;
    if (isChanged && record.state !== "absent") {
      // An answer that comes second, and is only noted, must not take the place of the first one's rows.
      if (record.state === "settled" && before.state !== "settled") {
        rows.forEach((row, index) => void this.#storage.kv.put(rowKey(index), row));
      }
      this.#storage.kv.put(RECORD, encodeRecord(record));
      this.#written = around.keepsEntries ? record : null;
    }
    // A key that was never used has no alarm; of one that was, a record that has not moved leaves it to `healAlarm`.
    if (before.state === "absent") this.#armed ??= null;
    if (isMoved || this.#armed !== undefined) this.#arm(alarmOf(record, now));
    return { kind: "stepped", before, step: stepped, isMoved, hasNoted };
  }

  readRow(index: number): ArrayBuffer | undefined {
    return this.#storage.kv.get<ArrayBuffer>(rowKey(index));
  }

  noteAcknowledged(inc: string, seq: number, head: string): void {
    this.#acknowledged.note(inc, seq, head);
  }

  /** Writes what has been acknowledged for its own sake. Where storage refuses, it is told again. */
  writeAcknowledged(): void {
    this.#inTransaction(() => {
      const loaded = this.load();
      if (loaded.kind === "unreadable" || loaded.record.state === "absent") return;
      this.#storage.kv.put(RECORD, encodeRecord(loaded.record));
      if (this.#written !== null) this.#written = loaded.record;
    });
  }

  /** The alarm has just gone off: none stands. */
  noteAlarmRan(): void {
    this.#armed = null;
    this.#isRinging = true;
  }

  /** The alarm's handler is at its end: arms the alarm for what is due next, but not before a time. */
  armAfterAlarm(notBefore: number): void {
    this.#isRinging = false;
    this.#rest = { dueBy: Date.now(), until: notBefore };
    this.armAgain(notBefore);
  }

  /** Arms the alarm for what is due next, but not before a time. */
  armAgain(notBefore: number): void {
    try {
      const due = this.#nextDue(notBefore);
      if (due !== null) this.#arm(Math.max(due, notBefore));
    } catch {
      // The next access asks storage anew what stands, and arms it.
      this.#armed = undefined;
    }
  }

  #nextDue(notBefore: number): number | null {
    let loaded: Loaded;
    try {
      loaded = this.recall();
    } catch {
      return notBefore;
    }
    if (loaded.kind === "unreadable") return notBefore;
    const now = Date.now();
    const dues = [alarmOf(loaded.record, now), redeliveryOf(loaded.record, now)].filter(
      (due) => due !== null,
    );
    return dues.length === 0 ? null : Math.min(...dues);
  }

  /**
   * The record's last entry is about to be sent. Stopping here, with a clock that then goes back by more than the record has been over, lets
   * another entry take its place: the ledger freezes that stream, says so, and the record stays.
   */
  noteEnding(inc: string, at: number): void {
    this.#ending = { inc, at };
  }

  /** Ends the record, its rows and its alarm in one atomic step. */
  async wipe(): Promise<void> {
    this.#written = null;
    await this.#storage.deleteAll();
    this.#armed = null;
    this.#acknowledged.clear();
  }

  /** One alarm serves all due times. One that stands a little early is left: it looks again when it runs. */
  #arm(wanted: number | null): void {
    const armed = this.#armed ?? null;
    if (wanted === null || this.#isRinging) return;
    const { dueBy, until } = this.#rest;
    // A rest that begins at a time to come was begun before the clock went back.
    const due = wanted <= dueBy && dueBy <= Date.now() ? Math.max(wanted, until) : wanted;
    if (armed !== null && armed <= due && due - armed <= ALARM_TOO_EARLY_MS) return;
    // Within a transaction it is part of that. A failure breaks the object or is found by the next access, which arms again.
    this.#storage.setAlarm(due).catch(() => {
      this.#armed = undefined;
    });
    this.#armed = due;
  }
}
