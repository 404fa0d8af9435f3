import { describe, expect, it } from "vitest";
import type { Answer } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({
  routes: EXECUTORS.flatMap((executor) => [
    describeRoute(executor, { executor }),
    describeRoute(`${executor}-own`, { executor, release_statuses: [404] }),
  ]),
});

/** Answers `status` without an effect at first, and with an effect and 201 from then on. */
function refuseOnce(status: number): void {
  stage.origin.handle((arrival, reply) => {
    if (arrival.number === 1) reply.send(status, [["Retry-After", "1"]], "not now");
    else reply.send(201, [], reply.execute());
  });
}

function expectReleased(answer: Answer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.text()).toBe("not now");
  expect(answer.header("Idempotency-Status")).toBe("released");
  expect(answer.header("Idempotency-Replayed")).toBeNull();
}

describe.each(EXECUTORS)("an answer that frees its key (%s)", (executor) => {
  it.each([
    ["FR-032", 429],
    ["a status every route frees:", 401],
    ["a status every route frees:", 421],
    ["a status every route frees:", 425],
    ["FR-031 the path says that nothing was sent:", 521],
    ["FR-031 the path says that nothing was sent:", 523],
    ["FR-031 the path says that nothing was sent:", 525],
    ["FR-031 the path says that nothing was sent:", 526],
  ])("%s %i is answered, not stored, and the next try runs", async (_name, status) => {
    const call = { target: `/${executor}/pay`, key: makeKey() };
    refuseOnce(status);
    const released = await stage.post(call);
    expectReleased(released, status);
    expect(released.header("Retry-After")).toBe("1");
    const second = await stage.post(call);
    expectExecuted(second);
    expectReplay(await stage.post(call), second);
    expect(stage.origin.arrivals).toHaveLength(2);
    expect(stage.origin.executions()).toBe(1);
  });

  it("keeps the key to the request it was first used with", async () => {
    const call = { target: `/${executor}/pay`, key: makeKey() };
    refuseOnce(429);
    expectReleased(await stage.post(call), 429);
    expectProblem(await stage.post({ ...call, body: '{"other":true}' }), "key-reused");
    expectExecuted(await stage.post(call));
  });

  it("follows the list of the route's owner", async () => {
    const call = { target: `/${executor}-own/pay`, key: makeKey() };
    refuseOnce(404);
    expectReleased(await stage.post(call), 404);
    expectExecuted(await stage.post(call));

    const throttled = { ...call, key: makeKey() };
    stage.origin.forget();
    refuseOnce(429);
    const kept = await stage.post(throttled);
    expectExecuted(kept, 429);
    expectReplay(await stage.post(throttled), kept);
    expect(stage.origin.executions()).toBe(0);
  });

  it.each([400, 403, 404, 408, 409, 410, 422, 500, 501, 503, 505, 599])(
    "stores %i like any whole answer",
    async (status) => {
      const call = { target: `/${executor}/pay`, key: makeKey() };
      refuseOnce(status);
      const first = await stage.post(call);
      expectExecuted(first, status);
      expectReplay(await stage.post(call), first);
      expect(stage.origin.arrivals).toHaveLength(1);
    },
  );

  it("takes an unsigned claim of no effect for nothing", async () => {
    const call = { target: `/${executor}/pay`, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(500, [["Effect-Evidence", 'none; mac="AAAA"']], "");
    });
    const first = await stage.post(call);
    expectExecuted(first, 500);
    expectReplay(await stage.post(call), first);
    expect(stage.origin.executions()).toBe(1);
  });
});
