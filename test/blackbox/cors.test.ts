import { describe, expect, it } from "vitest";
import type { Answer } from "../support/client.ts";
import { expectExecuted, expectReplay } from "../support/expect-answer.ts";
import type { Stage } from "../support/stage.ts";
import { EXECUTOR_ROUTES, makeKey, useStage } from "../support/stage.ts";
import type { HeaderPair } from "../support/wire.ts";

const SHOP = "https://shop.test";
const OWN_CORS: HeaderPair[] = [
  ["Access-Control-Allow-Origin", SHOP],
  ["Access-Control-Allow-Methods", "POST"],
  ["Access-Control-Allow-Headers", "content-type"],
];

/** An API that answers preflights itself and counts its reads. */
function serveBrowserApi(stage: Stage): void {
  let reads = 0;
  stage.origin.handle((arrival, reply) => {
    if (arrival.method === "OPTIONS") return reply.send(204, OWN_CORS);
    if (arrival.method === "POST")
      return reply.send(201, [["Access-Control-Allow-Origin", SHOP]], reply.execute());
    reads += 1;
    reply.send(200, [], String(reads).padEnd(500, "."));
  });
}

function preflight(stage: Stage, origin: string) {
  const headers: HeaderPair[] = [
    ["Origin", origin],
    ["Access-Control-Request-Method", "POST"],
    ["Access-Control-Request-Headers", "idempotency-key"],
  ];
  return stage.send({ method: "OPTIONS", target: "/object/pay", headers });
}

function listTokens(values: readonly string[]): string[] {
  return values.flatMap((value) => value.split(",")).map((token) => token.trim().toLowerCase());
}

describe("browsers, with CORS_ORIGINS", () => {
  const stage = useStage({ routes: EXECUTOR_ROUTES, vars: { CORS_ORIGINS: JSON.stringify([SHOP]) } });

  it("FR-061 may send the key", async () => {
    serveBrowserApi(stage);
    const answer = await preflight(stage, SHOP);
    expect(answer.status).toBeGreaterThanOrEqual(200);
    expect(answer.status).toBeLessThan(300);
    expect(answer.headerValues("Access-Control-Allow-Origin")).toEqual([SHOP]);
    expect(listTokens(answer.headerValues("Access-Control-Allow-Headers"))).toContain("idempotency-key");
    expect(listTokens(answer.headerValues("Access-Control-Allow-Methods"))).toContain("post");
    expect(answer.header("Idempotency-Status")).toBeNull();
  });

  it("FR-061 can read the marks of a first answer, a replay and a refusal", async () => {
    serveBrowserApi(stage);
    const call = { target: "/object/pay", key: makeKey(), headers: [["Origin", SHOP] as const] };
    const first = await stage.post(call);
    expectExecuted(first);
    const replay = await stage.post(call);
    expectReplay(replay, first);
    const refusal = await stage.post({ ...call, body: '{"other":1}' });
    expect(refusal.status).toBe(422);
    for (const answer of [first, replay, refusal]) {
      expect(answer.headerValues("Access-Control-Allow-Origin")).toEqual([SHOP]);
      const exposed = listTokens(answer.headerValues("Access-Control-Expose-Headers"));
      expect(exposed).toEqual(
        expect.arrayContaining(["idempotency-status", "idempotency-replayed", "retry-after"]),
      );
      expect(listTokens(answer.headerValues("Vary"))).toContain("origin");
    }
  });

  it("FR-061 of other origins are given no leave", async () => {
    serveBrowserApi(stage);
    const answer = await preflight(stage, "https://other.test");
    expect(answer.header("Access-Control-Allow-Origin")).not.toBe("https://other.test");
    expect(answer.header("Access-Control-Allow-Origin")).not.toBe("*");
  });
});

/** Every kind of answer there is, with the given fields in each request. */
async function askEverything(stage: Stage, headers: readonly HeaderPair[]): Promise<[string, Answer][]> {
  const call = { target: "/object/pay", key: makeKey(), headers };
  const read = (target: string) => stage.send({ method: "GET", target, headers });
  return [
    ["executed", await stage.post(call)],
    ["replayed", await stage.post(call)],
    ["replayed from memory", await stage.post(call)],
    ["mismatch", await stage.post({ ...call, body: '{"other":1}' })],
    ["refused", await stage.post({ ...call, key: null })],
    ["unguarded", await read("/object/list")],
    ["of no route", await stage.post({ ...call, target: "/elsewhere", key: null })],
    ["health", await read("/_oncegate/health")],
    ["a problem's page", await read("/_oncegate/problems/key-reused")],
    ["not found", await read("/_oncegate/nothing")],
    ["target refused", await read("/object/../list")],
  ];
}

