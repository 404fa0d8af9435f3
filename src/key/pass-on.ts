/** Hands a body on to the caller chunk by chunk while counting it. Goes on to the end when the caller leaves. */
import { toHex } from "../core/bytes.ts";

export type PassEnd = { kind: "whole"; size: number; digest: string } | { kind: "broken" };

/** `body` breaks where the source breaks, or when `stopped` fires while the caller doesn't read on. `end` never rejects. */
export function passOn(
  source: ReadableStream<Uint8Array>,
  stopped: AbortSignal,
): {
  body: ReadableStream<Uint8Array>;
  end: Promise<PassEnd>;
} {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  return { body: readable, end: pump(source, writable.getWriter(), stopped) };
}

async function pump(
  source: ReadableStream<Uint8Array>,
  caller: WritableStreamDefaultWriter<Uint8Array>,
  stopped: AbortSignal,
): Promise<PassEnd> {
  const stop = new Promise<never>((_resolve, reject) => {
    stopped.addEventListener("abort", () => reject(new Error("the time for this answer is over")), {
      once: true,
    });
  });
  stop.catch(() => undefined);
  const hash = new crypto.DigestStream("SHA-256");
  const hashing = hash.getWriter();
  const reader = source.getReader();
  let size = 0;
  let isCallerThere = true;
  caller.closed.catch(() => {
    isCallerThere = false;
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      await hashing.write(value);
      // A caller that has left is no reason to stop; one that stays and does not read holds the answer only so long.
      if (isCallerThere) await Promise.race([caller.write(value).catch(() => undefined), stop]);
    }
  } catch (error) {
    caller.abort(error).catch(() => undefined);
    reader.cancel(error).catch(() => undefined);
    hashing.abort(error).catch(() => undefined);
    hash.digest.catch(() => undefined);
    return { kind: "broken" };
  }
  await hashing.close();
  await caller.close().catch(() => undefined);
  return { kind: "whole", size, digest: toHex(new Uint8Array(await hash.digest)) };
}
