import { afterEach, describe, expect, it, vi } from "vitest";
import { startClock } from "../../../src/origin/clock.ts";

const DEADLINE_MS = 1_000;

function chunkAndEnd(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(into) {
      into.enqueue(new Uint8Array([1]));
      into.close();
    },
  });
}

function guarded() {
  vi.useFakeTimers();
  const stop = new AbortController();
  const clock = startClock(DEADLINE_MS, stop);
  return { stop, reader: clock.guard(chunkAndEnd()).getReader() };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("the deadline of an answer that is passed on", () => {
  it("holds as long as its end was not taken, though the origin has sent all of it", async () => {
    const { stop, reader } = guarded();
    await reader.read();
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);

    expect(stop.signal.aborted).toBe(true);
  });

  it("ends where nobody wants it", async () => {
    const { stop, reader } = guarded();
    await reader.cancel();
    await vi.advanceTimersByTimeAsync(2 * DEADLINE_MS);

    expect(stop.signal.aborted).toBe(false);
  });

  it("ends with the answer", async () => {
    const { stop, reader } = guarded();
    await reader.read();
    expect((await reader.read()).done).toBe(true);
    await vi.advanceTimersByTimeAsync(2 * DEADLINE_MS);

    expect(stop.signal.aborted).toBe(false);
  });
});