describe("answers, with a list of CORS_ORIGINS", () => {
  const stage = useStage({ routes: EXECUTOR_ROUTES, vars: { CORS_ORIGINS: JSON.stringify([SHOP]) } });

  it.each<[string, readonly HeaderPair[]]>([
    ["without an origin", []],
    ["from a listed origin", [["Origin", SHOP]]],
    ["from another origin", [["Origin", "https://other.test"]]],
    ["from no place in particular", [["Origin", "null"]]],
  ])("vary with who asks, whoever asks: %s", async (_name, headers) => {
    serveBrowserApi(stage);
    const isListed = headers.some(([, value]) => value === SHOP);
    for (const [kind, answer] of await askEverything(stage, headers)) {
      expect(listTokens(answer.headerValues("Vary")), kind).toContain("origin");
      if (isListed) expect(answer.headerValues("Access-Control-Allow-Origin"), kind).toEqual([SHOP]);
    }
  });

  it("keep what the origin's own answer varies with", async () => {
    stage.origin.handle((_arrival, reply) => reply.send(201, [["Vary", "Accept"]], reply.execute()));
    const call = { target: "/object/pay", key: makeKey() };
    for (const answer of [await stage.post(call), await stage.post(call)]) {
      expect(listTokens(answer.headerValues("Vary")).sort()).toEqual(["accept", "origin"]);
    }
  });
});

describe("answers, with every origin allowed", () => {
  const stage = useStage({ routes: EXECUTOR_ROUTES, vars: { CORS_ORIGINS: JSON.stringify(["*"]) } });

  it("are the same for all", async () => {
    stage.origin.handle((_arrival, reply) => reply.send(201, [], reply.execute()));
    for (const [kind, answer] of await askEverything(stage, [["Origin", SHOP]])) {
      expect(listTokens(answer.headerValues("Vary")), kind).not.toContain("origin");
      expect(answer.headerValues("Access-Control-Allow-Origin"), kind).toEqual(["*"]);
    }
  });
});

describe("browsers, without CORS_ORIGINS", () => {
  const stage = useStage({ routes: EXECUTOR_ROUTES });

  it("FR-061 get the origin's own preflight answer", async () => {
    serveBrowserApi(stage);
    const answer = await preflight(stage, SHOP);
    expect(answer.status).toBe(204);
    for (const [name, value] of OWN_CORS) expect(answer.headerValues(name)).toEqual([value]);
    expect(answer.header("Access-Control-Expose-Headers")).toBeNull();
    expect(stage.origin.arrivals.map(({ method }) => method)).toEqual(["OPTIONS"]);
  });

  it("FR-061 safe methods with a key are neither claimed nor changed", async () => {
    serveBrowserApi(stage);
    const headers: HeaderPair[] = [
      ["Idempotency-Key", makeKey()],
      ["Authorization", "Bearer a"],
    ];
    const target = "/object/list";
    const reads = [
      await stage.send({ method: "GET", target, headers }),
      await stage.send({ method: "GET", target, headers }),
    ];
    expect(reads.map((answer) => answer.status)).toEqual([200, 200]);
    expect(reads.map((answer) => Number.parseInt(answer.text(), 10))).toEqual([1, 2]);
    for (const answer of reads) expect(answer.header("Idempotency-Replayed")).toBeNull();
    const head = await stage.send({ method: "HEAD", target, headers });
    expect(head.status).toBe(200);
    expect(head.body).toHaveLength(0);
    expect([null, "500"]).toContain(head.header("Content-Length"));
    expect(stage.origin.arrivals.map(({ method }) => method)).toEqual(["GET", "GET", "HEAD"]);
  });

  it("FR-061 post and replay as everybody does", async () => {
    serveBrowserApi(stage);
    const call = { target: "/object/pay", key: makeKey(), headers: [["Origin", SHOP] as const] };
    const first = await stage.post(call);
    expectExecuted(first);
    expectReplay(await stage.post(call), first);
  });
});
