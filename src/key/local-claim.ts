/** The claim on a key, by the object that holds it. */
import { toHex } from "../core/bytes.ts";
import type { Evidence, UnknownReason } from "../core/entry.ts";
import type { Event, Grant, StepAnswer } from "../core/event.ts";
import { nameRule } from "../core/fingerprint/message.ts";
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
import { isDamaged, seenIn } from "./audit/told.ts";
import { type InquiryParts, inquire } from "./inquiry/inquire.ts";
import type { Keeper } from "./keeper.ts";
import { type Binding, type Kept, openAnswer, sealFresh } from "./storage/seal.ts";
import type { Transacted, Witness } from "./storage/store.ts";

export type ClaimParts = InquiryParts & { quota: QuotaPort };

export class LocalClaim implements Claim {
  readonly #keeper: Keeper;
  readonly #parts: ClaimParts;
  readonly #policy: RoutePolicy;
  readonly #terms: Terms;

  constructor(keeper: Keeper, parts: ClaimParts, policy: RoutePolicy, runsAt: Terms["executor"]) {
    this.#keeper = keeper;
    this.#parts = parts;
    this.#policy = policy;
    this.#terms = termsOf(policy, runsAt);
  }

  /**
   * Waits for a twin in flight as long as the operation asks, then takes whatever is true. Where the outcome is unknown the origin
   * is asked first, if it can be.
   */
  async begin(operation: Operation): Promise<Begun> {
    let left = operation.waitMs;
    let seenAt = Date.now();
    for (let hasAsked = false; ; ) {
      const refused = await this.#refuseByQuota(operation.owner);
      if (refused !== null) return refused;
      const { nonce, fp, authorized, owner, route } = operation;
      const fresh: Fresh = { inc: randomHex(), effect: randomHex(), owner, route, terms: this.#terms };
      // Where the clock goes back what has passed since is not known: it is counted as nothing, once.
      const now = Date.now();
      left -= Math.max(0, now - seenAt);
      seenAt = now;
      const mayWait = left > 0 && !this.#keeper.waiters.isFull;
      const mayAsk = !hasAsked && this.#policy.probe !== null;
      const done = this.#keeper.step(
        this.#parts,
        { do: "begin", nonce, fp, authorized, fresh },
        [],
        this.#witness(nonce, { mayWait, mayAsk }),
      );
      if (done.kind !== "stepped") return refuseStore();
      const answer = done.step.answer;
      if (answer.kind === "run" && answer.repeated && this.#keeper.running.has(answer.grant.token)) {
        await this.#keeper.running.endOf(answer.grant.token);
        continue;
      }
      if (answer.kind === "run" && this.#terms.executor === "object")
        this.#keeper.running.start(answer.grant.token);
      if (answer.kind === "unknown" && mayAsk) {
        hasAsked = true;
        await inquire(this.#keeper, this.#parts, operation.rawKey);
        continue;
      }
      if (answer.kind !== "in-flight" || !mayWait) return this.#answerSeen(answer, operation);
      if ((await this.#keeper.waiters.wait(left)) === "over") left = 0;
    }
  }

  /**
   * With `audit = "durable"` what the caller will be told is noted in the transaction that decides it. Who waits for a twin, or for
   * what the origin says, is told later.
   */
  #witness(nonce: string, { mayWait, mayAsk }: { mayWait: boolean; mayAsk: boolean }): Witness | undefined {
    if (this.#policy.audit !== "durable") return undefined;
    return (answer) => {
      const isToldLater = (answer.kind === "in-flight" && mayWait) || (answer.kind === "unknown" && mayAsk);
      return isToldLater ? null : seenIn(answer, nonce);
    };
  }

  /** With `audit = "eager"` it is noted once the answer has gone. */
  async #answerSeen(answer: StepAnswer, operation: Operation): Promise<Begun> {
    const begun = await this.#answerBegin(answer, operation);
    const { audit } = this.#policy;
    const seen = seenIn(answer, operation.nonce);
    if (seen === null || audit === "off") return begun;
    if (isDamaged(answer, begun)) this.#keeper.observe(this.#parts, ["store-unavailable"]);
    else if (audit === "eager") this.#keeper.observe(this.#parts, [seen]);
    return begun;
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
    const { quota: counter } = this.#parts;
    const taken = await this.#keeper.take.once(() => counter.take(owner, quota.newKeysPerMinute));
    if (taken === "refused") return { kind: "refused", problem: problem("quota-exceeded", RETRY_QUOTA_S) };
    return taken === "unavailable" ? refuseStore() : null;
  }

  #isNew(): boolean {
    const loaded = this.#keeper.store.load();
    if (loaded.kind === "unreadable") return false;
    return loaded.record.state === "absent" || isPurgeable(loaded.record, Date.now());
  }

  async #answerBegin(answer: StepAnswer, operation: Operation): Promise<Begun> {
    switch (answer.kind) {
      case "run":
        return { kind: "run", grant: answer.grant };
      case "replay":
        return this.#replay(answer.settled, operation);
      case "authorize":
        return { kind: "authorize" };
      case "mismatch":
        return { kind: "refused", problem: problem("key-reused") };
      case "in-flight":
        return { kind: "refused", problem: problem("in-flight", RETRY_IN_FLIGHT_S) };
      case "expired":
        return { kind: "refused", problem: problem("key-expired") };
      case "unknown": {
        const isOwn = answer.unknown.nonce === operation.nonce;
        const told = isOwn ? lostAnswer(false, RETRY_UNKNOWN_S) : problem("outcome-unknown", RETRY_UNKNOWN_S);
        return { kind: "refused", problem: told };
      }
      case "full":
      case "incomparable":
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
    if (answer.kind === "not-kept") return refuseNotKept(answer);
    const given = this.#keeper.opened.find(settled) ?? (await this.#open(settled, answer, operation));
    if (given === null) return refuseStore();
    // The same call made again, because its reply was lost, is the one that executed.
    const isOwn = settled.nonce === operation.nonce;
    const expiresAt = windowEnd(settled);
    const told = { given, createdAt: settled.settledAt, expiresAt };
    if (isOwn) return { kind: "executed", ...told };
    return { kind: "replayed", ...told, leftMs: expiresAt - Math.max(settled.t, Date.now()) };
  }

  /** Null: what is stored does not open. */
  async #open(settled: Settled, answer: Kept, operation: Operation): Promise<Given | null> {
    const { store, opened } = this.#keeper;
    const { isBound } = answer.sealed;
    const binding = this.#bindingOf(settled, answer.status, isBound ? operation.rawKey : "");
    const plain = await openAnswer(this.#parts.keyring, answer, binding, (row) => store.readRow(row));
    if (plain.kind === "damaged") return null;
    const given = { status: answer.status, headers: plain.headers, body: plain.body };
    if (!isBound) opened.keep(settled, given);
    return given;
  }

  async #seal(
    token: Token,
    fresh: FreshAnswer,
    sealing: Sealing,
  ): Promise<{ answer: Answer; rows: readonly ArrayBuffer[] }> {
    const isBound = this.#policy.sealWithKey;
    const binding = this.#bindingOf(
      { ...token, fp: sealing.fp },
      fresh.status,
      isBound ? sealing.rawKey : "",
    );
    return sealFresh(this.#parts.keyring, fresh, binding, isBound);
  }

  #bindingOf(record: Token & Pick<LiveRecord, "fp">, status: number, secret: string): Binding {
    return { name: this.#keeper.name, inc: record.inc, n: record.n, status, fp: record.fp, secret };
  }

  #step(event: Event, rows: readonly ArrayBuffer[] = []): Transacted {
    return this.#keeper.step(this.#parts, event, rows);
  }

