import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Answer, NoAnswer, sendAndLeave } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import type { OriginHandler } from "../support/origin.ts";
import { type Call, describeCall, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({ routes: EXECUTOR_ROUTES });

/** Counts the effect at once and answers with its id after a while. */
function answerAfter(ms: number): OriginHandler {
  return async (_arrival, reply) => {
    const id = reply.execute();
    await sleep(ms);
    reply.send(201, [["Content-Type", "application/json"]], JSON.stringify({ id }));
  };
}

function splitByMark(answers: readonly Answer[]): { executed: Answer[]; rest: Answer[] } {
  const executed = answers.filter((answer) => answer.header("Idempotency-Status") === "executed");
  return { executed, rest: answers.filter((answer) => !executed.includes(answer)) };
}

/** The loop of a usual SDK: on silence or 409 wait as told, or a second, and try again, at most five times. */
async function retryPolitely(
  call: Call,
  timeoutMs: number,
): Promise<{ answers: Answer[]; silences: number }> {
  const answers: Answer[] = [];
  let silences = 0;
  for (let tries = 0; tries < 5; tries += 1) {
    const answer = await stage.post({ ...call, timeoutMs }).catch((error: unknown) => {
      if (error instanceof NoAnswer && error.reason === "time") return null;
      throw error;
    });
    if (answer !== null) answers.push(answer);
    else silences += 1;
    if (answer !== null && answer.status !== 409) break;
    await sleep(1_000 * Number(answer?.header("Retry-After") ?? 1));
  }
  return { answers, silences };
}

describe.each(EXECUTORS)("duplicates at the same time (%s)", (executor) => {
  const target = `/${executor}/pay`;

  it("FR-016 runs one of fifty and tells the others that it is running", async () => {
    const key = makeKey();
    stage.origin.handle(answerAfter(800));
    const answers = await Promise.all(Array.from({ length: 50 }, () => stage.post({ target, key })));
    const { executed, rest } = splitByMark(answers);
    const [first] = executed;
    if (first === undefined) throw new Error("nobody was answered with the origin's answer");
    expectExecuted(first);
    expect(rest).toHaveLength(49);
    for (const answer of rest) {
      if (answer.status === 409) expectProblem(answer, "in-flight");
      else expectReplay(answer, first);
    }
    expectReplay(await stage.post({ target, key }), first);
    expect(stage.origin.executions()).toBe(1);
    expect(stage.origin.starts()).toBe(1);
  });

  it("FR-016 claims with the whole body in hand only", async () => {
    const key = makeKey();
    stage.origin.handle(answerAfter(500));
    const body = JSON.stringify({ note: "x".repeat(400) });
    const pieces = Array.from({ length: 10 }, (_, index) => body.slice(index * 42, (index + 1) * 42));
    const slow = stage.post({
      target,
      key,
      body: { pieces, gapMs: 150, framing: "length", length: body.length },
    });
    const quick = await Promise.all(Array.from({ length: 20 }, () => stage.post({ target, key, body })));
    const { executed, rest } = splitByMark(quick);
    const [first] = executed;
    if (first === undefined) throw new Error("the slow body held the claim");
    for (const answer of rest) expectProblem(answer, "in-flight");
    expect(executed).toHaveLength(1);
    expectReplay(await slow, first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-018 answers those who wait when the request they wait for is cut off", async () => {
    const key = makeKey();
    stage.origin.handle(answerAfter(2_000));
    const wait = [["Prefer", "wait=8"]] as const;
    const left = sendAndLeave({ ...describeCall({ target, key }), port: stage.gateway.port }, 300);
    await sleep(100);
    const second = stage.post({ target, key, headers: wait });
    await sleep(300);
    const third = stage.post({ target, key, headers: wait });
    const answers = await Promise.all([second, third]);
    await left;
    const late = await stage.post({ target, key });
    for (const answer of [...answers, late]) {
      expect(answer.status).toBe(201);
      expect(answer.text()).toBe('{"id":"effect-1"}');
      expect(answer.tookMs).toBeLessThan(4_000);
    }
    expect(late.header("Idempotency-Status")).toBe("replayed");
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-018 ends a wait that the answer does not come in", async () => {
    const key = makeKey();
    stage.origin.handle(answerAfter(2_500));
    const first = stage.post({ target, key });
    await sleep(100);
    const waited = await stage.post({ target, key, headers: [["Prefer", "wait=1"]] });
    expectProblem(waited, "in-flight");
    expect(waited.tookMs).toBeGreaterThan(800);
    expect(waited.tookMs).toBeLessThan(2_200);
    expectExecuted(await first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-020 brings the usual retry loop to the result", async () => {
    stage.origin.handle(answerAfter(3_000));
    const { answers, silences } = await retryPolitely({ target, key: makeKey() }, 1_000);
    const last = answers.at(-1);
    expect(silences).toBe(1);
    for (const answer of answers.slice(0, -1)) {
      expectProblem(answer, "in-flight");
      expect(answer.json()).toMatchObject({ retry: "same-key-later" });
    }
    expect(last?.status).toBe(201);
    expect(last?.text()).toBe('{"id":"effect-1"}');
    expect(stage.origin.executions()).toBe(1);
  });
});
