import { describe, expect, it } from "vitest";
import { expectExecuted, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";
import type { HeaderPair } from "../support/wire.ts";

const stage = useStage({ routes: [...EXECUTOR_ROUTES, describeRoute("optional", { key: "optional" })] });

describe.each([
  ["without a key where it is optional", "/optional/pay", "POST"],
  ["of no route", "/elsewhere", "POST"],
  ["of a safe method", "/optional/pay", "GET"],
])("an unprotected request %s", (_name, target, method) => {
  it("leaves here what is meant for this hop, and takes the rest along", async () => {
    const headers: HeaderPair[] = [
      ["Proxy-Authorization", "Basic c2VjcmV0"],
      ["Proxy-Connection", "keep-alive"],
      ["Expect", "100-continue"],
      ["Connection", "X-Hop, x-second ,close"],
      ["X-Hop", "1"],
      ["X-Second", "2"],
      ["X-Third", "3"],
      ["Authorization", "Bearer a"],
    ];
    const answer = await stage.send({ method, target, headers });
    expect(answer.status).toBe(201);
    const [arrival] = stage.origin.arrivals;
    for (const name of ["Proxy-Authorization", "Proxy-Connection", "Expect", "X-Hop", "X-Second"]) {
      expect(arrival?.headerValues(name), name).toEqual([]);
    }
    expect(arrival?.headerValues("Connection").join(",")).not.toMatch(/x-hop|x-second/i);
    expect(arrival?.header("X-Third")).toBe("3");
    expect(arrival?.header("Authorization")).toBe("Bearer a");
  });

  it("can't say what only the gateway may say", async () => {
    const headers: HeaderPair[] = [
      ["Effect-Id", "forged"],
      ["Effect-Token", "forged"],
      ["Idempotency-Status", "executed"],
    ];
    await stage.send({ method, target, headers });
    expect(JSON.stringify(stage.origin.arrivals[0]?.headers)).not.toContain("forged");
    expect(stage.origin.arrivals[0]?.header("Idempotency-Status")).toBeNull();
  });
});

describe.each(EXECUTORS)("an answer without a byte (%s)", (executor) => {
  it.each<[string, string]>([
    ["that says it is compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"],
    [
      "that says it is compressed otherwise",
      "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 0\r\n\r\n",
    ],
    ["that says nothing", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ])("is whole: %s", async (_name, head) => {
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.raw(head);
    });
    const call = { target: `/${executor}/pay`, key: makeKey() };
    const first = await stage.post(call);
    expectExecuted(first, 200);
    expect(first.body).toHaveLength(0);
    expectReplay(await stage.post(call), first);
    expect(stage.origin.executions()).toBe(1);
  });
});
