/** The claim on a key, by the object that holds it. The only caller of the state machine. */
import { toHex } from "../core/bytes.ts";
import type { Evidence, UnknownReason } from "../core/entry.ts";
import type { Event, Grant, StepAnswer } from "../core/event.ts";
import { FINGERPRINT_VERSION } from "../core/fingerprint/message.ts";
import {
  LEASE_MS_MAX,
  RETRY_IN_FLIGHT_S,
  RETRY_QUOTA_S,
  RETRY_STORE_S,
  RETRY_UNKNOWN_S,
  SETTLE_MARGIN_MS,
  STORE_PAUSE_MS,
  STORE_TRIES_MAX,
} from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type {
  Begun,
  Claim,
  Closing,
  FreshAnswer,
  Given,
  Keyring,
  Operation,
  QuotaPort,
  Renewal,
  Sealing,
  Settling,
  Submitted,
} from "../core/ports.ts";
import { lostAnswer, problem } from "../core/problem.ts";
import {
  type Answer,
  isPurgeable,
  type LiveRecord,
  type Settled,
  type Terms,
  type Token,
  windowEnd,
} from "../core/record.ts";
import type { Fresh } from "../core/transition.ts";
import type { OpenedAnswer } from "./opened.ts";
import type { Running } from "./running.ts";
import type { SharedTake } from "./shared-take.ts";
import { type Binding, type Kept, openAnswer, sealAnswer } from "./storage/seal.ts";
import type { KeyStore, Transacted } from "./storage/store.ts";
import type { Waiters } from "./waiters.ts";

export type ClaimParts = {
  name: string;
  store: KeyStore;
  waiters: Waiters;
  opened: OpenedAnswer;
  keyring: Keyring;
  quota: QuotaPort;
  take: SharedTake;
  /** Whether there is a ledger to tell. */
  keepsEntries: boolean;
  /** Called after every change: entries may be waiting in the outbox. */
  onChange: () => void;
};

export class LocalClaim implements Claim {
  readonly #parts: ClaimParts;
  readonly #policy: RoutePolicy;
  readonly #running: Running;
  readonly #terms: Terms;

  constructor(parts: ClaimParts, policy: RoutePolicy, running: Running) {
    this.#parts = parts;
    this.#policy = policy;
    this.#running = running;
    this.#terms = termsOf(policy);
  }

  /** Waits for a twin in flight as long as the operation asks, then takes whatever is true. */
  async begin(operation: Operation): Promise<Begun> {
    const waitUntil = Date.now() + operation.waitMs;
    for (;;) {
      const refused = await this.#refuseByQuota(operation.owner);
      if (refused !== null) return refused;
      const { nonce, fp, authorized, owner, route } = operation;
      const fresh: Fresh = { inc: randomHex(), effect: randomHex(), owner, route, terms: this.#terms };
      const done = this.#step({ do: "begin", nonce, fp, authorized, fresh });
      if (done.kind !== "stepped") return refuseStore();
      const answer = done.step.answer;
      if (answer.kind === "run" && answer.repeated && this.#policy.executor === "object") {
        await this.#running.endOf(answer.grant.token);
        continue;
      }
      if (answer.kind === "run" && this.#policy.executor === "object")
        this.#running.start(answer.grant.token);
      if (answer.kind !== "in-flight") return this.#answerBegin(answer, operation);
      const left = waitUntil - Date.now();
      if (left <= 0 || (await this.#parts.waiters.wait(left)) === "full") {
        return { kind: "refused", problem: problem("in-flight", RETRY_IN_FLIGHT_S) };
      }
    }
  }

  async renew(token: Token): Promise<Renewal> {
    const done = this.#step({ do: "renew", token });
    if (done.kind !== "stepped") return "failed";
    const { kind } = done.step.answer;
    return kind === "done" ? "renewed" : kind === "lapsed" ? "lapsed" : "fenced";
  }

  async settle(
    grant: Pick<Grant, "token" | "effect">,
    fresh: FreshAnswer,
    sealing: Sealing,
  ): Promise<Settling> {
    const { token, effect } = grant;
    const { answer, rows } = await this.#seal(token, fresh, sealing);
    const done = await this.#stepUntilStored({ do: "settle", token, effect, answer }, rows);
    if (done.kind !== "stepped") return { kind: "failed" };
    const { record } = done.step;
    if (done.step.answer.kind !== "done" || record.state !== "settled") return { kind: "fenced" };
    return { kind: "settled", createdAt: record.settledAt, expiresAt: windowEnd(record) };
  }

  report(token: Token, reason: UnknownReason): Promise<Closing> {
    return this.#close({ do: "report", token, reason });
  }

  release(token: Token, evidence: Evidence): Promise<Closing> {
    return this.#close({ do: "release", token, evidence });
  }

  async #close(event: Event): Promise<Closing> {
    const done = await this.#stepUntilStored(event, []);
    if (done.kind !== "stepped") return "failed";
    return done.step.answer.kind === "done" ? "done" : "fenced";
  }

  /** The quota, which only new keys take from. Null: go on. */
  async #refuseByQuota(owner: string): Promise<Extract<Submitted, { kind: "refused" }> | null> {
    const { quota } = this.#policy;
    if (quota === null || !this.#isNew()) return null;
    const { take, quota: counter } = this.#parts;
    const taken = await take.once(() => counter.take(owner, quota.newKeysPerMinute));
    if (taken === "refused") return { kind: "refused", problem: problem("quota-exceeded", RETRY_QUOTA_S) };
    return taken === "unavailable" ? refuseStore() : null;
  }

  #isNew(): boolean {
    const loaded = this.#parts.store.load();
    if (loaded.kind === "unreadable") return false;
    return loaded.record.state === "absent" || isPurgeable(loaded.record, Date.now());
  }

  async #answerBegin(
    answer: Exclude<StepAnswer, { kind: "in-flight" }>,
    operation: Operation,
  ): Promise<Begun> {
    switch (answer.kind) {
      case "run":
        return { kind: "run", grant: answer.grant };
      case "replay":
        return this.#replay(answer.settled, operation);
      case "authorize":
        return { kind: "authorize" };
      case "mismatch":
        return { kind: "refused", problem: problem("key-reused") };
      case "expired":
        return { kind: "refused", problem: problem("key-expired") };
      case "unknown": {
        const isOwn = answer.unknown.nonce === operation.nonce;
        const told = isOwn ? lostAnswer(false, RETRY_UNKNOWN_S) : problem("outcome-unknown", RETRY_UNKNOWN_S);
        return { kind: "refused", problem: told };
      }
      case "full":
        return refuseStore();
      case "done":
      case "lapsed":
      case "fenced":
      case "proposed":
      case "stale":
        throw new Error(`begin is never answered ${answer.kind}`);
    }
  }

