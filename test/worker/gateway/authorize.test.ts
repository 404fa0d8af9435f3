import { describe, expect, it, vi } from "vitest";
import { AUTHORIZE_TIMEOUT_MS } from "../../../src/core/limits.ts";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { type Answerer, answerCreated, makeGate, mockOrigin, type Origin } from "../support/origin.ts";

const HOST = "authorize.example";

/** The route's service says yes or no as the test likes, and has been asked `asked` times. */
function mockService(
  answer: Answerer = answerCreated,
  say: Answerer = () => new Response(null, { status: 204 }),
): Origin & { readonly asked: number; allow: boolean } {
  const state = { allow: true };
  const origin = mockOrigin(answer, {
    [HOST]: (arrival, number) => (state.allow ? say(arrival, number) : new Response(null, { status: 403 })),
  });
  return Object.defineProperties(origin as Origin & { readonly asked: number; allow: boolean }, {
    asked: { get: () => origin.countAt(HOST) },
    allow: {
      get: () => state.allow,
      set: (allow: boolean) => {
        state.allow = allow;
      },
    },
  });
}

describe("the route's authorize service", () => {
  it("is not asked before a first run", async () => {
    const service = mockService();
    service.allow = false;
    await expectAnswer(await post("/authorize", makeKey()), "executed");
    expect(service.asked).toBe(0);
  });

  it("is asked before each replay, with the caller's credentials", async () => {
    const service = mockService();
    const key = makeKey();
    const body = await expectAnswer(await post("/authorize", key), "executed");
    const cookie = { headers: { Cookie: "session=1" } };
    for (let replay = 1; replay <= 3; replay++) {
      expect(await expectAnswer(await post("/authorize", key, cookie), "replayed")).toBe(body);
      expect(service.asked).toBe(replay);
    }
    const asked = service.arrivals.find(({ url }) => url.includes(HOST));
    expect(asked).toMatchObject({ method: "GET", url: `https://${HOST}/check`, body: "" });
    expect([asked?.headers.get("Authorization"), asked?.headers.get("Cookie")]).toEqual([
      "Bearer alice",
      "session=1",
    ]);
    expect(asked?.headers.get("Idempotency-Key")).toBeNull();
    expect(service.count).toBe(1);
  });

  it("has the last word on an answer that the isolate remembers, too", async () => {
    const service = mockService();
    const key = makeKey();
    await expectAnswer(await post("/authorize", key), "executed");
    await expectAnswer(await post("/authorize", key), "replayed");
    service.allow = false;
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    service.allow = true;
    await expectAnswer(await post("/authorize", key), "replayed");
  });

  it("is asked before a request is told that its twin is in flight", async () => {
    const gate = makeGate();
    const service = mockService(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const key = makeKey();
    const first = post("/authorize", key);
    await service.arrived(1);
    service.allow = false;
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    service.allow = true;
    await expectProblem(await post("/authorize", key), "in-flight", 409);
    gate.open();
    await expectAnswer(await first, "executed");
    expect(service.asked).toBe(2);
  });

  it("is asked before a request is told that the outcome is unknown", async () => {
    const service = mockService(() => new Response(null, { status: 504 }));
    const key = makeKey();
    await expectProblem(await post("/authorize", key), "outcome-unknown", 504);
    service.allow = false;
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    service.allow = true;
    await expectProblem(await post("/authorize", key), "outcome-unknown", 409);
    expect(service.asked).toBe(2);
  });

  it("is asked before a request is told that its key has expired", async () => {
    stopClock();
    const service = mockService();
    const key = makeKey();
    await expectAnswer(await post("/authorize", key), "executed");
    advanceClock(12 * SECOND);
    service.allow = false;
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    service.allow = true;
    await expectProblem(await post("/authorize", key), "key-expired", 409);
    expect(service.asked).toBe(2);
  });

  it("is not asked about a key of another request, which comes first", async () => {
    const service = mockService();
    const key = makeKey();
    await expectAnswer(await post("/authorize", key), "executed");
    service.allow = false;
    await expectProblem(await post("/authorize", key, { body: "another" }), "key-reused", 422);
    expect(service.asked).toBe(0);
  });

  it.each<[string, Answerer]>([
    ["a redirect", () => Response.redirect("https://elsewhere.example/", 302)],
    ["an error", () => new Response(null, { status: 500 })],
    ["a lost connection", () => Promise.reject(new TypeError("connection reset"))],
  ])("says no by %s", async (_case, say) => {
    const service = mockService(answerCreated, say);
    const key = makeKey();
    await expectAnswer(await post("/authorize", key), "executed");
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    expect(service.arrivals.map(({ url }) => new URL(url).host)).not.toContain("elsewhere.example");
  });

  it("says no by silence", async () => {
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 10);
      return controller.signal;
    });
    mockService(answerCreated, () => makeGate().passed.then(() => new Response()));
    const key = makeKey();
    await expectAnswer(await post("/authorize", key), "executed");
    await expectProblem(await post("/authorize", key), "not-authorized", 403);
    expect(timeout).toHaveBeenCalledWith(AUTHORIZE_TIMEOUT_MS);
  });
});
