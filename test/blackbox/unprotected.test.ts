import { describe, expect, it } from "vitest";
import { sendRaw } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";
import type { HeaderPair } from "../support/wire.ts";

const stage = useStage({
  routes: [
    ...EXECUTOR_ROUTES,
    describeRoute("optional", { key: "optional" }),
    describeRoute("off", { key: "off" }),
  ],
});

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

const UNGUARDED = [
  ["without a key where it is optional", "/optional/pay"],
  ["on a route without keys", "/off/pay"],
  ["of no route", "/elsewhere"],
] as const;

describe.each(UNGUARDED)("a body in a transfer coding that nobody has undone, %s,", (_name, target) => {
  it.each([
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: deflate,chunked",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: chunked, chunked",
  ])("is refused, as the field that names it would be lost: %s", async (field) => {
    for (const method of ["POST", "GET"]) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer a\r\n${field}\r\n\r\n`;
      const answer = await sendRaw(stage.gateway.port, `${head}2\r\n{}\r\n0\r\n\r\n`);
      expectProblem(answer, "header-refused");
    }
    expect(stage.origin.starts()).toBe(0);
  });

  it("is sent on in chunks", async () => {
    const body = { pieces: ["{", "}"], gapMs: 0, framing: "chunks" } as const;
    expect((await stage.post({ target, key: null, body })).status).toBe(201);
    expect(stage.origin.arrivals.map((arrival) => arrival.text())).toEqual(["{}"]);
  });
});

const CODED = "HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, chunked\r\n";

describe("an answer in a transfer coding that nobody has undone", () => {
  it.each(EXECUTORS)("is broken: what became of the request is unknown (%s)", async (executor) => {
    for (const type of ["application/json", "text/event-stream"]) {
      stage.origin.handle((_arrival, reply) => {
        reply.execute();
        reply.raw(`${CODED}Content-Type: ${type}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
      });
      const call = { target: `/${executor}/pay`, key: makeKey() };
      expectProblem(await stage.post(call), "outcome-lost");
      expectProblem(await stage.post(call), "outcome-unknown");
    }
    expect(stage.origin.executions()).toBe(2);
  });

  it.each(UNGUARDED)("can't be passed on to a request %s", async (_name, target) => {
    stage.origin.handle((_arrival, reply) => reply.raw(`${CODED}\r\n2\r\n{}\r\n0\r\n\r\n`));
    const answer = await stage.post({ target, key: null });
    expect(answer.status).toBe(502);
    expect(answer.text()).toContain("origin-unreachable");
  });

  it.each(UNGUARDED)("is passed on where it has no body, to a request %s", async (_name, target) => {
    stage.origin.handle((_arrival, reply) => reply.raw(`${CODED}\r\n`));
    const head = `HEAD ${target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer a\r\n\r\n`;
    expect((await sendRaw(stage.gateway.port, head)).status).toBe(201);
  });

  it.each(["identity", "Chunked", "identity, chunked"])("is whole where it is only %s", async (coding) => {
    stage.origin.handle((_arrival, reply) => {
      reply.raw(`HTTP/1.1 201 Created\r\nTransfer-Encoding: ${coding}\r\n\r\n`);
      reply.raw(/chunked/i.test(coding) ? "2\r\n{}\r\n0\r\n\r\n" : "{}");
      reply.end();
    });
    for (const executor of EXECUTORS) {
      const answer = await stage.post({ target: `/${executor}/pay`, key: makeKey() });
      expectExecuted(answer);
      expect(answer.text()).toBe("{}");
    }
    expect((await stage.post({ target: "/elsewhere", key: null })).text()).toBe("{}");
  });
});

describe.each(UNGUARDED)("an answer to a request %s", (_name, target) => {
  it("leaves at the gateway what its Connection field names (RFC 9110 section 7.6.1)", async () => {
    const named = "Connection: X-Hop, x-second\r\nX-Hop: 1\r\nX-Second: 2\r\nX-Third: 3";
    stage.origin.handle((_arrival, reply) => {
      reply.raw(
        `HTTP/1.1 201 Created\r\n${named}\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\n{}`,
      );
    });
    const answer = await stage.post({ target, key: null });
    expect([answer.status, answer.text()]).toEqual([201, "{}"]);
    expect(answer.rawHead).not.toMatch(/x-hop|x-second/i);
    expect(answer.header("X-Third")).toBe("3");
    expect(answer.headerValues("Set-Cookie")).toEqual(["a=1", "b=2"]);
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
