/** Reads an answer's body up to a limit, counting as it comes: a declared length, or a compressed one, proves nothing. */
import { joinBytes } from "../core/bytes.ts";
import { isStillCoded } from "../core/http/headers.ts";
import { isBodiless } from "../core/http/outcome.ts";

export type Read =
  | { kind: "whole"; bytes: Uint8Array }
  /** Over the limit: what was read, followed by the rest as it comes. */
  | { kind: "over"; stream: ReadableStream<Uint8Array> }
  | { kind: "broken" };

/** First read, which holds most answers; each further one is larger, so that a large body takes few. */
const FIRST_READ_BYTES = 16 * 1024;
const READ_BYTES_MAX = 1024 * 1024;

export async function readBody(response: Response, bytesMax: number): Promise<Read> {
  const { body } = response;
  const isEmpty = response.headers.get("content-length") === "0";
  if (body === null || isEmpty || isBodiless(response.status))
    return { kind: "whole", bytes: new Uint8Array() };
  if (isStillCoded(response.headers.get("transfer-encoding"))) {
    body.cancel().catch(() => undefined);
    return { kind: "broken" };
  }
  try {
    if (isShortFor(response.headers, bytesMax)) {
      return { kind: "whole", bytes: new Uint8Array(await response.arrayBuffer()) };
    }
    return await readCounted(body, bytesMax);
  } catch {
    return { kind: "broken" };
  }
}

/** The runtime holds a plain body to its declared length; a decoded one can be any size. */
function isShortFor(headers: Headers, bytesMax: number): boolean {
  const length = headers.get("content-length");
  return (
    length !== null && /^\d+$/.test(length) && Number(length) <= bytesMax && !headers.has("content-encoding")
  );
}

async function readCounted(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Read> {
  const reader = openReader(body);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let want = FIRST_READ_BYTES; ; want = Math.min(want * 4, READ_BYTES_MAX)) {
    const chunk = await reader.read(want);
    if (chunk === null) return { kind: "whole", bytes: joinBytes(chunks) };
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > bytesMax) return { kind: "over", stream: restream(chunks, reader) };
  }
}

type ChunkReader = {
  read: (want: number) => Promise<Uint8Array | null>;
  cancel: (reason: unknown) => Promise<void>;
};

/** Large reads where the stream takes the caller's buffer: chunks of 4 KiB in JavaScript cost several times as much. */
function openReader(body: ReadableStream<Uint8Array>): ChunkReader {
  let byob: ReadableStreamBYOBReader;
  try {
    byob = body.getReader({ mode: "byob" });
  } catch {
    const reader = body.getReader();
    return {
      read: async () => (await reader.read()).value ?? null,
      cancel: (reason) => reader.cancel(reason),
    };
  }
  return {
    async read(want) {
      const { value } = await byob.readAtLeast(want, new Uint8Array(want));
      return value === undefined || value.byteLength === 0 ? null : value;
    },
    cancel: (reason) => byob.cancel(reason),
  };
}

function restream(chunks: readonly Uint8Array[], reader: ChunkReader): ReadableStream<Uint8Array> {
  const waiting = [...chunks];
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = waiting.shift() ?? (await reader.read(FIRST_READ_BYTES));
      if (chunk === null) controller.close();
      else controller.enqueue(chunk);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
