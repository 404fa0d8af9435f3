/**
 * The Durable Object of one idempotency key. A shell: it reads what comes in, lets its keeper step the record, answers. It decides
 * nothing and forgets everything: after an eviction or a crash storage alone says what is true.
 */
import { DurableObject } from "cloudflare:workers";
import type { Seen } from "../core/audit/observe.ts";
import type { ReportingAttempt } from "../core/effect/judge.ts";
import type { Told } from "../core/effect/report.ts";
import type { Evidence, UnknownReason } from "../core/entry.ts";
import type { Grant } from "../core/event.ts";
import { FLUSH_RETRY_MS } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type {
  Attested,
  Begun,
  Closing,
  FreshAnswer,
  Inspection,
  Keyring,
  LedgerPort,
  Look,
  OriginPort,
  ProbePort,
  QuotaPort,
  Rehearsed,
  Renewal,
  Report,
  Resolution,
  Resolving,
  Sealing,
  Settling,
  Telling,
} from "../core/ports.ts";
import type { Token } from "../core/record.ts";
import { nameOf } from "../report.ts";
import { askAttempt } from "./effects/ask.ts";
import { tellEffects } from "./effects/tell.ts";
import { type Executor, submit } from "./execute.ts";
import { inquire, inquireWhenDue } from "./inquiry/inquire.ts";
import { Keeper } from "./keeper.ts";
import { LocalClaim, refuseStore } from "./local-claim.ts";
import { describeRecord } from "./look.ts";
import { inspectKey } from "./operator/inspect.ts";
import { resolveKey } from "./operator/resolve.ts";
import { readAsk, readOperation, responseFor } from "./wire.ts";

/** One for all: an answer that most requests never get is not made for each of them. */
const REFUSED = refuseStore();

/** What a key object is given. `route` finds a route's policy; null: this version has no such route. */
export type KeyParts = {
  route: (id: string) => RoutePolicy | null;
  keyring: Keyring;
  origin: OriginPort;
  probe: ProbePort;
  ledger: LedgerPort;
  quota: QuotaPort;
  report: Report;
};

