import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Connection, sendAndLeave } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { type Arrival, type OriginHandler, type Reply, startOrigin } from "../support/origin.ts";
import { describeCall, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";
import { formatChunk, formatHead } from "../support/wire.ts";

const stage = useStage({ routes: EXECUTOR_ROUTES });

/** Does the effect, sends `bytes` and ends the connection. */
function breakOff(...bytes: (Uint8Array | string)[]): OriginHandler {
  return (_arrival, reply) => {
    reply.execute();
    for (const each of bytes) reply.raw(each);
    reply.end();
  };
}

const LONG = formatHead("HTTP/1.1 201 Created", [["Content-Length", "1000"]]);
const CHUNKED = formatHead("HTTP/1.1 201 Created", [["Transfer-Encoding", "chunked"]]);

const LOST_LINES: [string, OriginHandler][] = [
  ["resets the connection without a byte", doThen((reply) => reply.reset())],
  ["closes the connection without a byte", doThen((reply) => reply.end())],
  ["answers what is not HTTP", breakOff("garbage\r\n\r\n")],
  ["cuts its header section", breakOff("HTTP/1.1 201 Created\r\nContent-Le")],
  ["sends 400 bytes of 1000", breakOff(LONG, "x".repeat(400))],
  ["ends a chunked body without its last chunk", breakOff(CHUNKED, formatChunk("one"), formatChunk("two"))],
  ["sends its header section only", breakOff(LONG)],
  ["breaks a chunk's size", breakOff(CHUNKED, "zz\r\nabc\r\n0\r\n\r\n")],
  ["resets in the middle of its body", resetInBody],
];

function doThen(act: (reply: Reply) => void): OriginHandler {
  return (_arrival, reply) => {
    reply.execute();
    act(reply);
  };
}

async function resetInBody(_arrival: Arrival, reply: Reply): Promise<void> {
  reply.execute();
  reply.raw(LONG);
  reply.raw("x".repeat(400));
  await sleep(50);
  reply.reset();
}

describe.each(EXECUTORS)("an outcome nobody knows (%s)", (executor) => {
  const target = `/${executor}/pay`;

  it.each(LOST_LINES)(
    "FR-024 FR-046 holds the key when the origin does the effect and %s",
    async (_name, handler) => {
      const key = makeKey();
      stage.origin.handle(handler);
      expectProblem(await stage.post({ target, key }), "outcome-lost");
      expectProblem(await stage.post({ target, key }), "outcome-unknown");
      expectProblem(await stage.post({ target, key, headers: [["Prefer", "wait=1"]] }), "outcome-unknown");
      expect(stage.origin.executions()).toBe(1);
      expect(stage.origin.starts()).toBe(1);
    },
  );

  it("FR-024 answers 504 and holds the key when the origin falls silent", async () => {
    const call = { target: `/${executor}-brief/pay`, key: makeKey() };
    stage.origin.handle(doThen((reply) => reply.hang()));
    const lost = await stage.post(call);
    expectProblem(lost, "outcome-lost");
    expect(lost.status).toBe(504);
    expect(lost.tookMs).toBeGreaterThan(900);
    expect(lost.tookMs).toBeLessThan(5_000);
    expectProblem(await stage.post(call), "outcome-unknown");
    expect(stage.origin.executions()).toBe(1);
    expect(stage.origin.starts()).toBe(1);
  });

  it("FR-024 counts the origin's whole answer against its time, not its first byte", async () => {
    const call = { target: `/${executor}-brief/pay`, key: makeKey() };
    stage.origin.handle(doThen((reply) => reply.raw(LONG)));
    const lost = await stage.post(call);
    expectProblem(lost, "outcome-lost");
    expect(lost.status).toBe(504);
    expectProblem(await stage.post(call), "outcome-unknown");
    expect(stage.origin.executions()).toBe(1);
  });

  it.each([502, 504, 520, 522, 524, 527, 530])(
    "holds the key when the path to the origin answers %i",
    async (status) => {
      const key = makeKey();
      stage.origin.handle(doThen((reply) => reply.send(status, [], "the path speaking")));
      expectProblem(await stage.post({ target, key }), "outcome-lost");
      expectProblem(await stage.post({ target, key }), "outcome-unknown");
      expect(stage.origin.starts()).toBe(1);
    },
  );

  it.each(["close", "reset"] as const)("FR-022 stores an answer whose client has left (%s)", async (how) => {
    const key = makeKey();
    stage.origin.handle(async (_arrival, reply) => {
      const id = reply.execute();
      await sleep(2_000);
      reply.send(201, [], id);
    });
    await sendAndLeave({ ...describeCall({ target, key }), port: stage.gateway.port }, 400, how);
    expectProblem(await stage.post({ target, key }), "in-flight");
    await sleep(2_200);
    const replay = await stage.post({ target, key });
    expect(replay.status).toBe(201);
    expect(replay.text()).toBe("effect-1");
    expect(replay.header("Idempotency-Status")).toBe("replayed");
    expect(stage.origin.arrivals.map((arrival) => arrival.cut())).toEqual([false]);
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-026 leaves the key unused when the request's own body breaks off", async () => {
    const call = { target, key: makeKey(), body: "x".repeat(1_000) };
    const cut = { pieces: ["x".repeat(400)], gapMs: 0, framing: "length", length: 1_000 } as const;
    await sendAndLeave({ ...describeCall({ ...call, body: cut }), port: stage.gateway.port }, 200);
    await sleep(300);
    expect(stage.origin.starts()).toBe(0);
    expectExecuted(await stage.post(call));
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-026 says so to a caller who is still listening", async () => {
    const call = { target, key: makeKey(), body: "x".repeat(1_000) };
    const connection = await Connection.open(stage.gateway.port);
    const cut = { pieces: ["x".repeat(400)], gapMs: 0, framing: "length", length: 1_000 } as const;
    const answered = connection.send(describeCall({ ...call, body: cut }));
    await sleep(100);
    connection.halfClose();
    expectProblem(await answered, "request-incomplete");
    connection.close();
    expect(stage.origin.starts()).toBe(0);
    expectExecuted(await stage.post(call));
  });

  it("FR-076 runs nothing again when the gateway dies while the origin works", async () => {
    const key = makeKey();
    stage.origin.handle(doThen((reply) => reply.hang()));
    const lost = stage.post({ target, key }).catch(() => null);
    while (stage.origin.executions() === 0) await sleep(10);
    await stage.gateway.kill();
    expect(await lost).toBeNull();
    await stage.gateway.restart();
    const retried = await stage.post({ target, key });
    expect(retried.status).toBe(409);
    expectProblem(retried, executor === "object" ? "outcome-unknown" : "in-flight");
    expect(stage.origin.starts()).toBe(1);
  });
});

describe("an origin that is not there", () => {
  const gone = useStage({ routes: EXECUTOR_ROUTES });

  it.each(EXECUTORS)("FR-031 holds the key when the connection is refused (%s)", async (executor) => {
    const call = { target: `/${executor}/pay`, key: makeKey() };
    const other = { ...call, key: makeKey() };
    await gone.origin.close();
    expectProblem(await gone.post(call), "outcome-lost");
    const back = await startOrigin(
      (_arrival, reply) => reply.send(201, [], reply.execute()),
      gone.origin.port,
    );
    try {
      expectProblem(await gone.post(call), "outcome-unknown");
      const first = await gone.post(other);
      expectExecuted(first);
      expectReplay(await gone.post(other), first);
      expect(back.executions()).toBe(1);
    } finally {
      await back.close();
    }
  });
});
