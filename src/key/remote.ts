/** The key object as seen from outside it: both ways to run an operation, behind one port. */
import { type Called, callObject } from "../call-object.ts";
import type { Evidence, UnknownReason } from "../core/entry.ts";
import type { Grant } from "../core/event.ts";
import { RETRY_UNKNOWN_S } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type {
  Attested,
  Begun,
  Claim,
  Closing,
  FreshAnswer,
  Inspection,
  KeyPort,
  Look,
  Operation,
  OriginPort,
  Renewal,
  Report,
  Resolving,
  Sealing,
  Settling,
  Submitted,
  Telling,
} from "../core/ports.ts";
import { lostAnswer } from "../core/problem.ts";
import type { Token } from "../core/record.ts";
import { submit } from "./execute.ts";
import type { KeyObjectShell } from "./key-object.ts";
import { leaseOf, refuseStore } from "./local-claim.ts";
import { type Ask, readBegun, requestFor } from "./wire.ts";

type Objects = DurableObjectNamespace<KeyObjectShell<unknown>>;
type Stub = DurableObjectStub<KeyObjectShell<unknown>>;

const UNAVAILABLE = { kind: "unavailable" } as const;

/** Every call of a key object may be repeated: `begin` carries its nonce, the others their token. */
function callKey<Result>(
  objects: Objects,
  name: string,
  call: (stub: Stub) => Promise<Result>,
): Promise<Called<Result>> {
  return callObject(() => call(objects.getByName(name)));
}

/** The same for a caller to whom it is one whether the object got the call. */
async function callOr<Result>(
  failed: Result,
  objects: Objects,
  name: string,
  call: (stub: Stub) => Promise<Result>,
): Promise<Result> {
  const called = await callKey(objects, name, call);
  return called.kind === "failed" ? failed : called.result;
}

async function ask(objects: Objects, what: Ask, operation: Operation): Promise<Called<Begun>> {
  return callKey(objects, operation.name, async (stub) =>
    readBegun(await stub.fetch(await requestFor(what, operation))),
  );
}

/** Step 4: hands an operation to its key. `executor = "object"`: the object runs it, and one call does it all. */
async function submitToObject(objects: Objects, operation: Operation): Promise<Submitted> {
  const called = await ask(objects, "submit", operation);
  if (called.kind === "failed") {
    // Whether the object got as far as the origin is not known here; the next try with this key finds out.
    return called.sent ? { kind: "refused", problem: lostAnswer(false, RETRY_UNKNOWN_S) } : refuseStore();
  }
  return called.result.kind === "run" ? refuseStore() : called.result;
}

/**
 * Counts from now. `stop` gives the milliseconds that may have passed. Where the clock has gone back a timer of `limitMs` tells whether that
 * is less than the limit (the limit, then) or nobody knows (infinitely many). The clock tells of the time in which this process stood still.
 */
function startWatch(limitMs: number): { stop: () => number } {
  const begunAt = Date.now();
  let hasRung = false;
  const timer = setTimeout(() => {
    hasRung = true;
  }, limitMs);
  return {
    stop() {
      clearTimeout(timer);
      const ms = Date.now() - begunAt;
      if (hasRung && ms < limitMs) return Number.POSITIVE_INFINITY;
      return ms < 0 ? limitMs : ms;
    },
  };
}

/** The claim on a key, held from outside its object. */
class RemoteClaim implements Claim {
  readonly #objects: Objects;
  readonly #operation: Operation;
  /** How long a grant of a new life holds. One of an earlier life may hold for longer or less. */
  readonly #leaseMs: number;

  constructor(objects: Objects, operation: Operation, leaseMs: number) {
    this.#objects = objects;
    this.#operation = operation;
    this.#leaseMs = leaseMs;
  }

