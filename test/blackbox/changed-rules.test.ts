import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

/** The routes of both executors under a fingerprint rule and more settings. */
function describeRoutes(changes: Record<string, unknown>): Record<string, unknown>[] {
  return EXECUTORS.map((executor) => describeRoute(executor, { executor, ...changes }));
}

const stage = useStage({ routes: describeRoutes({ fingerprint: "raw" }) });

const body = '{"b":1, "a":2}';

describe.each(EXECUTORS)("a key whose route changes its rules between two tries (%s)", (executor) => {
  it.each<[string, unknown]>([
    ["raw to json", "json"],
    ["json without a member", { body: "json", ignore: ["/id"] }],
    ["raw with a header", { body: "raw", headers: ["Stripe-Version"] }],
  ])("is not taken for another request's: fingerprint %s", async (_name, fingerprint) => {
    const call = { target: `/${executor}/pay`, key: makeKey(), body };
    await stage.gateway.restart({ routes: describeRoutes({ fingerprint: "raw" }) });
    const first = await stage.post(call);
    expectExecuted(first);
    await stage.gateway.restart({ routes: describeRoutes({ fingerprint }) });
    expectProblem(await stage.post(call), "store-unavailable");
    expectProblem(await stage.post({ ...call, body: '{"a":3}' }), "store-unavailable");
    await stage.gateway.restart({ routes: describeRoutes({ fingerprint: "raw" }) });
    expectReplay(await stage.post(call), first);
    expectProblem(await stage.post({ ...call, body: '{"a":3}' }), "key-reused");
    expect(stage.origin.executions()).toBe(1);
  });

  it("gets its answer where the new rule sees the same in the request", async () => {
    const headers = [["Content-Type", "text/plain"]] as const;
    const call = { target: `/${executor}/pay`, key: makeKey(), body: "plain", headers };
    await stage.gateway.restart({ routes: describeRoutes({ fingerprint: "raw" }) });
    const first = await stage.post(call);
    expectExecuted(first);
    await stage.gateway.restart({ routes: describeRoutes({ fingerprint: "json" }) });
    expectReplay(await stage.post(call), first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("gets its answer whether or not answers are now sealed with the key", async () => {
    for (const [before, after] of [
      [true, false],
      [false, true],
    ]) {
      const call = { target: `/${executor}/pay`, key: makeKey(), body };
      await stage.gateway.restart({ routes: describeRoutes({ seal_with_key: before }) });
      const first = await stage.post(call);
      expectExecuted(first);
      await stage.gateway.restart({ routes: describeRoutes({ seal_with_key: after }) });
      expectReplay(await stage.post(call), first);
      expectReplay(await stage.post(call), first);
    }
    expect(stage.origin.executions()).toBe(2);
  });
});
