/** HTTP/1.1 as bytes (RFC 9112), for a scripted origin and for a client that never retries. */
import type { Socket } from "node:net";

/** Field name and value as they stood on the wire, in order. */
export type HeaderPair = readonly [name: string, value: string];

/** What could be read before the peer stopped: `whole` says whether all of it came. */
export type Taken = { whole: boolean; bytes: Buffer };

const HEAD_BYTES_MAX = 512 * 1024;
const BUFFER_BYTES_MAX = 160 * 1024 * 1024;
const CRLF = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

/** Thrown when the peer sent what is not HTTP, or more than any test sends. */
export class WireError extends Error {
  override name = "WireError";
}

/** The bytes a socket receives, taken in the portions the caller asks for. */
export class ByteSource {
  #held: Buffer[] = [];
  #size = 0;
  #open = true;
  #waiting: (() => void)[] = [];

  constructor(socket: Socket) {
    socket.on("data", (piece: Buffer) => {
      this.#held.push(piece);
      this.#size += piece.length;
      if (this.#size > BUFFER_BYTES_MAX) socket.destroy();
      this.#wake();
    });
    const stop = () => {
      this.#open = false;
      this.#wake();
    };
    socket.on("end", stop);
    socket.on("close", stop);
    socket.on("error", stop);
  }

  /** True once at least one byte is there, false when the peer stopped before it. */
  async hasByte(): Promise<boolean> {
    while (this.#size === 0 && this.#open) await this.#more();
    return this.#size > 0;
  }

  /** Exactly `count` bytes, or what there was. */
  async take(count: number): Promise<Taken> {
    while (this.#size < count && this.#open) await this.#more();
    const whole = this.#size >= count;
    return { whole, bytes: this.#cut(whole ? count : this.#size) };
  }

  /** Everything up to and without `mark`, which is taken too. */
  async takeUntil(mark: Buffer, bytesMax: number): Promise<Taken> {
    for (;;) {
      const at = this.#joined().indexOf(mark);
      if (at >= 0) {
        const bytes = this.#cut(at);
        this.#cut(mark.length);
        return { whole: true, bytes };
      }
      if (this.#size > bytesMax) throw new WireError(`no end within ${bytesMax} bytes`);
      if (!this.#open) return { whole: false, bytes: this.#cut(this.#size) };
      await this.#more();
    }
  }

  /** Everything until the peer closes. */
  async takeRest(): Promise<Buffer> {
    while (this.#open) await this.#more();
    return this.#cut(this.#size);
  }

  #joined(): Buffer {
    const [first] = this.#held;
    if (this.#held.length === 1 && first !== undefined) return first;
    const all = Buffer.concat(this.#held);
    this.#held = all.length > 0 ? [all] : [];
    return all;
  }

  #cut(count: number): Buffer {
    const all = this.#joined();
    const rest = all.subarray(count);
    this.#held = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return all.subarray(0, count);
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

export type Head = { whole: boolean; firstLine: string; headers: HeaderPair[]; raw: string };

/** First line and fields, read as Latin-1 so that every byte survives. */
export async function readHead(source: ByteSource): Promise<Head> {
  const { whole, bytes } = await source.takeUntil(HEAD_END, HEAD_BYTES_MAX);
  const raw = bytes.toString("latin1");
  const [firstLine = "", ...lines] = raw.split("\r\n");
  const headers = lines.map((line): HeaderPair => {
    const colon = line.indexOf(":");
    return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { whole, firstLine, headers, raw };
}

/** The only value of a field, or the first of several; null when there is none. */
export function findHeader(headers: readonly HeaderPair[], name: string): string | null {
  return findHeaders(headers, name)[0] ?? null;
}

/** All values of a field, in order. */
export function findHeaders(headers: readonly HeaderPair[], name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([each]) => each.toLowerCase() === wanted).map(([, value]) => value);
}

/** How the body of a message ends (RFC 9112 section 6.3). */
export type Framing = { by: "none" } | { by: "length"; length: number } | { by: "chunks" } | { by: "close" };

/** Framing by the fields alone; `otherwise` is what holds without any of them. */
export function readFraming(headers: readonly HeaderPair[], otherwise: "none" | "close"): Framing {
  if (findHeaders(headers, "transfer-encoding").some((value) => /chunked/i.test(value)))
    return { by: "chunks" };
  const length = findHeader(headers, "content-length");
  if (length === null) return { by: otherwise };
  if (!/^\d+$/.test(length)) throw new WireError(`content-length ${length}`);
  return { by: "length", length: Number(length) };
}

/** A body and whether it came to its end; a body that ends with the connection counts as whole. */
export async function readBody(source: ByteSource, framing: Framing): Promise<Taken> {
  switch (framing.by) {
    case "none":
      return { whole: true, bytes: Buffer.alloc(0) };
    case "length":
      return source.take(framing.length);
    case "close":
      return { whole: true, bytes: await source.takeRest() };
    case "chunks":
      return readChunks(source);
  }
}

async function readChunks(source: ByteSource): Promise<Taken> {
  const pieces: Buffer[] = [];
  const result = (whole: boolean): Taken => ({ whole, bytes: Buffer.concat(pieces) });
  for (;;) {
    const line = await source.takeUntil(CRLF, HEAD_BYTES_MAX);
    if (!line.whole) return result(false);
    const size = Number.parseInt(line.bytes.toString("latin1"), 16);
    if (Number.isNaN(size)) throw new WireError(`chunk size ${line.bytes.toString("latin1").slice(0, 40)}`);
    if (size === 0) break;
    const piece = await source.take(size);
    pieces.push(piece.bytes);
    if (!piece.whole) return result(false);
    await source.take(CRLF.length);
  }
  for (;;) {
    const trailer = await source.takeUntil(CRLF, HEAD_BYTES_MAX);
    if (!trailer.whole) return result(false);
    if (trailer.bytes.length === 0) return result(true);
  }
}

/** One chunk of a chunked body. */
export function formatChunk(bytes: Uint8Array | string): Buffer {
  const data = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, CRLF]);
}

/** What ends a chunked body. */
export const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** First line and fields as bytes; every character of a field is one byte. */
export function formatHead(firstLine: string, headers: readonly HeaderPair[]): Buffer {
  const lines = [firstLine, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
