import { describe, expect, it, vi } from "vitest";
import { settleDown } from "../support/clock.ts";
import { expectAnswer, expectProblem, GATEWAY, makeKey, post, send } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";

const BODY_TIMEOUT_MS = 30_000;

/** A body that gives its first bytes and then nothing more, neither bytes nor an end. */
function makeSilent(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
  });
}

function makeRequest(
  key: string,
  headers: Record<string, string>,
): Request<unknown, IncomingRequestCfProperties> {
  return new Request<unknown, IncomingRequestCfProperties>(`${GATEWAY}/pay`, {
    method: "POST",
    headers: {
      "Idempotency-Key": key,
      Authorization: "Bearer alice",
      "Content-Type": "application/json",
      ...headers,
    },
    body: makeSilent('{"amount":'),
  });
}

describe("a body that is declared and not sent", () => {
  it.each<[string, Record<string, string>]>([
    ["of a declared length", { "Content-Length": "12" }],
    ["of no declared length", {}],
  ])("is incomplete when its time is over, and the key stays unused: %s", async (_case, headers) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const origin = mockOrigin();
    const key = makeKey();
    let isAnswered = false;
    const answer = send(makeRequest(key, headers)).finally(() => {
      isAnswered = true;
    });
    await settleDown();
    vi.advanceTimersByTime(BODY_TIMEOUT_MS - 1);
    await settleDown();
    expect(isAnswered).toBe(false);
    vi.advanceTimersByTime(1);
    await expectProblem(await answer, "request-incomplete", 400);
    expect(origin.count).toBe(0);
    vi.useRealTimers();
    await expectAnswer(await post("/pay", key), "executed");
    expect(origin.count).toBe(1);
  });
});
