import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { CACHE_BYTES_MAX, CACHED_ANSWER_BYTES_MAX } from "../../../src/core/limits.ts";
import type { Env } from "../../../src/env.ts";
import { AnswerCache, type CachedAnswer } from "../../../src/gateway/cache.ts";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";

/** An isolate of its own, whose calls to key objects are counted. */
function makeIsolate(): { bindings: Env; readonly calls: number } {
  let calls = 0;
  const getByName = (name: string) => {
    calls += 1;
    return env.KEYS.getByName(name);
  };
  return {
    bindings: bindWith({ KEYS: { getByName } }),
    get calls() {
      return calls;
    },
  };
}

describe("an answer that an isolate has replayed once", () => {
  it("is replayed from its memory, the same in every part", async () => {
    mockOrigin();
    const isolate = makeIsolate();
    const key = makeKey();
    await expectAnswer(await post("/quiet", key, {}, isolate.bindings), "executed");
    const first = await post("/quiet", key, {}, isolate.bindings);
    expect(isolate.calls).toBe(2);
    const hot = await post("/quiet", key, {}, isolate.bindings);
    expect(isolate.calls).toBe(2);
    expect([...hot.headers].filter(([name]) => name !== "date")).toEqual(
      [...first.headers].filter(([name]) => name !== "date"),
    );
    expect(await expectAnswer(hot, "replayed")).toBe(await expectAnswer(first, "replayed"));
  });

  it("is not given to another request under its key", async () => {
    mockOrigin();
    const isolate = makeIsolate();
    const key = makeKey();
    for (let tries = 0; tries < 3; tries++) await post("/quiet", key, {}, isolate.bindings);
    const refused = await post("/quiet", key, { body: "another" }, isolate.bindings);
    await expectProblem(refused, "key-reused", 422);
    expect(isolate.calls).toBe(3);
    await expectAnswer(await post("/quiet", key, {}, isolate.bindings), "replayed");
    expect(isolate.calls).toBe(3);
  });

  it("is not given to another principal under its key", async () => {
    const origin = mockOrigin();
    const isolate = makeIsolate();
    const key = makeKey();
    for (let tries = 0; tries < 3; tries++) await post("/quiet", key, {}, isolate.bindings);
    const other = { headers: { Authorization: "Bearer mallory" } };
    await expectAnswer(await post("/quiet", key, other, isolate.bindings), "executed");
    expect(origin.count).toBe(2);
  });

  it("is gone when its window is over", async () => {
    stopClock();
    mockOrigin();
    const isolate = makeIsolate();
    const key = makeKey();
    for (let tries = 0; tries < 3; tries++) await post("/quiet-short", key, {}, isolate.bindings);
    expect(isolate.calls).toBe(2);
    advanceClock(10 * SECOND - 1);
    await expectAnswer(await post("/quiet-short", key, {}, isolate.bindings), "replayed");
    expect(isolate.calls).toBe(2);
    advanceClock(1);
    await expectProblem(await post("/quiet-short", key, {}, isolate.bindings), "key-expired", 409);
    expect(isolate.calls).toBe(3);
  });

  it.each(["durable", "bound"])("is asked of its object each time on /%s", async (route) => {
    const origin = mockOrigin();
    const isolate = makeIsolate();
    const key = makeKey();
    await expectAnswer(await post(`/${route}`, key, {}, isolate.bindings), "executed");
    for (let replay = 2; replay <= 4; replay++) {
      await expectAnswer(await post(`/${route}`, key, {}, isolate.bindings), "replayed");
      expect(isolate.calls).toBe(replay);
    }
    expect(origin.count).toBe(1);
  });
});

const EXPIRES = 1_000;

function makeAnswer(bytes: number, fields: CachedAnswer["fields"] = []): CachedAnswer {
  return { status: 201, fields, body: new Uint8Array(bytes), expiresAt: EXPIRES };
}

describe("the memory", () => {
  it("holds no more bytes than its limit, and lets go of what was used longest ago", () => {
    const cache = new AnswerCache();
    const count = Math.ceil(CACHE_BYTES_MAX / CACHED_ANSWER_BYTES_MAX) + 50;
    for (let n = 0; n < count; n++) {
      cache.keep(`operation-${n}`, "fp", makeAnswer(CACHED_ANSWER_BYTES_MAX));
      expect(cache.bytes).toBeLessThanOrEqual(CACHE_BYTES_MAX);
      expect(cache.find("operation-0", "fp", 0)).not.toBeNull();
    }
    expect(cache.find("operation-1", "fp", 0)).toBeNull();
    expect(cache.find(`operation-${count - 1}`, "fp", 0)).not.toBeNull();
    expect(cache.bytes).toBeGreaterThan(CACHE_BYTES_MAX / 2);
  });

  it("counts the fields of an answer as well as its body", () => {
    const cache = new AnswerCache();
    const headers = Array.from({ length: 10 }, (_, n) => [`x-field-${n}`, "v".repeat(2_000)] as const);
    cache.keep("operation", "fp", makeAnswer(0, headers));
    expect(cache.bytes).toBeGreaterThanOrEqual(20_000);
  });

  it("takes no answer over its size", () => {
    const cache = new AnswerCache();
    cache.keep("operation", "fp", makeAnswer(CACHED_ANSWER_BYTES_MAX + 1));
    expect(cache.find("operation", "fp", 0)).toBeNull();
    expect(cache.bytes).toBe(0);
  });

  it("counts an answer that is kept again once", () => {
    const cache = new AnswerCache();
    cache.keep("operation", "fp", makeAnswer(1_000));
    const { bytes } = cache;
    cache.keep("operation", "fp", makeAnswer(1_000));
    expect(cache.bytes).toBe(bytes);
  });

  it("gives back what an ended answer took", () => {
    const cache = new AnswerCache();
    cache.keep("operation", "fp", makeAnswer(1_000));
    expect(cache.find("operation", "other", 0)).toBeNull();
    expect(cache.find("operation", "fp", EXPIRES - 1)).not.toBeNull();
    expect(cache.find("operation", "fp", EXPIRES)).toBeNull();
    expect(cache.bytes).toBe(0);
  });
});
