import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Connection } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import {
  describeCall,
  describeRoute,
  EXECUTOR_ROUTES,
  EXECUTORS,
  makeKey,
  useStage,
} from "../support/stage.ts";

const MIB = 1_048_576;
const small = EXECUTORS.map((executor) =>
  describeRoute(`${executor}-small`, { executor, response_max: "64KiB" }),
);
const stage = useStage({ routes: [...EXECUTOR_ROUTES, ...small] });

describe.each(EXECUTORS)("large answers (%s)", (executor) => {
  const target = `/${executor}/file`;

  it.each([1.4, 1.5, 1.9, 2, 2.1, 5])("FR-051 come back whole: %f MB", async (megabytes) => {
    const call = { target, key: makeKey() };
    const bytes = randomBytes(megabytes * 1_000_000);
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(200, [["Content-Type", "application/octet-stream"]], bytes);
    });
    const first = await stage.post(call);
    expectExecuted(first, 200);
    expect(first.body.equals(bytes)).toBe(true);
    expectReplay(await stage.post(call), first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-051 come back whole to ten callers at once", async () => {
    const call = { target, key: makeKey() };
    const bytes = randomBytes(5_000_000);
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(200, [], bytes);
    });
    const first = await stage.post(call);
    const replays = await Promise.all(Array.from({ length: 10 }, () => stage.post(call)));
    for (const replay of replays) expectReplay(replay, first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("over the limit are given once, and then named by status, size and digest", async () => {
    const call = { target: `/${executor}-small/file`, key: makeKey() };
    const bytes = randomBytes(64 * 1_024 + 1);
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(200, [], bytes);
    });
    const first = await stage.post(call);
    expect(first.status).toBe(200);
    expect(first.whole).toBe(true);
    expect(first.body.equals(bytes)).toBe(true);
    expect(first.header("Idempotency-Expires")).toBeNull();
    const second = await stage.post(call);
    expectProblem(second, "answer-not-kept");
    const named = Object.values(second.json() as Record<string, unknown>);
    expect(named).toContain(200);
    expect(named).toContain(bytes.length);
    expect(named).toContain(createHash("sha256").update(bytes).digest("hex"));
    expect(stage.origin.executions()).toBe(1);
  });

  it("of exactly the limit are kept", async () => {
    const call = { target: `/${executor}-small/file`, key: makeKey() };
    stage.origin.handle((_arrival, reply) => reply.send(200, [], Buffer.alloc(64 * 1_024, "x")));
    const first = await stage.post(call);
    expectExecuted(first, 200);
    expectReplay(await stage.post(call), first);
  });
});

function* endlessPieces(size: number): Generator<Buffer> {
  for (;;) yield Buffer.alloc(size, "x");
}

describe("large requests", () => {
  const target = "/object/upload";

  it("FR-053 are refused by their declared length, and the key stays unused", async () => {
    const key = makeKey();
    const body = Buffer.alloc(2 * MIB, "x");
    expectProblem(await stage.post({ target, key, body }), "request-too-large");
    expect(stage.origin.starts()).toBe(0);
    expectExecuted(await stage.post({ target, key, body: Buffer.alloc(10_000, "x") }));
  });

  it("FR-053 are refused by count where no length is declared", async () => {
    const key = makeKey();
    const pieces = Array.from({ length: 32 }, () => Buffer.alloc(65_536, "x"));
    const body = { pieces, gapMs: 0, framing: "chunks" } as const;
    expectProblem(await stage.post({ target, key, body }), "request-too-large");
    expect(stage.origin.starts()).toBe(0);
    expectExecuted(await stage.post({ target, key, body: "x" }));
  });

  it("FR-053 are refused soon after the limit when they never end", async () => {
    const body = { pieces: endlessPieces(65_536), gapMs: 1, framing: "chunks" } as const;
    const answer = await stage.post({ target, key: makeKey(), body, timeoutMs: 8_000 });
    expectProblem(answer, "request-too-large");
    expect(answer.tookMs).toBeLessThan(5_000);
    expect(stage.origin.starts()).toBe(0);
  });

  it.each([
    ["declared", Buffer.alloc(MIB, "x")],
    [
      "chunked",
      {
        pieces: Array.from({ length: 16 }, () => Buffer.alloc(65_536, "x")),
        gapMs: 0,
        framing: "chunks",
      } as const,
    ],
  ])("FR-053 of exactly the limit go through (%s)", async (_name, body) => {
    expectExecuted(await stage.post({ target, key: makeKey(), body }));
    expect(stage.origin.arrivals[0]?.body).toHaveLength(MIB);
  });
});

describe("a refusal before the body is read", () => {
  const target = "/object/pay";
  const large = "x".repeat(100_000);

  it.each([
    ["key-missing", (): Promise<string | null> => Promise.resolve(null)],
    [
      "key-reused",
      async () => {
        const key = makeKey();
        expectExecuted(await stage.post({ target, key }));
        return key;
      },
    ],
    [
      "in-flight",
      async () => {
        const key = makeKey();
        stage.origin.handle(async (arrival, reply) => {
          if (arrival.text() === large) await sleep(6_000);
          reply.send(201, [], reply.execute());
        });
        void stage.post({ target, key, body: large }).catch(() => null);
        while (stage.origin.starts() === 0) await sleep(5);
        return key;
      },
    ],
  ] as const)("FR-055 leaves the connection fit for the next request: %s", async (refusal, prepare) => {
    const key = await prepare();
    const before = stage.origin.executions();
    const connection = await Connection.open(stage.gateway.port);
    for (let round = 0; round < 20; round += 1) {
      expectProblem(await connection.send(describeCall({ target, key, body: large })), refusal);
      expectExecuted(
        await connection.send(describeCall({ target, key: makeKey(), body: "x".repeat(1_000) })),
      );
    }
    expect(connection.open).toBe(true);
    connection.close();
    expect(stage.origin.executions() - before).toBe(20);
  });
});
