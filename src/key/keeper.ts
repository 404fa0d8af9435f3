/**
 * One key's record while its object lives: steps it, wakes who waits for it, carries what it has to tell to the ledger, and ends it.
 * The only caller of the state machine. Inside one object all requests share one context: a promise that one of them waits for
 * may be another's.
 */
import type { Seen } from "../core/audit/observe.ts";
import type { ReportingAttempt, Word } from "../core/effect/judge.ts";
import type { Event } from "../core/event.ts";
import { FLUSH_RETRY_MS, UNREADABLE_RETRY_MS, WAKE_PAUSE_MS } from "../core/limits.ts";
import type { LedgerPort, Report } from "../core/ports.ts";
import { isUntold, purgeAt } from "../core/record.ts";
import { nameOf } from "../report.ts";
import { KeyObserver } from "./audit/observer.ts";
import { SharedInquiry } from "./inquiry/shared-inquiry.ts";
import { OpenedAnswer } from "./opened.ts";
import { Running } from "./running.ts";
import { SharedTake } from "./shared-take.ts";
import type { Around } from "./storage/advance.ts";
import { OutboxCarrier } from "./storage/outbox.ts";
import {
  KeyStore,
  type Rehearsal,
  type ReportLeft,
  type ReportTaken,
  type Transacted,
  type Witness,
} from "./storage/store.ts";
import { Waiters } from "./waiters.ts";

export type KeeperParts = { ledger: LedgerPort; report: Report };

export class Keeper {
  readonly name: string;
  readonly store: KeyStore;
  readonly waiters = new Waiters();
  readonly running = new Running();
  readonly opened = new OpenedAnswer();
  readonly take = new SharedTake();
  readonly inquiry = new SharedInquiry();
  readonly #observer = new KeyObserver();
  readonly #keepAlive: (work: Promise<unknown>) => void;
  #carrier: OutboxCarrier | null = null;

  constructor(name: string, storage: DurableObjectStorage, keepAlive: (work: Promise<unknown>) => void) {
    this.name = name;
    this.store = new KeyStore(storage);
    this.#keepAlive = keepAlive;
  }

  /**
   * One event, in one transaction. `rows` hold the answer that the event brings, if it is taken. `witness`: what is noted along with the
   * decision, where a ledger is kept; if there is no room for that, the answer is `full`.
   */
  step(parts: KeeperParts, event: Event, rows: readonly ArrayBuffer[] = [], witness?: Witness): Transacted {
    const done = this.store.transact(
      event,
      this.#around(parts),
      rows,
      parts.ledger.isKept ? witness : undefined,
    );
    this.#notice(parts, done);
    return done;
  }

