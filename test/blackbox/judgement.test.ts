import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Answer } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import type { Reply } from "../support/origin.ts";
import { type Call, describeRoute, EXECUTORS, makeKey, useStage } from "../support/stage.ts";
import { formatChunk, LAST_CHUNK } from "../support/wire.ts";

const LARGE = "x".repeat(5_000);
const EVENTS = ["data: 1\n\n", "data: 2\n\n"];

const stage = useStage({
  routes: [
    ...EXECUTORS.map((executor) => describeRoute(executor, { executor, response_max: "1KiB" })),
    describeRoute("optional", { key: "optional" }),
  ],
});

/** Its origin is asked again and again about what it lost, while other tests run. */
const asked = useStage({
  routes: EXECUTORS.map((executor) =>
    describeRoute(executor, { executor, response_max: "1KiB", probe: { url: "/effects/{effect_id}" } }),
  ),
});

type Shape = { name: string; body: string; send: (reply: Reply, status: number) => void };

/** Answers that can't be kept. */
const SHAPES: Shape[] = [
  {
    name: "over response_max",
    body: LARGE,
    send: (reply, status) => reply.send(status, [["Content-Type", "text/plain"]], LARGE),
  },
  {
    name: "an event stream",
    body: EVENTS.join(""),
    send(reply, status) {
      const head = `HTTP/1.1 ${status} Scripted\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`;
      reply.raw(Buffer.concat([Buffer.from(head), ...EVENTS.map(formatChunk), LAST_CHUNK]));
    },
  },
];

/** Answers in a shape and of a status at first, and with an effect and 201 from then on. */
function answerFirst(shape: Shape, status: number): void {
  stage.origin.handle((arrival, reply) => {
    if (arrival.number === 1) shape.send(reply, status);
    else reply.send(201, [], reply.execute());
  });
}

/** Sends the call until it is no longer told to be in flight: what an answer was is stored once it has passed. */
async function retry(call: Call, on = stage): Promise<Answer> {
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await on.post(call);
    if (answer.header("Idempotency-Status") !== "in-flight") return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it stays in flight");
}

function expectGiven(answer: Answer, status: number, mark: string, body: string): void {
  const { whole } = answer;
  const seen = {
    status: answer.status,
    mark: answer.header("Idempotency-Status"),
    whole,
    text: answer.text(),
  };
  expect(seen).toEqual({ status, mark, whole: true, text: body });
}

describe.each(EXECUTORS)("an answer that can't be kept is judged by its status (%s)", (executor) => {
  describe.each(SHAPES)("$name", (shape) => {
    it.each([401, 421, 425, 429, 521])("of %i frees the key, and the retry runs", async (status) => {
      const call = { target: `/${executor}/pay`, key: makeKey() };
      answerFirst(shape, status);
      expectGiven(await stage.post(call), status, "released", shape.body);
      const second = await retry(call);
      expectExecuted(second);
      expectReplay(await stage.post(call), second);
      expect(stage.origin.executions()).toBe(1);
    });

    it.each([502, 504, 520, 522, 524, 530])("of %i leaves the outcome unknown", async (status) => {
      const call = { target: `/${executor}/pay`, key: makeKey() };
      answerFirst(shape, status);
      const lost = await stage.post(call);
      expectProblem(lost, "outcome-lost");
      expect(lost.status).toBe(status === 504 ? 504 : 502);
      expectProblem(await retry(call), "outcome-unknown");
      expect(stage.origin.arrivals).toHaveLength(1);
    });

    it.each([500, 503])("of %i is given, and unknown, where the origin can be asked", async (status) => {
      const call = { target: `/${executor}/pay`, key: makeKey() };
      asked.origin.handle((arrival, reply) => {
        if (arrival.method === "GET") reply.send(503);
        else shape.send(reply, status);
      });
      expectGiven(await asked.post(call), status, "unknown", shape.body);
      expectProblem(await retry(call, asked), "outcome-unknown");
      expect(asked.origin.arrivalsAt(call.target)).toHaveLength(1);
    });

    it.each([200, 400, 500])("of %i is the answer where nobody can be asked", async (status) => {
      const call = { target: `/${executor}/pay`, key: makeKey() };
      answerFirst(shape, status);
      expectGiven(await stage.post(call), status, "executed", shape.body);
      const refused = await retry(call);
      expectProblem(refused, "answer-not-kept");
      expect(refused.json()).toMatchObject({
        answer_status: status,
        answer_size: shape.body.length,
        answer_digest: createHash("sha256").update(shape.body).digest("hex"),
      });
      expect(stage.origin.arrivals).toHaveLength(1);
    });
  });

  it.each([
    ["small", "x"],
    ["over response_max", LARGE],
  ])("a status that no response can have ends as not kept: %s", async (_name, body) => {
    const call = { target: `/${executor}/pay`, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(999, [], body);
    });
    const first = await stage.post(call);
    expectProblem(first, "answer-not-kept");
    expect(first.json()).toMatchObject({ answer_status: 999 });
    const second = await retry(call);
    expectProblem(second, "answer-not-kept");
    expect(second.json()).toMatchObject({ answer_status: 999, answer_size: body.length });
    expect(stage.origin.executions()).toBe(1);
  });
});

describe("an unprotected answer of a status that no response can have", () => {
  it.each([
    ["small", "x"],
    ["large", "x".repeat(200_000)],
  ])("is told to be no answer: %s", async (_name, body) => {
    stage.origin.handle((_arrival, reply) => reply.send(999, [], body));
    const answer = await stage.post({ target: "/optional/pay", key: null });
    expect(answer.status).toBe(502);
    expect(answer.json()).toMatchObject({ type: "/_oncegate/problems/origin-unreachable", status: 502 });
    expect(answer.header("Idempotency-Status")).toBe("unprotected");
    stage.origin.handle((_arrival, reply) => reply.send(201, [], "fine"));
    expect((await stage.post({ target: "/optional/pay", key: null })).text()).toBe("fine");
  });
});
