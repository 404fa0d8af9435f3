/** A client on a raw socket. It never retries, follows nothing and decodes nothing but the framing. */
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import {
  ByteSource,
  type Framing,
  findHeader,
  findHeaders,
  formatChunk,
  formatHead,
  type HeaderPair,
  LAST_CHUNK,
  readBody,
  readFraming,
  readHead,
} from "./wire.ts";

export type Answer = {
  status: number;
  headers: HeaderPair[];
  /** The first value of a field, null when it is absent. */
  header(name: string): string | null;
  /** All values of a field, in order. */
  headerValues(name: string): string[];
  body: Buffer;
  text(): string;
  /** The body read as JSON; throws when it is not. */
  json(): unknown;
  /** Status line and fields as they came. */
  rawHead: string;
  /** False when the connection ended before the body did. */
  whole: boolean;
  tookMs: number;
};

/** A whole body, or pieces with a pause between them; endless pieces stop at the answer. */
export type RequestBody =
  | Uint8Array
  | string
  | { pieces: Iterable<Uint8Array | string>; gapMs: number; framing: "length"; length: number }
  | { pieces: Iterable<Uint8Array | string>; gapMs: number; framing: "chunks" };

export type RequestSpec = {
  method: string;
  /** The request target as it goes on the wire. */
  target: string;
  headers?: readonly HeaderPair[];
  body?: RequestBody;
  /** For the whole exchange; 20 s without it. */
  timeoutMs?: number;
};