  /** What an event would bring. Nothing is written and nobody hears of it. */
  rehearse(parts: KeeperParts, event: Event): Rehearsal {
    return this.store.rehearse(event, this.#around(parts));
  }

  /** A report of effects, in one transaction. Only a step that is answered `done` has recorded it. */
  tell(parts: KeeperParts, attempt: ReportingAttempt, report: readonly Word[]): ReportTaken | ReportLeft {
    const told = this.store.tell(attempt, report, this.#around(parts));
    if (told.kind === "told") this.#notice(parts, told.done);
    if (told.kind === "failed") this.#notice(parts, told);
    // Room is made by what the ledger takes.
    const isFull = told.kind === "told" && told.done.step.answer.kind === "full";
    if (isFull) this.#keepAlive(this.#flush(parts));
    return told;
  }

  /** Notes what callers were told, once they have been told. What there is no room for, or storage does not take, is reported and lost. */
  observe(parts: KeeperParts, seen: readonly Seen[]): void {
    if (!parts.ledger.isKept) return;
    if (this.#observer.note(seen, Date.now())) this.#keepAlive(this.#writeObserved(parts));
  }

  /** Notes what a caller is to be told. False: it is not noted. */
  observeNow(parts: KeeperParts, seen: readonly Seen[]): boolean {
    if (!parts.ledger.isKept) return true;
    const done = this.step(parts, { do: "observe", seen });
    return done.kind === "stepped" && done.step.answer.kind === "done";
  }

  /**
   * One row a batch, and what comes while that is on its way to the ledger makes the next batch. Stopping before the row loses the batch,
   * stopping behind it leaves it in the outbox.
   */
  async #writeObserved(parts: KeeperParts): Promise<void> {
    // A write that begins now would hold back the answer that is about to go.
    await scheduler.wait(0);
    for (let batch = this.#observer.takeAll(); batch.length > 0; batch = this.#observer.takeAll()) {
      try {
        if (!this.observeNow(parts, batch)) this.#observer.refuse(batch.length, Date.now());
        const count = this.#observer.takeDropped();
        if (count > 0) parts.report("observations-dropped", { operation: this.name, count });
        await this.#flush(parts);
      } catch (error) {
        parts.report("defect", { where: "observations", error: nameOf(error) });
      }
    }
  }

  #around({ ledger }: KeeperParts): Around {
    return {
      isRunning: (token) => this.running.has(token),
      keepsEntries: ledger.isKept,
      waiting: this.#observer.waiting,
    };
  }

  #notice(parts: KeeperParts, done: Transacted): void {
    if (done.kind === "failed")
      parts.report("store-failed", { operation: this.name, error: nameOf(done.cause) });
    if (done.kind !== "stepped" || done.step.record === done.before) return;
    if (done.hasNoted) this.#observer.letGo();
    if (done.isMoved) this.waiters.wakeAll();
    // A grant is told along with its outcome, or by the alarm: one call to the ledger instead of two.
    const isTold = parts.ledger.isKept && (done.step.record.state !== "in-flight" || !done.isMoved);
    if (isTold) this.#keepAlive(this.#flush(parts));
  }

  /** Does what the alarm has come for. Gives the shortest pause before the next one. */
  async tick(parts: KeeperParts): Promise<number> {
    const ticked = this.step(parts, { do: "tick" });
    if (ticked.kind === "unreadable") {
      parts.report("record-unreadable", { operation: this.name });
      return UNREADABLE_RETRY_MS;
    }
    if (ticked.kind === "failed" || !(await this.#carrierTo(parts.ledger).flush())) return FLUSH_RETRY_MS;
    return (await this.#purge(parts)) ? WAKE_PAUSE_MS : FLUSH_RETRY_MS;
  }

  /**
   * Ends a finished record; false when the ledger did not take its last entry. Stopping after that entry was delivered and before
   * the wipe repeats both: the entry is the same to the letter, so the ledger drops it.
   */
  async #purge(parts: KeeperParts): Promise<boolean> {
    const ticked = this.step(parts, { do: "tick" });
    if (
      ticked.kind !== "stepped" ||
      ticked.before.state === "absent" ||
      ticked.step.record.state !== "absent"
    ) {
      return true;
    }
    const stream = ticked.before.outbox.at(-1);
    if (stream !== undefined && !isUntold(stream)) {
      this.store.noteEnding(stream.inc, purgeAt(ticked.before) ?? 0);
      const held = await parts.ledger.append(this.name, { ...stream, entries: ticked.step.entries });
      if (held.kind === "failed") return false;
    }
    // Another event may have come while the ledger answered: look again, and wipe in the same turn.
    const again = this.step(parts, { do: "tick" });
    if (again.kind === "stepped" && again.step.record.state === "absent") await this.store.wipe();
    return true;
  }

  /** Delivers, and lets an alarm that stood by for it go to what is due then. */
  async #flush({ ledger }: KeeperParts): Promise<void> {
    const isDone = await this.#carrierTo(ledger).flush();
    this.store.armAgain(isDone ? 0 : Date.now() + FLUSH_RETRY_MS);
    this.store.forgetWritten();
  }

  #carrierTo(ledger: LedgerPort): OutboxCarrier {
    this.#carrier ??= new OutboxCarrier(this.store, ledger, this.name);
    return this.#carrier;
  }
}
