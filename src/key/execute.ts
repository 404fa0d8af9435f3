/**
 * Steps 5 to 8 of a guarded request, the same wherever they run: claim, dispatch, settle, answer. The write order is the promise:
 * the grant is durable before the origin hears anything, the answer is durable before the caller hears anything.
 */

import type { UnknownReason } from "../core/entry.ts";
import type { Grant } from "../core/event.ts";
import { type Pairs, pairsForClient } from "../core/http/headers.ts";
import { isReplayable, judgeAnswer } from "../core/http/outcome.ts";
import { RETRY_STORE_S, RETRY_UNKNOWN_S, SETTLE_MARGIN_MS } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type { Came, Claim, Given, Operation, OriginPort, Report, Submitted } from "../core/ports.ts";
import { lostAnswer, problem } from "../core/problem.ts";
import type { Token } from "../core/record.ts";
import { nameOf } from "../report.ts";
import { refuseNotKept } from "./local-claim.ts";
import { type PassEnd, passOn } from "./pass-on.ts";
import { copyAnswer, describeOnly } from "./storage/copy.ts";

export type Executor = {
  claim: Claim;
  origin: OriginPort;
  /** Keeps a promise going after the caller has its answer. */
  keepAlive: (work: Promise<unknown>) => void;
  report: Report;
  /** Told once of every attempt, when nothing more will come of it here. */
  ended: (token: Token) => void;
};

type Whole = Extract<Came, { kind: "whole" }>;
type PassedWhole = Extract<PassEnd, { kind: "whole" }>;
type Run = { executor: Executor; grant: Grant; operation: Operation; policy: RoutePolicy };

/** Claims the key and, where that grants an attempt, runs it. A defect is reported and told as an unknown outcome. */
export async function submit(
  executor: Executor,
  operation: Operation,
  policy: RoutePolicy,
): Promise<Submitted> {
  try {
    const begun = await executor.claim.begin(operation);
    if (begun.kind !== "run") return begun;
    return await runAttempt({ executor, grant: begun.grant, operation, policy });
  } catch (error) {
    executor.report("defect", { where: "attempt", error: nameOf(error) });
    return { kind: "refused", problem: lostAnswer(false, RETRY_UNKNOWN_S) };
  }
}

/** Stopping anywhere in here leaves the record in flight; its lease, or the object's restart, makes that unknown. */
async function runAttempt(run: Run): Promise<Submitted> {
  const { executor, grant, operation, policy } = run;
  const budgetMs = Math.min(policy.originTimeoutMs, grant.executionMs);
  const stop = new AbortController();
  const lease = keepLease(run, budgetMs, stop);
  const came = await executor.origin.dispatch(
    operation.request,
    { name: operation.name, effect: grant.effect, n: grant.token.n },
    { budgetMs, streamMs: grant.executionMs, bodyBytesMax: policy.responseBytesMax },
    stop,
  );
  if (came.kind === "open") return closeOpen(run, came, lease, stop);
  lease.end();
  try {
    return await close(run, came);
  } finally {
    // A defect ends the attempt, too: the record is then found in flight with nobody running it.
    executor.ended(grant.token);
  }
}

function close(run: Run, came: Exclude<Came, { kind: "open" }>): Promise<Submitted> {
  switch (came.kind) {
    case "whole":
      return closeWhole(run, came);
    case "lost":
      return reportLost(run, came.reason);
    case "unsent":
      return releaseUnsent(run);
  }
}

/** The strongest evidence there is: the origin was never spoken to. */
async function releaseUnsent(run: Run): Promise<Submitted> {
  const closing = await run.executor.claim.release(run.grant.token, "never-dispatched");
  return closing === "fenced" ? claimLost() : { kind: "refused", problem: problem("request-incomplete") };
}

async function closeWhole(run: Run, came: Whole): Promise<Submitted> {
  const judgement = judgeAnswer(came.status, run.policy, came.evidence);
  const { claim } = run.executor;
  switch (judgement.kind) {
    case "keep":
      return isReplayable(came.status) ? keep(run, came) : keepNothing(run, came);
    case "release": {
      const closing = await claim.release(run.grant.token, judgement.evidence);
      if (closing === "fenced") return claimLost();
      return { kind: closing === "done" ? "released" : "doubtful", given: givenFrom(came) };
    }
    case "unknown": {
      if (!judgement.isOrigins) return reportLost(run, judgement.reason, came.status === 504);
      const closing = await claim.report(run.grant.token, judgement.reason);
      return closing === "fenced" ? claimLost() : { kind: "doubtful", given: givenFrom(came) };
    }
  }
}