/** Thrown when no answer came: `reason` says how the exchange ended. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
  readonly reason: "refused" | "closed" | "time";

  constructor(reason: "refused" | "closed" | "time") {
    super(`no answer: ${reason}`);
    this.reason = reason;
  }
}

const TIMEOUT_MS = 20_000;

/** One socket for several requests, one after the other. */
export class Connection {
  readonly #socket: Socket;
  readonly #source: ByteSource;
  #open = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#source = new ByteSource(socket);
    socket.on("close", () => {
      this.#open = false;
    });
  }

  /** Connects to loopback. */
  static open(port: number, timeoutMs = TIMEOUT_MS): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
      const timer = setTimeout(() => socket.destroy(new NoAnswer("time")), timeoutMs);
      socket.once("connect", () => {
        clearTimeout(timer);
        socket.on("error", () => {});
        resolve(new Connection(socket));
      });
      socket.once("error", () => {
        clearTimeout(timer);
        reject(new NoAnswer("refused"));
      });
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Sends a request and waits for its answer. Writing stops when an answer or the end of the line is there. */
  async send(spec: RequestSpec): Promise<Answer> {
    const beganAt = performance.now();
    const writing = { stopped: false };
    const written = this.#writeRequest(spec, writing);
    try {
      return await this.readAnswer(spec.method, spec.timeoutMs ?? TIMEOUT_MS, beganAt);
    } finally {
      writing.stopped = true;
      await written;
    }
  }

  /** Bytes as they are. */
  write(bytes: Uint8Array | string): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  /** The next answer on this connection. */
  async readAnswer(method: string, timeoutMs = TIMEOUT_MS, beganAt = performance.now()): Promise<Answer> {
    const limit = { reached: false };
    const timer = setTimeout(() => {
      limit.reached = true;
      this.#socket.destroy();
    }, timeoutMs);
    try {
      return await this.#readAnswer(method, beganAt);
    } catch (error) {
      if (limit.reached) throw new NoAnswer("time");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for the first byte of an answer without taking it. */
  async firstByte(timeoutMs: number): Promise<void> {
    const came = await Promise.race([this.#source.hasByte(), sleep(timeoutMs, false, { ref: false })]);
    if (!came) throw new NoAnswer("time");
  }

  /** Says that no more bytes come; the answer can still be read. */
  halfClose(): void {
    this.#socket.end();
  }

  /** Leaves without a word to the peer's process: FIN both ways. */
  close(): void {
    this.#socket.destroy();
  }

  /** Leaves with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  async #readAnswer(method: string, beganAt: number): Promise<Answer> {
    for (;;) {
      const head = await readHead(this.#source);
      if (!head.whole) throw new NoAnswer("closed");
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.firstLine)?.[1] ?? Number.NaN);
      if (Number.isNaN(status)) throw new Error(`not a status line: ${head.firstLine.slice(0, 80)}`);
      if (status < 200) continue;
      const bodiless = method === "HEAD" || status === 204 || status === 304;
      const framing: Framing = bodiless ? { by: "none" } : readFraming(head.headers, "close");
      const { whole, bytes } = await readBody(this.#source, framing);
      return {
        status,
        headers: head.headers,
        header: (name) => findHeader(head.headers, name),
        headerValues: (name) => findHeaders(head.headers, name),
        body: bytes,
        text: () => bytes.toString("utf8"),
        json: (): unknown => JSON.parse(bytes.toString("utf8")),
        rawHead: head.raw,
        whole,
        tookMs: performance.now() - beganAt,
      };
    }
  }

  async #writeRequest(spec: RequestSpec, writing: { stopped: boolean }): Promise<void> {
    const { body = "" } = spec;
    const given = spec.headers ?? [];
    const host: HeaderPair[] = findHeader(given, "host") === null ? [["Host", "gateway.test"]] : [];
    const line = `${spec.method} ${spec.target} HTTP/1.1`;
    if (typeof body === "string" || body instanceof Uint8Array) {
      const bytes = Buffer.from(body);
      const sized =
        findHeader(given, "content-length") !== null || (bytes.length === 0 && isSafe(spec.method));
      const length: HeaderPair[] = sized ? [] : [["Content-Length", String(bytes.length)]];
      this.write(Buffer.concat([formatHead(line, [...host, ...given, ...length]), bytes]));
      return;
    }
    const chunked = body.framing === "chunks";
    const frame: HeaderPair = chunked
      ? ["Transfer-Encoding", "chunked"]
      : ["Content-Length", String(body.length)];
    this.write(formatHead(line, [...host, ...given, frame]));
    for (const piece of body.pieces) {
      if (writing.stopped || !this.#socket.writable) return;
      this.write(chunked ? formatChunk(piece) : Buffer.from(piece));
      if (this.#socket.writableNeedDrain || body.gapMs > 0) await this.#pause(body.gapMs);
    }
    if (chunked && !writing.stopped) this.write(LAST_CHUNK);
  }

  async #pause(gapMs: number): Promise<void> {
    await sleep(gapMs);
    for (let waited = 0; this.#socket.writableNeedDrain && this.#open && waited < TIMEOUT_MS; waited += 2)
      await sleep(2);
    // An answer that has come is read first: a write to a line that is closed behind it would throw it away.
    await nextTurn();
  }
}

function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** One request on a connection of its own. */
export async function send(spec: RequestSpec & { port: number }): Promise<Answer> {
  const connection = await Connection.open(spec.port);
  try {
    return await connection.send(spec);
  } finally {
    connection.close();
  }
}

/** Sends a request and leaves after `afterMs`, whether there was an answer or not: in order, or with a reset. */
export async function sendAndLeave(
  spec: RequestSpec & { port: number },
  afterMs: number,
  how: "close" | "reset" = "close",
): Promise<void> {
  const connection = await Connection.open(spec.port);
  const exchange = connection.send(spec).catch(() => {});
  await sleep(afterMs);
  connection[how]();
  await exchange;
}

/** One request on a connection of its own, written as bytes; the answer as usual. */
export async function sendRaw(
  port: number,
  bytes: Uint8Array | string,
  timeoutMs = TIMEOUT_MS,
): Promise<Answer> {
  const connection = await Connection.open(port);
  try {
    connection.write(bytes);
    return await connection.readAnswer("POST", timeoutMs);
  } finally {
    connection.close();
  }
}
