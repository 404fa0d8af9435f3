/**
 * The Durable Object of one idempotency key. A shell: it loads the record, lets `core/step` decide, stores, acts. It decides
 * nothing itself and forgets everything: after an eviction or a crash storage alone says what is true.
 */
import { DurableObject } from "cloudflare:workers";
import type { Evidence, UnknownReason } from "../core/entry.ts";
import type { Event, Grant } from "../core/event.ts";
import { FLUSH_RETRY_MS, RETRY_UNKNOWN_S, UNREADABLE_RETRY_MS, WAKE_PAUSE_MS } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type {
  Begun,
  Claim,
  Closing,
  FreshAnswer,
  Keyring,
  LedgerPort,
  Look,
  Operation,
  OriginPort,
  QuotaPort,
  Renewal,
  Sealing,
  Settling,
  Submitted,
} from "../core/ports.ts";
import { lostAnswer } from "../core/problem.ts";
import type { Token } from "../core/record.ts";
import { type Executor, submit } from "./execute.ts";
import { LocalClaim, refuseStore } from "./local-claim.ts";
import { describeRecord } from "./look.ts";
import { OpenedAnswer } from "./opened.ts";
import { Running } from "./running.ts";
import { SharedTake } from "./shared-take.ts";
import { OutboxCarrier } from "./storage/outbox.ts";
import { KeyStore, type Transacted } from "./storage/store.ts";
import { Waiters } from "./waiters.ts";
import { asked, readOperation, responseFor } from "./wire.ts";

/** What a key object is given. `route` finds a route's policy; null: this version has no such route. */
export type KeyParts = {
  route: (id: string) => RoutePolicy | null;
  keyring: Keyring;
  origin: OriginPort;
  ledger: LedgerPort;
  quota: QuotaPort;
  report: (event: string, members: Record<string, string | number>) => void;
};

export abstract class KeyObjectShell<Env> extends DurableObject<Env> {
  readonly #store = new KeyStore(this.ctx.storage);
  readonly #waiters = new Waiters();
  readonly #running = new Running();
  readonly #opened = new OpenedAnswer();
  readonly #take = new SharedTake();
  #carrier: OutboxCarrier | null = null;

  /** The parts, made once an isolate; rejects while the deployment is misconfigured. */
  protected abstract parts(): Promise<KeyParts>;

