import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({
  routes: [
    describeRoute("raw"),
    describeRoute("json", { fingerprint: "json" }),
    describeRoute("envelope", { fingerprint: { body: "json", ignore: ["/id"] } }),
    describeRoute("versioned", { fingerprint: { body: "raw", headers: ["Stripe-Version"] } }),
  ],
});

describe("the fingerprint", () => {
  const ordered = '{"a":1,"b":{"x":1,"y":2}}';
  const reordered = '{"b":{"y":2,"x":1},"a":1}';

  it("FR-006 takes another member order for the same request where bodies are read as JSON", async () => {
    const key = makeKey();
    const first = await stage.post({ target: "/json/pay", key, body: ordered });
    expectExecuted(first);
    expectReplay(await stage.post({ target: "/json/pay", key, body: reordered }), first);
    expectReplay(await stage.post({ target: "/json/pay", key, body: ` ${ordered}\n` }), first);
    expect(stage.origin.executions()).toBe(1);
    expect(stage.origin.arrivals[0]?.text()).toBe(ordered);
  });

  it("FR-006 refuses another member order where bodies are read as bytes", async () => {
    const key = makeKey();
    expectExecuted(await stage.post({ target: "/raw/pay", key, body: ordered }));
    expectProblem(await stage.post({ target: "/raw/pay", key, body: reordered }), "key-reused");
    expect(stage.origin.executions()).toBe(1);
  });

  it.each([
    ["repeated members", '{"amount":1,"amount":500}', '{"amount":500}'],
    ["repeated members, read by the first", '{"amount":500,"amount":1}', '{"amount":500}'],
    ["a number and a string", '{"amount":100}', '{"amount":"100"}'],
    ["null and absence", '{"amount":1,"note":null}', '{"amount":1}'],
    ["numbers beyond double precision", '{"id":9007199254740993}', '{"id":9007199254740992}'],
    ["list order", '{"ids":[1,2]}', '{"ids":[2,1]}'],
    ["true and its text", '{"live":true}', '{"live":"true"}'],
  ])("FR-009 tells %s apart", async (_name, one, other) => {
    for (const target of ["/json/pay", "/raw/pay"]) {
      const key = makeKey();
      expectExecuted(await stage.post({ target, key, body: one }));
      expectProblem(await stage.post({ target, key, body: other }), "key-reused");
    }
    expect(stage.origin.executions()).toBe(2);
  });

  it("FR-009 forwards a body that is not the JSON it claims to be once, as it stands", async () => {
    const key = makeKey();
    const first = await stage.post({ target: "/json/pay", key, body: "not json" });
    expectExecuted(first);
    expectReplay(await stage.post({ target: "/json/pay", key, body: "not json" }), first);
    expectProblem(await stage.post({ target: "/json/pay", key, body: "not  json" }), "key-reused");
    expect(stage.origin.arrivals.map((arrival) => arrival.text())).toEqual(["not json"]);
  });

  it("FR-010 counts the query string", async () => {
    const key = makeKey();
    stage.origin.handle((arrival, reply) => {
      if (arrival.target.endsWith("?dry=1")) return reply.send(200, [], "dry");
      reply.send(201, [], reply.execute());
    });
    const first = await stage.post({ target: "/raw/entries?dry=1", key });
    expectExecuted(first, 200);
    expectProblem(await stage.post({ target: "/raw/entries", key }), "key-reused");
    expectReplay(await stage.post({ target: "/raw/entries?dry=1", key }), first);
    expect(stage.origin.arrivals).toHaveLength(1);
  });

  it.each([
    ["method", { method: "PUT" }],
    ["path", { target: "/raw/pay/2" }],
    ["media type", { headers: [["Content-Type", "text/plain"] as const] }],
    ["body", { body: '{"a":2}' }],
  ])("counts the %s", async (_name, change) => {
    const key = makeKey();
    const call = { target: "/raw/pay", key, body: '{"a":1}' };
    const first = await stage.post(call);
    expectExecuted(first);
    expectProblem(await stage.post({ ...call, ...change }), "key-reused");
    expectReplay(await stage.post(call), first);
  });

  it("counts the headers a route names, and no others", async () => {
    const key = makeKey();
    const call = (version: string, trace: string) =>
      stage.post({
        target: "/versioned/pay",
        key,
        headers: [
          ["Stripe-Version", version],
          ["X-Trace", trace],
        ],
      });
    const first = await call("2026-01-01", "1");
    expectExecuted(first);
    expectReplay(await call("2026-01-01", "2"), first);
    expectProblem(await call("2026-02-02", "1"), "key-reused");
  });

  const noise = (trace: string, agent: string, date: string) =>
    [
      ["traceparent", `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902${trace}-01`],
      ["User-Agent", agent],
      ["Date", date],
    ] as const;

  it("FR-013 looks past the members a route ignores and past headers of one hop", async () => {
    const key = makeKey();
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      reply.send(200, [["Content-Type", "application/json"]], arrival.body);
    });
    const call = (body: string, headers: ReturnType<typeof noise>) =>
      stage.post({ target: "/envelope/op", key, body, headers });
    const first = await call('{"id":1,"op":"pay"}', noise("01", "a/1", "Mon, 02 Nov 2026 10:00:00 GMT"));
    expectExecuted(first, 200);
    const second = await call('{"id":2,"op":"pay"}', noise("02", "a/2", "Mon, 02 Nov 2026 10:00:09 GMT"));
    expectReplay(second, first);
    expect(second.json()).toEqual({ id: 1, op: "pay" });
    expectProblem(await call('{"id":3,"op":"refund"}', noise("03", "a/2", "x")), "key-reused");
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-013 counts the same member where no route ignores it", async () => {
    const key = makeKey();
    expectExecuted(await stage.post({ target: "/json/op", key, body: '{"id":1,"op":"pay"}' }));
    expectProblem(await stage.post({ target: "/json/op", key, body: '{"id":2,"op":"pay"}' }), "key-reused");
    expect(stage.origin.executions()).toBe(1);
  });

  it("compares bodies after content decoding", async () => {
    const key = makeKey();
    const body = '{"amount":100}';
    const first = await stage.post({ target: "/raw/pay", key, body });
    expectExecuted(first);
    const headers = [["Content-Encoding", "gzip"] as const];
    expectReplay(await stage.post({ target: "/raw/pay", key, body: gzipSync(body), headers }), first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("takes a multipart body with another boundary for the same request", async () => {
    const key = makeKey();
    const part = 'Content-Disposition: form-data; name="amount"\r\n\r\n100';
    const call = (boundary: string, text: string) =>
      stage.post({
        target: "/raw/form",
        key,
        body: `--${boundary}\r\n${text}\r\n--${boundary}--\r\n`,
        headers: [["Content-Type", `multipart/form-data; boundary=${boundary}`]],
      });
    const first = await call("one", part);
    expectExecuted(first);
    expectReplay(await call("two-two", part), first);
    expectProblem(await call("three", part.replace("100", "500")), "key-reused");
    expect(stage.origin.executions()).toBe(1);
  });
});
