/** The request body, read whole before any claim: a slow or oversized one leaves its key unused. */
import { joinBytes } from "../../core/bytes.ts";
import { BODY_TIMEOUT_MS, DRAIN_BYTES_MAX, DRAIN_MS_MAX } from "../../core/limits.ts";

export type BodyRead = { kind: "body"; bytes: Uint8Array } | { kind: "too-large" } | { kind: "incomplete" };

const READ_BYTES = 64 * 1024;

/**
 * The bytes as they came, counted while reading: a declared length is only a hint, to which the server holds the client.
 */
export async function readRequestBody(request: Request, bytesMax: number): Promise<BodyRead> {
  const { body } = request;
  if (body === null) return { kind: "body", bytes: new Uint8Array() };
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > bytesMax) {
    await discard(body);
    return { kind: "too-large" };
  }
  const isDeclared = Number.isSafeInteger(declared) && !request.headers.has("transfer-encoding");
  let timer: ReturnType<typeof setTimeout> | null = null;
  const late = new Promise<BodyRead>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "incomplete" }), BODY_TIMEOUT_MS);
  });
  try {
    return await Promise.race([isDeclared ? readWhole(request) : readCounted(body, bytesMax), late]);
  } catch {
    return { kind: "incomplete" };
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

async function readWhole(request: Request): Promise<BodyRead> {
  return { kind: "body", bytes: new Uint8Array(await request.arrayBuffer()) };
}

async function readCounted(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<BodyRead> {
  const reader = body.getReader({ mode: "byob" });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = await readChunk(reader);
    if (chunk === null) return { kind: "body", bytes: joinBytes(chunks) };
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > bytesMax) {
      await drain(reader);
      return { kind: "too-large" };
    }
  }
}

/** Null: the body has ended. */
async function readChunk(reader: ReadableStreamBYOBReader): Promise<Uint8Array | null> {
  const { value } = await reader.readAtLeast(READ_BYTES, new Uint8Array(READ_BYTES));
  return value === undefined || value.byteLength === 0 ? null : value;
}

/**
 * Takes a body that nobody will use off the line, so that the client reads the refusal and can send its next request on the same
 * connection. Gives up on one that is too long or too slow: then the connection closes.
 */
export async function discard(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (body !== null && !body.locked) await drain(body.getReader({ mode: "byob" }));
}

async function drain(reader: ReadableStreamBYOBReader): Promise<void> {
  let left = DRAIN_BYTES_MAX;
  // Cancelling ends a read that waits for more.
  const timer = setTimeout(() => reader.cancel().catch(() => undefined), DRAIN_MS_MAX);
  try {
    while (left > 0) {
      const chunk = await readChunk(reader);
      if (chunk === null) return;
      left -= chunk.byteLength;
    }
    await reader.cancel();
  } catch {
    // The client has left; there is nobody to keep a connection for.
  } finally {
    clearTimeout(timer);
  }
}

const DECODINGS: ReadonlyMap<string, "gzip" | "deflate"> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
]);

export type Content = { kind: "decoded" | "coded"; bytes: Uint8Array };

/**
 * The content that the fingerprint is taken of, so that a client may compress one try and not the next. `coded`: the coding
 * is not known, the bytes are not what it says, or the result is over the limit; then the bytes count as they are.
 */
export async function decodeForFingerprint(
  bytes: Uint8Array,
  encoding: string | null,
  bytesMax: number,
): Promise<Content> {
  if (encoding === null) return { kind: "decoded", bytes };
  const coding = DECODINGS.get(encoding.trim().toLowerCase());
  if (coding === undefined) return { kind: "coded", bytes };
  try {
    const decoded = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(coding));
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of decoded) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > bytesMax) return { kind: "coded", bytes };
    }
    return { kind: "decoded", bytes: joinBytes(chunks) };
  } catch {
    return { kind: "coded", bytes };
  }
}