  async #replay(settled: Settled, operation: Operation): Promise<Begun> {
    const { answer } = settled;
    if (answer.kind === "lost") return { kind: "refused", problem: problem("answer-not-kept") };
    if (answer.kind === "not-kept") {
      const extras = { answer_status: answer.status, answer_size: answer.size, answer_digest: answer.digest };
      return { kind: "refused", problem: problem("answer-not-kept", null, extras) };
    }
    const given = this.#parts.opened.find(settled) ?? (await this.#open(settled, answer, operation));
    if (given === null) return refuseStore();
    // The same call made again, because its reply was lost, is the one that executed.
    const kind = settled.nonce === operation.nonce ? "executed" : "replayed";
    return { kind, given, createdAt: settled.settledAt, expiresAt: windowEnd(settled) };
  }

  /** Null: what is stored does not open. */
  async #open(settled: Settled, answer: Kept, operation: Operation): Promise<Given | null> {
    const { store, keyring, opened } = this.#parts;
    const binding = this.#bindingOf(settled, answer.status, operation);
    const plain = await openAnswer(keyring, answer, binding, (row) => store.readRow(row));
    if (plain.kind === "damaged") return null;
    const given = { status: answer.status, headers: plain.headers, body: plain.body };
    if (!this.#policy.sealWithKey) opened.keep(settled, given);
    return given;
  }

  async #seal(
    token: Token,
    fresh: FreshAnswer,
    sealing: Sealing,
  ): Promise<{ answer: Answer; rows: readonly ArrayBuffer[] }> {
    if (fresh.kind === "not-kept") return { answer: fresh, rows: [] };
    const binding = this.#bindingOf({ ...token, fp: sealing.fp }, fresh.status, sealing);
    return sealAnswer(this.#parts.keyring, fresh, binding);
  }

  #bindingOf(record: Token & Pick<LiveRecord, "fp">, status: number, sealing: Sealing): Binding {
    const secret = this.#policy.sealWithKey ? sealing.rawKey : "";
    return { name: this.#parts.name, inc: record.inc, n: record.n, status, fp: record.fp, secret };
  }

  #step(event: Event, rows: readonly ArrayBuffer[] = []): Transacted {
    const isRunning = (token: Token): boolean => this.#running.has(token);
    const done = this.#parts.store.transact(
      event,
      { isRunning, keepsEntries: this.#parts.keepsEntries },
      rows,
    );
    if (done.kind === "stepped" && done.step.record !== done.before) {
      if (done.before.state === "in-flight" || done.before.state === "unknown") this.#parts.waiters.wakeAll();
      // A grant is told along with its outcome, or by the alarm: one call to the ledger instead of two.
      if (done.step.record.state !== "in-flight") this.#parts.onChange();
    }
    return done;
  }

  /** The origin has spoken: a store that fails once is asked again before its word is given up. */
  async #stepUntilStored(event: Event, rows: readonly ArrayBuffer[]): Promise<Transacted> {
    for (let tries = 1; ; tries++) {
      const done = this.#step(event, rows);
      if (done.kind !== "failed" || tries === STORE_TRIES_MAX) return done;
      await new Promise((resolve) => setTimeout(resolve, STORE_PAUSE_MS * 2 ** tries));
    }
  }
}

/** The rules a new life is judged by. */
function termsOf(policy: RoutePolicy): Terms {
  return {
    fingerprint: FINGERPRINT_VERSION,
    executor: policy.executor,
    onCrash: policy.onCrash,
    probeDelayMs: policy.probe?.originDelayMsMax ?? null,
    windowMs: policy.windowMs,
    quarantineMs: policy.quarantineMs,
    leaseMs: Math.min(policy.originTimeoutMs + SETTLE_MARGIN_MS, LEASE_MS_MAX),
    executionMsMax: policy.executionMsMax,
  };
}

/** 128 random bits. */
function randomHex(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

export function refuseStore(): Extract<Submitted, { kind: "refused" }> {
  return { kind: "refused", problem: problem("store-unavailable", RETRY_STORE_S) };
}
