import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Answer, Connection } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeCall, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";
import { formatChunk, formatHead, type HeaderPair } from "../support/wire.ts";

const stage = useStage({ routes: EXECUTOR_ROUTES });

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The content of an answer, decoded as its own fields say. */
function decodeBody(answer: Answer): string {
  const coding = answer.header("Content-Encoding") ?? "identity";
  if (coding === "identity") return answer.text();
  expect(coding).toBe("gzip");
  return gunzipSync(answer.body).toString("utf8");
}

describe.each(EXECUTORS)("what the origin said (%s)", (executor) => {
  const target = `/${executor}/pay`;

  it.each([
    [204, []],
    [205, []],
    [304, [["ETag", '"v1"'] as const]],
    [200, []],
  ])("FR-038 gives %i without a body twice", async (status, headers) => {
    const call = { target, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(status, headers, "");
    });
    const first = await stage.post(call);
    expectExecuted(first, status);
    const replay = await stage.post(call);
    expectReplay(replay, first);
    for (const answer of [first, replay]) {
      expect(answer.body).toHaveLength(0);
      expect(answer.header("Content-Type")).toBeNull();
      expect(answer.header("ETag")).toBe(headers[0]?.[1] ?? null);
    }
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-040 describes the bytes it sends, whoever asks", async () => {
    const text = JSON.stringify({
      rows: Array.from({ length: 800 }, (_, index) => `row ${index} of the list`),
    });
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      const json: HeaderPair = ["Content-Type", "application/json"];
      const takesGzip = /gzip/.test(arrival.header("Accept-Encoding") ?? "");
      if (takesGzip) reply.send(200, [json, ["Content-Encoding", "gzip"]], gzipSync(text));
      else reply.send(200, [json], text);
    });
    const ask = (key: string, coding: string) =>
      stage.post({ target, key, headers: [["Accept-Encoding", coding]] });
    const [one, other] = [makeKey(), makeKey()];
    const answers = [
      await ask(one, "gzip"),
      await ask(one, "gzip"),
      await ask(one, "identity"),
      await ask(other, "identity"),
      await ask(other, "gzip"),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.whole).toBe(true);
      expect(decodeBody(answer)).toBe(text);
    }
    for (const plain of answers.slice(2, 4)) expect(plain.header("Content-Encoding")).toBeNull();
    expect(answers.map((answer) => answer.header("Idempotency-Status"))).toEqual([
      "executed",
      "replayed",
      "replayed",
      "executed",
      "replayed",
    ]);
    expect(stage.origin.executions()).toBe(2);
  });

  it.each([
    ["gzip", gzipSync("compressed, asked for or not")],
    ["br", brotliCompressSync("compressed, asked for or not")],
  ])("FR-040 decodes %s that nobody asked for", async (coding, bytes) => {
    const call = { target, key: makeKey(), headers: [["Accept-Encoding", "identity"] as const] };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(200, [["Content-Encoding", coding]], bytes);
    });
    const first = await stage.post(call);
    expectExecuted(first, 200);
    expect(first.header("Content-Encoding")).toBeNull();
    expect(first.text()).toBe("compressed, asked for or not");
    expectReplay(await stage.post(call), first);
  });

  it("FR-040 holds the key when the compressed bytes are broken", async () => {
    const call = { target, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(200, [["Content-Encoding", "gzip"]], gzipSync("x".repeat(4_000)).subarray(0, 20));
    });
    expectProblem(await stage.post(call), "outcome-lost");
    expectProblem(await stage.post(call), "outcome-unknown");
    expect(stage.origin.starts()).toBe(1);
  });

  it("FR-042 carries bytes both ways", async () => {
    const image = Buffer.from(Array.from({ length: 10_240 }, (_, index) => index % 256));
    const call = { target, key: makeKey(), body: image, headers: [["Content-Type", "image/png"] as const] };
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      reply.send(
        200,
        [
          ["Content-Type", "image/png"],
          ["X-Body-Digest", digest(arrival.body)],
        ],
        image,
      );
    });
    const first = await stage.post(call);
    expectExecuted(first, 200);
    const replay = await stage.post(call);
    expectReplay(replay, first);
    expect([first, replay].map((answer) => digest(answer.body))).toEqual([digest(image), digest(image)]);
    expect(replay.header("X-Body-Digest")).toBe(digest(image));
    expect(replay.header("Content-Type")).toBe("image/png");
    expect(stage.origin.executions()).toBe(1);
  });

  it.each([
    [303, "/done"],
    [307, "/b2"],
    [308, "http://other.test/x"],
  ])("FR-047 takes %i for an answer", async (status, location) => {
    const call = { target, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.send(
        status,
        [
          ["Location", location],
          ["Set-Cookie", "session=1"],
        ],
        "moved",
      );
    });
    const first = await stage.post(call);
    expectExecuted(first, status);
    expect(first.headerValues("Set-Cookie")).toEqual(["session=1"]);
    const replay = await stage.post(call);
    expectReplay(replay, first);
    expect([first, replay].map((answer) => answer.header("Location"))).toEqual([location, location]);
    expect(replay.header("Set-Cookie")).toBeNull();
    expect(stage.origin.starts()).toBe(1);
  });

  it("takes a chunked answer with interim responses for one whole answer", async () => {
    const call = { target, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.raw("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
      reply.raw(formatHead("HTTP/1.1 201 Created", [["Transfer-Encoding", "chunked"]]));
      for (const piece of ["one,", "two,", "three"]) reply.raw(formatChunk(piece));
      reply.raw("0\r\n\r\n");
    });
    const first = await stage.post(call);
    expectExecuted(first);
    expect(first.text()).toBe("one,two,three");
    expectReplay(await stage.post(call), first);
    expect(stage.origin.starts()).toBe(1);
  });

  it("keeps fields of the answer and drops those of the exchange from the replay", async () => {
    const call = { target, key: makeKey() };
    const kept: HeaderPair[] = [
      ["Content-Language", "de"],
      ["ETag", '"v7"'],
      ["X-Custom", "one"],
      ["X-Custom", "two"],
    ];
    const dropped: HeaderPair[] = [
      ["Set-Cookie", "session=1"],
      ["WWW-Authenticate", "Bearer"],
      ["Alt-Svc", 'h3=":443"'],
      ["Clear-Site-Data", '"cache"'],
      ["Age", "7"],
      ["RateLimit", "limit=10"],
      ["Retry-After", "9"],
      ["Server-Timing", "db;dur=3"],
      ["CF-Ray", "8a7b"],
      ["X-Hop", "named in Connection"],
    ];
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      const own: HeaderPair[] = [
        ["X-Request-Id", "origin-request-1"],
        ["Connection", "X-Hop"],
      ];
      reply.send(201, [...kept, ...dropped, ...own], "body");
    });
    const first = await stage.post(call);
    expectExecuted(first);
    const replay = await stage.post(call);
    expect(replay.header("Idempotency-Status")).toBe("replayed");
    for (const [name, value] of kept) {
      const values = kept.filter(([each]) => each === name).map(([, each]) => each);
      expect(replay.headerValues(name).join(", "), name).toBe(values.join(", "));
      expect(first.headerValues(name).join(", "), name).toContain(value);
    }
    for (const [name] of dropped) expect(replay.header(name), name).toBeNull();
    expect(first.header("X-Hop")).toBeNull();
    expect(replay.header("Idempotency-Original-Request-Id")).toBe("origin-request-1");
  });

  it("hands an event stream on as it comes and keeps no answer", async () => {
    const call = { target, key: makeKey() };
    stage.origin.handle(async (_arrival, reply) => {
      reply.execute();
      reply.raw(
        formatHead("HTTP/1.1 200 OK", [
          ["Content-Type", "text/event-stream"],
          ["Transfer-Encoding", "chunked"],
        ]),
      );
      reply.raw(formatChunk("data: first\n\n"));
      await sleep(1_000);
      reply.raw(formatChunk("data: last\n\n"));
      reply.raw("0\r\n\r\n");
    });
    const connection = await Connection.open(stage.gateway.port);
    const beganAt = performance.now();
    const answered = connection.send(describeCall(call));
    const firstByteMs = await connection.firstByte(5_000).then(() => performance.now() - beganAt);
    const first = await answered;
    connection.close();
    expect(first.status).toBe(200);
    expect(first.text()).toBe("data: first\n\ndata: last\n\n");
    expect(firstByteMs).toBeLessThan(900);
    expectProblem(await stage.post(call), "answer-not-kept");
    expect(stage.origin.executions()).toBe(1);
  });
});