  get #name(): string {
    return this.ctx.id.name ?? this.ctx.id.toString();
  }

  /** `POST /submit` runs an operation here; `POST /begin` only claims the key for a caller that runs it. */
  override async fetch(request: Request): Promise<Response> {
    const work = this.#serve(request);
    // A caller that leaves cancels nothing.
    this.ctx.waitUntil(work.then(() => this.#store.healAlarm()));
    return responseFor(await work);
  }

  async #serve(request: Request): Promise<Begun> {
    let parts: KeyParts;
    let operation: Operation;
    try {
      operation = readOperation(request);
      parts = await this.parts();
    } catch {
      // Nothing has been claimed yet.
      return refuseStore();
    }
    const policy = parts.route(operation.route);
    if (policy === null) return refuseStore();
    const claim = this.#claimWith(parts, policy);
    return asked(request) === "begin" ? claim.begin(operation) : this.#run(parts, claim, operation, policy);
  }

  async #run(parts: KeyParts, claim: Claim, operation: Operation, policy: RoutePolicy): Promise<Submitted> {
    const executor: Executor = {
      claim,
      origin: parts.origin,
      keepAlive: (work) => this.ctx.waitUntil(work),
      ended: (token) => this.#running.stop(token),
    };
    try {
      return await submit(executor, operation, policy);
    } catch (cause) {
      parts.report("defect", { where: "key object", error: String(cause) });
      return { kind: "refused", problem: lostAnswer(false, RETRY_UNKNOWN_S) };
    }
  }

  #claimWith(parts: KeyParts, policy: RoutePolicy): LocalClaim {
    const own = {
      name: this.#name,
      store: this.#store,
      waiters: this.#waiters,
      opened: this.#opened,
      take: this.#take,
    };
    const onChange = (): void => {
      if (parts.ledger.isKept) this.ctx.waitUntil(this.#flush(parts));
    };
    const { keyring, quota, ledger } = parts;
    return new LocalClaim(
      { ...own, keyring, quota, keepsEntries: ledger.isKept, onChange },
      policy,
      this.#running,
    );
  }

  /** Delivers, and lets an alarm that stood by for it go to what is due then. */
  async #flush(parts: KeyParts): Promise<void> {
    if (await this.#carrierWith(parts).flush()) this.#store.armAgain(0);
  }

  #carrierWith(parts: KeyParts): OutboxCarrier {
    this.#carrier ??= new OutboxCarrier(this.#store, parts.ledger, this.#name);
    return this.#carrier;
  }

  /** For a caller that runs the attempt itself. Repeating any of these changes nothing. */
  renew(route: string, token: Token): Promise<Renewal> {
    return this.#withClaim(route, "failed", (claim) => claim.renew(token));
  }

  settle(
    route: string,
    grant: Pick<Grant, "token" | "effect">,
    answer: FreshAnswer,
    sealing: Sealing,
  ): Promise<Settling> {
    return this.#withClaim<Settling>(route, { kind: "failed" }, (claim) =>
      claim.settle(grant, answer, sealing),
    );
  }

  closeUnknown(route: string, token: Token, reason: UnknownReason): Promise<Closing> {
    return this.#withClaim(route, "failed", (claim) => claim.report(token, reason));
  }

  release(route: string, token: Token, evidence: Evidence): Promise<Closing> {
    return this.#withClaim(route, "failed", (claim) => claim.release(token, evidence));
  }

  /** What is true of this key, after waiting up to `waitMs` for a change. Writes nothing for a key that was never used. */
  async look(waitMs: number): Promise<Look> {
    await this.#store.healAlarm();
    await this.#attend();
    const first = describeRecord(this.#store.load(), Date.now());
    const isMoving =
      first.kind === "found" && (first.status.state === "in-flight" || first.status.state === "unknown");
    if (waitMs <= 0 || !isMoving) return first;
    await this.#waiters.wait(waitMs);
    return describeRecord(this.#store.load(), Date.now());
  }

  /** Whoever looks at a record whose attempt was lost with its executor is told so. An unused key is left unused. */
  async #attend(): Promise<void> {
    const loaded = this.#store.load();
    if (loaded.kind === "readable" && loaded.record.state !== "absent") {
      this.#transact(await this.parts(), { do: "tick" });
    }
  }

  /** One alarm for all due times; a pure tick over what is stored, safe early, late, twice or never. Never throws. */
  override async alarm(): Promise<void> {
    this.#store.noteAlarmRan();
    const pauseMs = await this.parts().then(
      (parts) => this.#tick(parts),
      () => FLUSH_RETRY_MS,
    );
    this.#store.armAfterAlarm(Date.now() + pauseMs);
  }

  /** Does what is due. Gives the shortest pause before the next alarm. */
  async #tick(parts: KeyParts): Promise<number> {
    const ticked = this.#transact(parts, { do: "tick" });
    if (ticked.kind === "unreadable") {
      parts.report("record-unreadable", { name: this.#name });
      return UNREADABLE_RETRY_MS;
    }
    if (ticked.kind === "failed" || !(await this.#carrierWith(parts).flush())) return FLUSH_RETRY_MS;
    return (await this.#purge(parts)) ? WAKE_PAUSE_MS : FLUSH_RETRY_MS;
  }

  /**
   * Ends a finished record; false when the ledger did not take its last entry. Stopping after the last entry was delivered and before the wipe repeats both: the entry is the same to
   * the letter, so the ledger drops it.
   */
  async #purge(parts: KeyParts): Promise<boolean> {
    const ticked = this.#transact(parts, { do: "tick" });
    if (
      ticked.kind !== "stepped" ||
      ticked.step.record.state !== "absent" ||
      ticked.before.state === "absent"
    ) {
      return true;
    }
    const stream = ticked.before.outbox.at(-1);
    if (stream !== undefined) {
      const held = await parts.ledger.append(this.#name, { ...stream, entries: ticked.step.entries });
      if (held.kind === "failed") return false;
    }
    // Another event may have come while the ledger answered: look again, and wipe in the same turn.
    const again = this.#transact(parts, { do: "tick" });
    if (again.kind === "stepped" && again.step.record.state === "absent") await this.#store.wipe();
    return true;
  }

  #transact(parts: KeyParts, event: Event): Transacted {
    const isRunning = (token: Token): boolean => this.#running.has(token);
    return this.#store.transact(event, { isRunning, keepsEntries: parts.ledger.isKept });
  }

  async #withClaim<Result>(
    route: string,
    failed: Result,
    act: (claim: LocalClaim) => Promise<Result>,
  ): Promise<Result> {
    try {
      const parts = await this.parts();
      const policy = parts.route(route);
      return policy === null ? failed : await act(this.#claimWith(parts, policy));
    } catch {
      return failed;
    }
  }
}
