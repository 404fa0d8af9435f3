/**
 * Steps 5 to 8 of a guarded request, the same wherever they run: claim, dispatch, settle, answer. The write order is the promise:
 * the grant is durable before the origin hears anything, the answer is durable before the caller hears anything.
 */

import type { UnknownReason } from "../core/entry.ts";
import type { Grant } from "../core/event.ts";
import { pairsForClient } from "../core/http/headers.ts";
import { isReplayable, type Judgement, judgeAnswer } from "../core/http/outcome.ts";
import { RETRY_STORE_S, RETRY_UNKNOWN_S, SETTLE_MARGIN_MS } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type { Came, Claim, Operation, OriginPort, Report, Submitted } from "../core/ports.ts";
import { lostAnswer, problem } from "../core/problem.ts";
import type { Token } from "../core/record.ts";
import { nameOf } from "../report.ts";
import { refuseNotKept } from "./local-claim.ts";
import { type PassEnd, passOn } from "./pass-on.ts";
import { copyAnswer, describeOnly, type WholeAnswer } from "./storage/copy.ts";

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
  let passing: Promise<unknown> | null = null;
  try {
    const came = await executor.origin.dispatch(
      operation.request,
      { name: operation.name, effect: grant.effect, n: grant.token.n },
      { budgetMs, streamMs: grant.executionMs, bodyBytesMax: policy.responseBytesMax },
      stop,
    );
    if (came.kind !== "open") return await close(run, came);
    const closing = closeOpen(run, came, stop);
    passing = closing.passing;
    return await closing.submitted;
  } finally {
    // A defect ends the attempt, too: the record is then found in flight with nobody running it.
    const end = (): void => {
      lease.end();
      executor.ended(grant.token);
    };
    if (passing === null) end();
    else executor.keepAlive(passing.finally(end));
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
  const given = { status: came.status, headers: pairsForClient(came.headers), body: came.body };
  switch (judgement.kind) {
    case "keep":
      return isReplayable(came.status) ? keep(run, given) : keepNothing(run, given);
    case "release": {
      const closing = await claim.release(run.grant.token, judgement.evidence);
      if (closing === "fenced") return claimLost();
      return { kind: closing === "done" ? "released" : "doubtful", given };
    }
    case "unknown": {
      if (!judgement.isOrigins) return reportLost(run, judgement.reason, came.status === 504);
      const closing = await claim.report(run.grant.token, judgement.reason);
      return closing === "fenced" ? claimLost() : { kind: "doubtful", given };
    }
  }
}

async function keep(run: Run, given: WholeAnswer): Promise<Submitted> {
  const { policy, executor, grant, operation } = run;
  const settling = await executor.claim.settle(grant, await copyAnswer(given, policy), operation);
  switch (settling.kind) {
    case "settled":
      return { ...settling, kind: "executed", given };
    case "fenced":
      return claimLost();
    case "failed":
      // The answer is whole but not durable. Giving it now could be contradicted by a later retry: the outcome stays unknown.
      return reportLost(run, "store-failed");
  }
}

/** A whole answer of a status that the runtime can't make a response of: done, and nobody can be given it. */
async function keepNothing(run: Run, { status, body }: WholeAnswer): Promise<Submitted> {
  const answer = await describeOnly(status, body);
  const settling = await run.executor.claim.settle(run.grant, answer, run.operation);
  if (settling.kind === "fenced") return claimLost();
  if (settling.kind === "failed") return reportLost(run, "store-failed");
  return refuseNotKept(answer);
}

type Open = Extract<Came, { kind: "open" }>;

/** `passing` ends with the body on its way to the caller, once what it was is stored; null: nothing goes on behind the answer. */
type ClosingOpen = { submitted: Promise<Submitted>; passing: Promise<unknown> | null };

/** What an answer means doesn't depend on its size; only what can be kept of it does. */
function closeOpen(run: Run, came: Open, stop: AbortController): ClosingOpen {
  const judgement = judgeAnswer(came.status, run.policy, came.evidence);
  if (judgement.kind === "unknown" && !judgement.isOrigins) {
    stop.abort();
    // Nobody reads it: its clock ends with it.
    came.body.cancel().catch(() => undefined);
    return { submitted: reportLost(run, judgement.reason, came.status === 504), passing: null };
  }
  const { body, end } = passOn(came.body, stop.signal);
  const passing = end.then((passed) => closePassed(run, came.status, judgement, passed));
  return { submitted: givePassing(came, judgement, body), passing };
}

/**
 * The first caller gets the whole of an answer that can't be kept; what it was is stored once it has passed. Stopping here, or
 * a store that fails then, leaves the record in flight: its lease makes that unknown, though the caller has the answer.
 */
function closePassed(run: Run, status: number, judgement: Judgement, passed: PassEnd): Promise<unknown> {
  const { grant, operation } = run;
  const { claim } = run.executor;
  if (passed.kind === "broken") return claim.report(grant.token, "body-broken");
  switch (judgement.kind) {
    case "keep": {
      const { size, digest } = passed;
      return claim.settle(grant, { kind: "not-kept", status, size, digest }, operation);
    }
    case "release":
      return claim.release(grant.token, judgement.evidence);
    case "unknown":
      return claim.report(grant.token, judgement.reason);
  }
}

const PASSED_AS = { keep: "streamed", release: "released", unknown: "doubtful" } as const;

async function givePassing(
  { status, headers }: Open,
  judgement: Judgement,
  body: ReadableStream<Uint8Array>,
): Promise<Submitted> {
  if (isReplayable(status))
    return { kind: PASSED_AS[judgement.kind], given: { status, headers: pairsForClient(headers), body } };
  // The runtime can't make a response of it. Its body goes to nobody, and is counted all the same.
  await body.cancel();
  return { kind: "refused", problem: problem("answer-not-kept", null, { answer_status: status }) };
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
