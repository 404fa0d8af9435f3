/**
 * Steps 5 to 8 of a guarded request, the same wherever they run: claim, dispatch, settle, answer. The write order is the promise:
 * the grant is durable before the origin hears anything, the answer is durable before the caller hears anything.
 */

import { sha256Hex } from "../core/bytes.ts";
import type { UnknownReason } from "../core/entry.ts";
import type { Grant } from "../core/event.ts";
import { pairsForClient, pairsToKeep } from "../core/http/headers.ts";
import { isReplayable, judgeAnswer } from "../core/http/outcome.ts";
import { redactAnswer } from "../core/http/redact.ts";
import { RETRY_STORE_S, RETRY_UNKNOWN_S, SETTLE_MARGIN_MS } from "../core/limits.ts";
import type { RoutePolicy } from "../core/policy.ts";
import type { Came, Claim, FreshAnswer, Given, Operation, OriginPort, Submitted } from "../core/ports.ts";
import { lostAnswer, problem } from "../core/problem.ts";
import type { Token } from "../core/record.ts";
import { passOn } from "./pass-on.ts";

export type Executor = {
  claim: Claim;
  origin: OriginPort;
  /** Keeps a promise going after the caller has its answer. */
  keepAlive: (work: Promise<unknown>) => void;
  /** Told once of every attempt, when nothing more will come of it here. */
  ended: (token: Token) => void;
};

type Whole = Extract<Came, { kind: "whole" }>;
type Run = { executor: Executor; grant: Grant; operation: Operation; policy: RoutePolicy };

/** Claims the key and, where that grants an attempt, runs it. Throws nothing. */
export async function submit(
  executor: Executor,
  operation: Operation,
  policy: RoutePolicy,
): Promise<Submitted> {
  const begun = await executor.claim.begin(operation);
  if (begun.kind !== "run") return begun;
  return runAttempt({ executor, grant: begun.grant, operation, policy });
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
  if (came.kind === "open") return passThrough(run, came, lease);
  lease.end();
  const submitted = came.kind === "lost" ? await reportLost(run, came.reason) : await closeWhole(run, came);
  executor.ended(grant.token);
  return submitted;
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
  const settling = await executor.claim.settle(grant, await answerToKeep(came, policy), operation);
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

async function answerToKeep(came: Whole, policy: RoutePolicy): Promise<FreshAnswer> {
  const headers = pairsToKeep(came.headers, { cookies: policy.replayCookies });
  const body = redactAnswer(came.body, headers, policy.redact);
  return body === null ? notKept(came) : { kind: "whole", status: came.status, headers, body };
}

/** A whole answer of a status that the runtime can't make a response of: done, and nobody can be given it. */
async function keepNothing(run: Run, came: Whole): Promise<Submitted> {
  const answer = await notKept(came);
  const settling = await run.executor.claim.settle(run.grant, answer, run.operation);
  if (settling.kind === "fenced") return claimLost();
  if (settling.kind === "failed") return reportLost(run, "store-failed");
  const extras = { answer_status: answer.status, answer_size: answer.size, answer_digest: answer.digest };
  return { kind: "refused", problem: problem("answer-not-kept", null, extras) };
}

type NotKept = Extract<FreshAnswer, { kind: "not-kept" }>;

async function notKept(came: Whole): Promise<NotKept> {
  return {
    kind: "not-kept",
    status: came.status,
    size: came.body.byteLength,
    digest: await sha256Hex(came.body),
  };
}

/** The first caller gets the whole of an answer that can't be kept; what it was is settled once it has passed. */
function passThrough(run: Run, came: Extract<Came, { kind: "open" }>, lease: Lease): Submitted {
  const { claim, keepAlive, ended } = run.executor;
  const passing = passOn(came.body);
  const settled = passing.end.then(async (end) => {
    if (end.kind === "broken") return claim.report(run.grant.token, "body-broken");
    const answer = { kind: "not-kept", status: came.status, size: end.size, digest: end.digest } as const;
    return claim.settle(run.grant, answer, run.operation);
  });
  keepAlive(
    settled.finally(() => {
      lease.end();
      ended(run.grant.token);
    }),
  );
  const headers = pairsForClient(came.headers);
  return { kind: "streamed", given: { status: came.status, headers, body: passing.body } };
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

/** Renews at each third of the lease where the origin's budget is longer than that; a fenced renewal stops the call. */
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
    else if (!isEnded) renewLater();
  };
  if (!isLongEnough) renewLater();
  return {
    end() {
      isEnded = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