describe("what the origin is sent", () => {
  it("is the request less the fields of this hop, the key and what only the gateway says", async () => {
    const key = makeKey();
    const forged: HeaderPair[] = [
      ["Effect-Id", "forged-by-client"],
      ["Effect-Attempt", "99"],
      ["Effect-Token", "forged-by-client"],
      ["Idempotency-Status", "forged-by-client"],
    ];
    const hop: HeaderPair[] = [
      ["Connection", "X-Hop, keep-alive"],
      ["X-Hop", "1"],
      ["Keep-Alive", "timeout=5"],
      ["TE", "trailers"],
    ];
    await stage.post({
      target: "/object/pay?a=1&b=%20",
      key,
      body: '{"a":1}',
      headers: [...forged, ...hop, ["X-Custom", "kept"]],
    });
    const [arrival] = stage.origin.arrivals;
    if (arrival === undefined) throw new Error("nothing arrived");
    expect(arrival.line).toBe("POST /object/pay?a=1&b=%20 HTTP/1.1");
    expect(arrival.text()).toBe('{"a":1}');
    expect(arrival.header("X-Custom")).toBe("kept");
    expect(arrival.header("Authorization")).toBe("Bearer a");
    expect(arrival.header("Content-Type")).toBe("application/json");
    for (const name of ["Idempotency-Key", "Idempotency-Status", "X-Hop", "Keep-Alive", "TE"]) {
      expect(arrival.header(name), name).toBeNull();
    }
    expect(arrival.headerValues("Effect-Id")).toEqual([expect.stringMatching(/^[\x21-\x7e]{1,64}$/)]);
    expect(arrival.headerValues("Effect-Attempt")).toEqual(["1"]);
    expect(JSON.stringify(arrival.headers)).not.toContain("forged-by-client");
  });

  it("keeps the effect id through one attempt and changes it for the next", async () => {
    const call = { target: "/object/pay", key: makeKey() };
    stage.origin.handle((arrival, reply) => reply.send(arrival.number === 1 ? 429 : 201));
    await stage.post(call);
    await stage.post(call);
    const [first, second] = stage.origin.arrivals;
    expect(first?.header("Effect-Attempt")).toBe("1");
    expect(second?.header("Effect-Attempt")).toBe("2");
    expect(second?.header("Effect-Id")).not.toBe(first?.header("Effect-Id"));
  });
});