  /** The origin has spoken: a store that fails once is asked again before its word is given up. */
  async #stepUntilStored(event: Event, rows: readonly ArrayBuffer[]): Promise<Transacted> {
    for (let tries = 1; ; tries++) {
      const done = this.#step(event, rows);
      if (done.kind !== "failed" || tries === STORE_TRIES_MAX) return done;
      await new Promise((resolve) => setTimeout(resolve, STORE_PAUSE_MS * 2 ** (tries - 1)));
    }
  }
}

/** How long a grant holds that is not renewed. Milliseconds. */
export function leaseOf({ originTimeoutMs }: RoutePolicy): number {
  return Math.min(originTimeoutMs + SETTLE_MARGIN_MS, LEASE_MS_MAX);
}

/** The rules a new life is judged by. */
export function termsOf(policy: RoutePolicy, executor: Terms["executor"]): Terms {
  return {
    fingerprint: nameRule(policy.fingerprint),
    executor,
    onCrash: policy.onCrash,
    probeDelayMs: policy.probe?.originDelayMsMax ?? null,
    windowMs: policy.windowMs,
    quarantineMs: policy.quarantineMs,
    leaseMs: leaseOf(policy),
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

/** Tells what is still known of an answer that was not kept. */
export function refuseNotKept(answer: { status: number; size: number; digest: string }): Submitted {
  const { status, size, digest } = answer;
  const extras = { answer_status: status, answer_size: size, answer_digest: digest };
  return { kind: "refused", problem: problem("answer-not-kept", null, extras) };
}