async function keep(run: Run, came: Whole): Promise<Submitted> {
  const { policy, executor, grant, operation } = run;
  const settling = await executor.claim.settle(grant, await copyAnswer(came, policy), operation);
  switch (settling.kind) {
    case "settled":
      return { ...settling, kind: "executed", given: givenFrom(came) };
    case "fenced":
      return claimLost();
    case "failed":
      // The answer is whole but not durable. Giving it now could be contradicted by a later retry: the outcome stays unknown.
      return reportLost(run, "store-failed");
  }
}

/** A whole answer of a status that the runtime can't make a response of: done, and nobody can be given it. */
async function keepNothing(run: Run, came: Whole): Promise<Submitted> {
  const answer = await describeOnly(came.status, came.body);
  const settling = await run.executor.claim.settle(run.grant, answer, run.operation);
  if (settling.kind === "fenced") return claimLost();
  if (settling.kind === "failed") return reportLost(run, "store-failed");
  return refuseNotKept(answer);
}

type Open = Extract<Came, { kind: "open" }>;

/** What an answer means doesn't depend on its size; only what can be kept of it does. */
async function closeOpen(run: Run, came: Open, lease: Lease, stop: AbortController): Promise<Submitted> {
  const { claim } = run.executor;
  const { token } = run.grant;
  const judgement = judgeAnswer(came.status, run.policy, came.evidence);
  if (judgement.kind === "unknown" && !judgement.isOrigins) {
    stop.abort();
    lease.end();
    try {
      return await reportLost(run, judgement.reason, came.status === 504);
    } finally {
      run.executor.ended(token);
    }
  }
  const onWhole = async ({ size, digest }: PassedWhole): Promise<unknown> => {
    switch (judgement.kind) {
      case "keep":
        return claim.settle(
          run.grant,
          { kind: "not-kept", status: came.status, size, digest },
          run.operation,
        );
      case "release":
        return claim.release(token, judgement.evidence);
      case "unknown":
        return claim.report(token, judgement.reason);
    }
  };
  const given = passThrough(run, came, lease, stop.signal, onWhole);
  const kind =
    judgement.kind === "keep" ? "streamed" : judgement.kind === "release" ? "released" : "doubtful";
  if (isReplayable(came.status)) return { kind, given };
  // The runtime can't make a response of it. Its body goes to nobody, and is counted all the same.
  await given.body.cancel();
  return { kind: "refused", problem: problem("answer-not-kept", null, { answer_status: came.status }) };
}

/**
 * The first caller gets the whole of an answer that can't be kept; what it was is stored once it has passed. Stopping here, or
 * a store that fails then, leaves the record in flight: its lease makes that unknown, though the caller has the answer.
 */
function passThrough(
  run: Run,
  came: Open,
  lease: Lease,
  stopped: AbortSignal,
  onWhole: (passed: PassedWhole) => Promise<unknown>,
): { status: number; headers: Pairs; body: ReadableStream<Uint8Array> } {
  const { claim, keepAlive, ended } = run.executor;
  const { token } = run.grant;
  const passing = passOn(came.body, stopped);
  const closed = passing.end.then((end) =>
    end.kind === "whole" ? onWhole(end) : claim.report(token, "body-broken"),
  );
  keepAlive(
    closed.finally(() => {
      lease.end();
      ended(token);
    }),
  );
  return { status: came.status, headers: pairsForClient(came.headers), body: passing.body };
}

async function reportLost(
  run: Run,
  reason: UnknownReason,
  isTimeout = reason === "timeout",
): Promise<Submitted> {
  const closing = await run.executor.claim.report(run.grant.token, reason);
  if (closing === "fenced") return claimLost();
  return { kind: "refused", problem: lostAnswer(isTimeout, RETRY_UNKNOWN_S) };
}

function claimLost(): Submitted {
  return { kind: "refused", problem: problem("claim-lost", RETRY_STORE_S) };
}

function givenFrom(came: Whole): Given {
  return { status: came.status, headers: pairsForClient(came.headers), body: came.body };
}

type Lease = { end: () => void };

/**
 * Renews at each third of the lease, unless the whole execution fits into it. A fenced renewal stops the call; a lapsed one
 * leaves it, because a late answer is welcome.
 */
function keepLease(run: Run, budgetMs: number, stop: AbortController): Lease {
  const { grant, executor } = run;
  const isLongEnough = budgetMs + SETTLE_MARGIN_MS <= grant.leaseMs && grant.executionMs <= grant.leaseMs;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isEnded = false;
  const renewLater = (): void => {
    timer = setTimeout(() => executor.keepAlive(renewOnce()), grant.leaseMs / 3);
  };
  const renewOnce = async (): Promise<void> => {
    const renewal = await executor.claim.renew(grant.token);
    if (renewal === "fenced") stop.abort();
    else if (renewal !== "lapsed" && !isEnded) renewLater();
  };
  if (!isLongEnough) renewLater();
  return {
    end() {
      isEnded = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
