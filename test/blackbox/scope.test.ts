import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({
  routes: [
    describeRoute("default"),
    describeRoute("other"),
    describeRoute("tenant", { principal: { from: "header", name: "X-Tenant" } }),
    describeRoute("cookie", { principal: { from: "cookie", name: "session" } }),
    describeRoute("shared", { principal: { from: "none" } }),
    describeRoute("anonymous", { anonymous: "share" }),
  ],
});

describe("the scope of a key", () => {
  it("FR-015 keeps joined names apart", async () => {
    const stem = makeKey();
    const pairs = [
      ["a", `${stem}b:c`],
      [`a:${stem}b`, "c"],
      [`a|${stem}b`, "c"],
      ["a", `${stem}b|c`],
      [`a%3A${stem}b`, "c"],
      ["a", `${stem}b%3Ac`],
    ] as const;
    const bodies = new Set<string>();
    for (const [tenant, key] of pairs) {
      const answer = await stage.post({ target: "/tenant/a", key, headers: [["X-Tenant", tenant]] });
      expectExecuted(answer);
      bodies.add(answer.text());
    }
    expect(bodies.size).toBe(pairs.length);
    expect(stage.origin.executions()).toBe(pairs.length);
  });

  it("FR-057 is the caller's credential unless the route says otherwise", async () => {
    const call = { target: "/default/pay", key: makeKey() };
    stage.origin.handle((arrival, reply) =>
      reply.send(201, [], `${reply.execute()} ${arrival.header("Authorization")}`),
    );
    const a = await stage.post({ ...call, tenant: "a" });
    const b = await stage.post({ ...call, tenant: "b" });
    expectExecuted(a);
    expectExecuted(b);
    expect([a.text(), b.text()]).toEqual(["effect-1 Bearer a", "effect-2 Bearer b"]);
    expectReplay(await stage.post({ ...call, tenant: "a" }), a);
    expectReplay(await stage.post({ ...call, tenant: "b" }), b);
    expectProblem(await stage.post({ ...call, tenant: "b", body: '{"other":1}' }), "key-reused");
    expectExecuted(await stage.post({ ...call, tenant: "c", body: '{"other":1}' }));
    expect(stage.origin.executions()).toBe(3);
  });

  it.each([
    ["a known key", '{"other":1}'],
    ["a known key and its request", "{}"],
  ])("FR-057 tells a caller without a credential nothing about %s", async (_name, body) => {
    const call = { target: "/default/pay", key: makeKey() };
    expectExecuted(await stage.post(call));
    const known = await stage.post({ ...call, tenant: null, body });
    const unknown = await stage.post({ ...call, key: makeKey(), tenant: null, body });
    expectProblem(known, "principal-missing");
    expectProblem(unknown, "principal-missing");
    expect(known.text()).toBe(unknown.text());
    expect(stage.origin.starts()).toBe(1);
  });

  it.each([
    ["a header", "tenant", "X-Tenant", "a", "b"],
    ["a cookie", "cookie", "Cookie", "x=1; session=a", "x=1; session=b"],
  ])("FR-057 can be %s", async (_name, segment, header, one, other) => {
    const call = { target: `/${segment}/pay`, key: makeKey() };
    const first = await stage.post({ ...call, tenant: "first", headers: [[header, one]] });
    expectExecuted(first);
    expectReplay(await stage.post({ ...call, tenant: "second", headers: [[header, one]] }), first);
    expectExecuted(await stage.post({ ...call, tenant: "first", headers: [[header, other]] }));
    expectProblem(await stage.post({ ...call, tenant: "first" }), "principal-missing");
    expect(stage.origin.executions()).toBe(2);
  });

  it("looks at the named cookie only", async () => {
    const call = { target: "/cookie/pay", key: makeKey() };
    const first = await stage.post({ ...call, headers: [["Cookie", "theme=dark; session=a"]] });
    expectExecuted(first);
    expectReplay(await stage.post({ ...call, headers: [["Cookie", "session=a; theme=light"]] }), first);
  });

  it("is one for all where the route says so", async () => {
    const call = { target: "/shared/pay", key: makeKey() };
    const first = await stage.post({ ...call, tenant: "a" });
    expectExecuted(first);
    expectReplay(await stage.post({ ...call, tenant: "b" }), first);
    expectReplay(await stage.post({ ...call, tenant: null }), first);
  });

  it("has a place of its own for callers without a credential where the route shares it", async () => {
    const call = { target: "/anonymous/pay", key: makeKey() };
    const nobody = await stage.post({ ...call, tenant: null });
    expectExecuted(nobody);
    expectReplay(await stage.post({ ...call, tenant: null }), nobody);
    expectExecuted(await stage.post({ ...call, tenant: "a" }));
  });

  it("ends at the route", async () => {
    const key = makeKey();
    expectExecuted(await stage.post({ target: "/default/pay", key }));
    expectExecuted(await stage.post({ target: "/other/pay", key }));
    expect(stage.origin.executions()).toBe(2);
  });
});
