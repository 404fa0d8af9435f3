import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../src/core/bytes.ts";
import { advanceClock, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { expectNoTraces, type KeyStub, keyObject, readClosed, runAlarm } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const LARGE_BYTES = 5_000_000;
const DAY_AND_A_BIT = 25 * 3_600_000;

/** Bytes without a pattern that a part moved to another place would keep. */
function makeBytes(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

function rowSizes(stub: KeyStub): Promise<number[]> {
  return runInDurableObject(stub, (_object, { storage }) =>
    [...storage.kv.list<ArrayBuffer>({ prefix: "body:" })].map(([, row]) => row.byteLength),
  );
}

async function readBytes(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer());
}

/** A settled key on a route with a body in rows of its own. */
async function settleLarge(route: string): Promise<{ key: string; stub: KeyStub; bytes: Uint8Array }> {
  const bytes = makeBytes(LARGE_BYTES);
  mockOrigin(() => new Response(bytes, { status: 201 }));
  const key = makeKey();
  const response = await post(`/${route}`, key);
  expect(response.headers.get("Idempotency-Status")).toBe("executed");
  expect(await sha256Hex(await readBytes(response))).toBe(await sha256Hex(bytes));
  return { key, stub: keyObject(operationOf(response)), bytes };
}

describe.each(["pay", "worker"])("an answer of 5 MB on /%s", (route) => {
  it("is stored in rows under the platform's limit and comes back equal", async () => {
    const { key, stub, bytes } = await settleLarge(route);
    const sizes = await rowSizes(stub);
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_900_000);
    const replay = await post(`/${route}`, key);
    expect(replay.headers.get("Idempotency-Status")).toBe("replayed");
    expect(await sha256Hex(await readBytes(replay))).toBe(await sha256Hex(bytes));
  });
});

describe("a stored row", () => {
  it.each<[string, (storage: DurableObjectStorage) => void]>([
    ["with one other bit", (storage) => flipBit(storage, "body:1")],
    ["that is gone", (storage) => void storage.kv.delete("body:1")],
    ["in another row's place", (storage) => storage.kv.put("body:1", storage.kv.get("body:0"))],
  ])("%s breaks the transfer and gives no wrong byte", async (_case, change) => {
    const { key, stub } = await settleLarge("pay");
    await runInDurableObject(stub, (_object, { storage }) => change(storage));
    const replay = await post("/pay", key);
    await expect(readBytes(replay)).rejects.toThrow();
  });

  it("leaves with its record", async () => {
    stopClock();
    const { stub } = await settleLarge("pay");
    await settleDown();
    advanceClock(DAY_AND_A_BIT);
    await runAlarm(stub);
    await expectNoTraces(stub);
  });
});

function flipBit(storage: DurableObjectStorage, row: string): void {
  const bytes = new Uint8Array(storage.kv.get<ArrayBuffer>(row) ?? new ArrayBuffer(1));
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  storage.kv.put(row, bytes.buffer);
}

describe.each([1_024, 1_025, 100_000])("an answer of %i bytes on a route that keeps 1 KiB", (size) => {
  it("is given whole to its first caller, and kept only if it fits", async () => {
    const bytes = makeBytes(size);
    const origin = mockOrigin(() => new Response(bytes, { status: 201 }));
    const key = makeKey();
    const response = await post("/small", key);
    expect(response.headers.get("Idempotency-Status")).toBe("executed");
    expect(await sha256Hex(await readBytes(response))).toBe(await sha256Hex(bytes));
    await readClosed(keyObject(operationOf(response)));
    const again = await post("/small", key);
    if (size <= 1_024) {
      await expectAnswer(again, "replayed");
    } else {
      expect(await expectProblem(again, "answer-not-kept", 409)).toMatchObject({
        retry: "never",
        answer_status: 201,
        answer_size: size,
        answer_digest: await sha256Hex(bytes),
      });
    }
    expect(origin.count).toBe(1);
  });
});

describe("an event stream", () => {
  it("is passed on as it comes and ends as not kept", async () => {
    const parts = ["data: 1\n\n", "data: 2\n\n"];
    const origin = mockOrigin(() => {
      const waiting = parts.map((part) => new TextEncoder().encode(part));
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const part = waiting.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(part);
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    });
    const key = makeKey();
    const response = await post("/pay", key);
    expect(await expectAnswer(response, "executed", 200)).toBe(parts.join(""));
    await readClosed(keyObject(operationOf(response)));
    await expectProblem(await post("/pay", key), "answer-not-kept", 409);
    expect(origin.count).toBe(1);
  });

  it("that breaks leaves the outcome unknown", async () => {
    const origin = mockOrigin(() => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.error(new Error("cut"));
        },
      });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    });
    const key = makeKey();
    const response = await post("/pay", key);
    await expect(response.text()).rejects.toThrow();
    await readClosed(keyObject(operationOf(response)));
    await expectProblem(await post("/pay", key), "outcome-unknown", 409);
    expect(origin.count).toBe(1);
  });
});
