import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { listObjectFiles, readRows } from "../support/object-store.ts";
import { describeRoute, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

const routes = EXECUTORS.flatMap((executor) => [
  describeRoute(`${executor}-short`, { executor, window: "2s", quarantine: "1s" }),
  describeRoute(`${executor}-bare`, { executor, window: "2s", quarantine: "0s" }),
  describeRoute(`${executor}-guarded`, { executor, window: "1s", quarantine: "1h" }),
]);

/** Waits until so many seconds after the clock was started, whatever the steps before have taken. */
function startClock(): (seconds: number) => Promise<void> {
  const beganAt = performance.now();
  return (seconds) => sleep(Math.max(0, seconds * 1_000 - (performance.now() - beganAt)));
}

describe.concurrent("the life of a key", () => {
  const stage = useStage({ routes }, async (arrival, reply) => {
    const id = reply.execute();
    if (arrival.target.endsWith("/slow")) await sleep(3_000);
    reply.send(201, [], id);
  });

  it.each(EXECUTORS)("FR-063 is counted from the answer, not from the claim (%s)", async (executor) => {
    const target = `/${executor}-bare/slow`;
    const call = { target, key: makeKey() };
    const until = startClock();
    const running = stage.post(call);
    await until(1);
    expectProblem(await stage.post(call), "in-flight");
    await until(2.4);
    expectProblem(await stage.post(call), "in-flight");
    const first = await running;
    expectExecuted(first);
    await until(4);
    expectReplay(await stage.post(call), first);
    await until(5.8);
    const second = await stage.post(call);
    expectExecuted(second);
    expect(second.text()).not.toBe(first.text());
    const [one, two] = stage.origin.arrivalsAt(target);
    expect(stage.origin.arrivalsAt(target)).toHaveLength(2);
    expect((two?.atMs ?? 0) - (one?.atMs ?? 0)).toBeGreaterThan(5_000);
  });

  it.each(EXECUTORS)(
    "FR-064 ends on time under traffic, and the next life is whole (%s)",
    async (executor) => {
      const target = `/${executor}-short/pay`;
      const call = { target, key: makeKey() };
      const until = startClock();
      const first = await stage.post(call);
      expectExecuted(first);
      for (const seconds of [0.3, 0.6, 0.9, 1.2, 1.5, 1.8]) {
        await until(seconds);
        expectReplay(await stage.post(call), first);
      }
      await until(2.5);
      expectProblem(await stage.post(call), "key-expired");
      await until(4.5);
      const second = await stage.post(call);
      expectExecuted(second);
      expect(second.text()).not.toBe(first.text());
      for (const seconds of [5, 5.6, 6.1]) {
        await until(seconds);
        expectReplay(await stage.post(call), second);
      }
      await until(7.1);
      expectProblem(await stage.post(call), "key-expired");
      expect(stage.origin.arrivalsAt(target)).toHaveLength(2);
    },
  );

  it.each(EXECUTORS)(
    "has a quarantine in which the key is refused, whatever the request (%s)",
    async (executor) => {
      const target = `/${executor}-guarded/pay`;
      const call = { target, key: makeKey() };
      expectExecuted(await stage.post(call));
      await sleep(1_300);
      expectProblem(await stage.post(call), "key-expired");
      expectProblem(await stage.post({ ...call, body: '{"other":1}' }), "key-reused");
      expect(stage.origin.arrivalsAt(target)).toHaveLength(1);
    },
  );
});

describe("what is left of a key", () => {
  const stage = useStage({ routes });

  /** One key settled and one released under each executor. */
  async function useKeys(): Promise<void> {
    stage.origin.handle((arrival, reply) => reply.send(arrival.text() === "throttle" ? 429 : 201));
    for (const executor of EXECUTORS) {
      const target = `/${executor}-short/pay`;
      expectExecuted(await stage.post({ target, key: makeKey() }));
      expect((await stage.post({ target, key: makeKey(), body: "throttle" })).status).toBe(429);
    }
  }

  /** The rows of all key objects that were ever made. */
  async function listRows(): Promise<string[]> {
    await stage.gateway.halt();
    const files = await listObjectFiles(stage.gateway.persist, "KeyObject");
    expect(files.length).toBeGreaterThanOrEqual(2 * EXECUTORS.length);
    return files.flatMap((file) => readRows(file).map(({ key }) => key));
  }

  it("FR-064 is nothing once window and quarantine are over, though nobody asks for it", async () => {
    await useKeys();
    await sleep(5_500);
    expect(await listRows()).toEqual([]);
  });

  it("FR-064 is nothing even where the gateway was down when it was due", async () => {
    await stage.gateway.restart();
    await useKeys();
    await stage.gateway.kill();
    await sleep(3_200);
    await stage.gateway.restart();
    await sleep(2_000);
    expect(await listRows()).toEqual([]);
  });
});
