/**
 * Requests and responses as far as the product uses them, with bodies that are bytes or streams. The platform's own cost as much as the
 * rest of a simulated call.
 */

import { type FieldsInit, SimHeaders } from "./fields.ts";

type Content = Uint8Array | ReadableStream<Uint8Array> | string | null | undefined;

/** A body of bytes, read as a stream only where somebody asks for a reader. */
export class ByteBody {
  readonly bytes: Uint8Array;
  locked = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  getReader(): unknown {
    this.locked = true;
    let left: Uint8Array | undefined = this.bytes;
    const read = async (): Promise<{ done: boolean; value: Uint8Array | undefined }> => {
      const value = left;
      left = undefined;
      return { done: value === undefined, value };
    };
    return { read, readAtLeast: read, cancel: async () => undefined };
  }

  async cancel(): Promise<void> {
    this.locked = true;
  }
}

function bodyOf(content: Content): ByteBody | ReadableStream<Uint8Array> | null {
  if (content === null || content === undefined) return null;
  if (typeof content === "string") return new ByteBody(new TextEncoder().encode(content));
  return content instanceof Uint8Array ? new ByteBody(content) : content;
}

export async function readAll(body: ByteBody | ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  if (body instanceof ByteBody) return body.bytes;
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
  }
}

class Message {
  readonly headers: SimHeaders;
  readonly body: ByteBody | ReadableStream<Uint8Array> | null;

  constructor(content: Content, fields: FieldsInit) {
    this.headers = new SimHeaders(fields);
    this.body = bodyOf(content);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = await readAll(this.body);
    const copy = new Uint8Array(bytes.length);
    copy.set(bytes);
    return copy.buffer;
  }
}

export class SimRequest extends Message {
  readonly url: string;
  readonly method: string;

  constructor(url: string, init: { method: string; headers?: FieldsInit; body?: Content }) {
    super(init.body, init.headers);
    this.url = url;
    this.method = init.method;
  }
}

export class SimResponse extends Message {
  readonly status: number;

  constructor(content: Content, init: { status?: number; headers?: FieldsInit } = {}) {
    super(content, init.headers);
    const status = init.status ?? 200;
    const isBodiless = status === 204 || status === 205 || status === 304;
    if (status < 200 || status > 599) throw new RangeError("a response has a status from 200 to 599");
    if (isBodiless && this.body !== null) throw new TypeError("a response of this status has no body");
    this.status = status;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }
}

/** The same response for another process: a body that is still to come is read where it is made and travels chunk by chunk. */
export function carryResponse(
  response: SimResponse,
  carry: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>,
): SimResponse {
  const { body } = response;
  if (body === null || body instanceof ByteBody) return response;
  return new SimResponse(carry(body), { status: response.status, headers: response.headers });
}