  /** A claim that can't be made means that nothing was sent: only the holder of a grant dispatches. */
  async begin(operation: Operation): Promise<Begun> {
    const watch = startWatch(this.#leaseMs);
    const called = await ask(this.#objects, "begin", operation);
    const tookMs = watch.stop();
    if (called.kind === "failed") return refuseStore();
    const begun = called.result;
    if (begun.kind !== "run") return begun;
    const isInTime = tookMs < this.#leaseMs && this.#leaseMs <= begun.grant.leaseMs;
    return isInTime || (await this.#isStillHeld(begun.grant, tookMs)) ? begun : refuseStore();
  }

  /**
   * A grant that comes after its lease may be over permits no dispatch: others may know by now that the outcome is unknown, and a probe
   * may have found no effect and freed the key. Only a renewal that comes in time shows that it is still ours; else the key is freed.
   * `tookMs` counts from before the claim was asked for, so a wait for a twin makes a grant look late that isn't.
   */
  async #isStillHeld({ token, leaseMs, executionMs }: Grant, tookMs: number): Promise<boolean> {
    const limitMs = Math.min(leaseMs, executionMs - tookMs);
    if (limitMs > 0 && (await this.#renewWithin(limitMs, token))) return true;
    await this.release(token, "never-dispatched");
    return false;
  }

  async #renewWithin(limitMs: number, token: Token): Promise<boolean> {
    const watch = startWatch(limitMs);
    const isRenewed = (await this.renew(token)) === "renewed";
    return watch.stop() < limitMs && isRenewed;
  }

  renew(token: Token): Promise<Renewal> {
    return this.#call<Renewal>("failed", (stub) => stub.renew(this.#operation.route, token));
  }

  settle(
    { token, effect }: Pick<Grant, "token" | "effect">,
    answer: FreshAnswer,
    { fp, rawKey }: Sealing,
  ): Promise<Settling> {
    const { route } = this.#operation;
    return this.#call<Settling>({ kind: "failed" }, (stub) =>
      stub.settle(route, { token, effect }, answer, { fp, rawKey }),
    );
  }

  report(token: Token, reason: UnknownReason): Promise<Closing> {
    return this.#call<Closing>("failed", (stub) => stub.report(this.#operation.route, token, reason));
  }

  release(token: Token, evidence: Evidence): Promise<Closing> {
    return this.#call<Closing>("failed", (stub) => stub.release(this.#operation.route, token, evidence));
  }

  #call<Result>(failed: Result, call: (stub: Stub) => Promise<Result>): Promise<Result> {
    return callOr(failed, this.#objects, this.#operation.name, call);
  }
}

/** `keepAlive` is the request's own `waitUntil`. */
export function openKeyPort(
  objects: Objects,
  origin: OriginPort,
  report: Report,
  keepAlive: (work: Promise<unknown>) => void,
): KeyPort {
  const run = (operation: Operation, policy: RoutePolicy): Promise<Submitted> => {
    if (policy.executor === "object") return submitToObject(objects, operation);
    const claim = new RemoteClaim(objects, operation, Math.min(leaseOf(policy), policy.executionMsMax));
    return submit({ claim, origin, report, keepAlive, ended: () => undefined }, operation, policy);
  };
  return {
    submit(operation, policy) {
      const work = run(operation, policy);
      // A client that leaves cancels nothing: what has begun is finished and stored.
      keepAlive(work);
      return work;
    },
    look: (name, waitMs) => callOr<Look>(UNAVAILABLE, objects, name, async (stub) => await stub.look(waitMs)),
    observe: (name, seen) => callOr(false, objects, name, async (stub) => await stub.observe(seen)),
    tell: ({ name, n, effect }, told) =>
      callOr<Telling>(UNAVAILABLE, objects, name, async (stub) => await stub.tell({ n, effect }, told)),
    inspect: (name, rehearsed) =>
      callOr<Inspection>(UNAVAILABLE, objects, name, async (stub) => await stub.inspect(rehearsed)),
    resolve: (name, resolution) =>
      callOr<Resolving>(UNAVAILABLE, objects, name, async (stub) => await stub.resolve(resolution)),
    ask: (name, effect) =>
      callOr<Attested>(UNAVAILABLE, objects, name, async (stub) => await stub.ask(effect)),
  };
}