export abstract class KeyObjectShell<Env> extends DurableObject<Env> {
  readonly #keeper = new Keeper(this.ctx.id.name ?? this.ctx.id.toString(), this.ctx.storage, (work) =>
    this.ctx.waitUntil(work),
  );

  /** The parts, made once an isolate; rejects while the deployment is misconfigured. */
  protected abstract parts(): Promise<KeyParts>;

  /** `POST /submit` runs an operation here; `POST /begin` only claims the key for a caller that runs it. */
  override async fetch(request: Request): Promise<Response> {
    const work = this.#serve(request);
    // A caller that leaves cancels nothing.
    this.ctx.waitUntil(work.then(() => this.#keeper.store.healAlarm()));
    return responseFor(await work);
  }

  #serve(request: Request): Promise<Begun> {
    // Where a defect ends this nothing has been sent: `submit` lets nothing escape once it has a grant, and a claim alone sends nothing.
    return this.#attend<Begun>(REFUSED, async (parts) => {
      const operation = readOperation(request);
      const policy = parts.route(operation.route);
      if (policy === null) return REFUSED;
      // Who asks says where the attempt runs: its route may have been changed since, in one of the two.
      if (readAsk(request) === "begin") {
        return new LocalClaim(this.#keeper, parts, policy, "worker").begin(operation);
      }
      const claim = new LocalClaim(this.#keeper, parts, policy, "object");
      return submit(this.#executorOf(parts, claim), operation, policy);
    });
  }

  #executorOf({ origin, report }: KeyParts, claim: LocalClaim): Executor {
    return {
      claim,
      origin,
      report,
      keepAlive: (work) => this.ctx.waitUntil(work),
      ended: (token) => {
        this.#keeper.running.stop(token);
        // An attempt that a defect has ended changed nothing that would wake who waits for it.
        this.#keeper.waiters.wakeAll();
      },
    };
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

  report(route: string, token: Token, reason: UnknownReason): Promise<Closing> {
    return this.#withClaim(route, "failed", (claim) => claim.report(token, reason));
  }

  release(route: string, token: Token, evidence: Evidence): Promise<Closing> {
    return this.#withClaim(route, "failed", (claim) => claim.release(token, evidence));
  }

  /** Records a report of effects of one attempt. Made again, it records nothing more. */
  tell(attempt: ReportingAttempt, report: readonly Told[]): Promise<Telling> {
    return this.#attend<Telling>({ kind: "unavailable" }, async (parts) => {
      const telling = await tellEffects(this.#keeper, parts, attempt, report);
      await this.#keeper.store.healAlarm();
      return telling;
    });
  }

  /** See `KeyPort`. */
  ask(effect: string): Promise<Attested> {
    return this.#attend<Attested>({ kind: "unavailable" }, async (parts) => {
      const attested = await askAttempt(this.#keeper, parts, effect);
      await this.#keeper.store.healAlarm();
      return attested;
    });
  }

  /**
   * Notes what callers of this key were told elsewhere, or are about to be told where its route's `audit` is `durable`: then false says that it
   * is not noted. An unused key is left unused.
   */
  observe(seen: readonly Seen[]): Promise<boolean> {
    return this.#attend(false, async (parts) => {
      const loaded = this.#keeper.store.load();
      if (loaded.kind === "unreadable") return false;
      if (loaded.record.state === "absent") return true;
      await this.#keeper.store.healAlarm();
      if (parts.route(loaded.record.route)?.audit === "durable") return this.#keeper.observeNow(parts, seen);
      this.#keeper.observe(parts, seen);
      return true;
    });
  }

  /** What is true of this key, after waiting up to `waitMs` for a change. Writes nothing for a key that was never used. */
  look(waitMs: number): Promise<Look> {
    return this.#attend<Look>({ kind: "unavailable" }, async (parts) => {
      await this.#keeper.store.healAlarm();
      const first = this.#lookNow(parts);
      const isMoving =
        first.kind === "found" && (first.status.state === "in-flight" || first.status.state === "unknown");
      if (waitMs <= 0 || !isMoving) return first;
      // Its answer is a change like any other, and wakes who waits.
      if (first.status.state === "unknown") this.ctx.waitUntil(inquire(this.#keeper, parts, null));
      await this.#keeper.waiters.wait(waitMs);
      return this.#lookNow(parts);
    });
  }

  /** Whoever looks at a record whose attempt was lost with its executor is told so. An unused key is left unused. */
  #lookNow(parts: KeyParts): Look {
    const { store } = this.#keeper;
    const loaded = store.load();
    if (loaded.kind === "readable" && loaded.record.state !== "absent")
      this.#keeper.step(parts, { do: "tick" });
    return describeRecord(store.load(), Date.now(), parts.ledger.isKept, (record) =>
      store.readEffects(record),
    );
  }

  /** The same for operators, with more of it. Writes nothing. */
  inspect(rehearsed: Rehearsed | null): Promise<Inspection> {
    return this.#attend<Inspection>({ kind: "unavailable" }, async (parts) =>
      inspectKey(this.#keeper, parts, rehearsed),
    );
  }

  /** Records an operator's word on an unknown outcome. Of a key that was never used nothing is recorded. */
  resolve(resolution: Resolution): Promise<Resolving> {
    return this.#attend<Resolving>({ kind: "unavailable" }, async (parts) => {
      const resolving = await resolveKey(this.#keeper, parts, resolution);
      await this.#keeper.store.healAlarm();
      return resolving;
    });
  }

  /** One alarm for all due times; a pure tick over what is stored, safe early, late, twice or never. Never throws. */
  override async alarm(): Promise<void> {
    const { store } = this.#keeper;
    store.noteAlarmRan();
    let pauseMs = FLUSH_RETRY_MS;
    let parts: KeyParts | null = null;
    try {
      parts = await this.parts();
      const ticked = await this.#keeper.tick(parts);
      pauseMs = Math.max(ticked, await inquireWhenDue(this.#keeper, parts));
    } catch (error) {
      parts?.report("defect", { where: "alarm", error: nameOf(error) });
    }
    store.armAfterAlarm(Date.now() + pauseMs);
  }

  #withClaim<Result>(
    route: string,
    failed: Result,
    act: (claim: LocalClaim) => Promise<Result>,
  ): Promise<Result> {
    return this.#attend(failed, async (parts) => {
      const policy = parts.route(route);
      return policy === null ? failed : act(new LocalClaim(this.#keeper, parts, policy, "worker"));
    });
  }

  /** What every call but the alarm goes through: where the deployment is misconfigured, or on a defect, its caller is told `failed`. */
  async #attend<Result>(failed: Result, act: (parts: KeyParts) => Promise<Result>): Promise<Result> {
    let parts: KeyParts | null = null;
    try {
      parts = await this.parts();
      return await act(parts);
    } catch (error) {
      parts?.report("defect", { where: "key object", error: nameOf(error) });
      return failed;
    }
  }
}
