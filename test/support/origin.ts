/** A scripted origin on a raw socket: it can answer, count effects, cut, lie, reset and fall silent. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import {
  ByteSource,
  findHeader,
  findHeaders,
  formatHead,
  type Head,
  type HeaderPair,
  readBody,
  readFraming,
  readHead,
} from "./wire.ts";

/** One whole request that reached the origin. */
export type Arrival = {
  /** 1 for the first whole request. */
  number: number;
  method: string;
  target: string;
  /** The request line as it came. */
  line: string;
  headers: HeaderPair[];
  header(name: string): string | null;
  headerValues(name: string): string[];
  body: Buffer;
  text(): string;
  /** `Date.now()` when the request was whole. */
  atMs: number;
  /** True when the caller dropped the connection before the answer was complete. */
  cut(): boolean;
};

/** What a handler can do with a request. Whatever it does not do stays undone: no answer means silence. */
export type Reply = {
  /** Counts one effect and returns an id no other effect has. */
  execute(): string;
  /** A whole answer with the right length; statuses without a body (1xx, 204, 304) get neither. */
  send(status: number, headers?: readonly HeaderPair[], body?: Uint8Array | string): void;
  /** Bytes as they are. */
  raw(bytes: Uint8Array | string): void;
  /** Ends the connection with a reset. */
  reset(): void;
  /** Ends the connection in order. */
  end(): void;
  /** Says that silence is meant. */
  hang(): void;
};

export type OriginHandler = (arrival: Arrival, reply: Reply) => void | Promise<void>;

export type Origin = {
  port: number;
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** Whole requests, in the order in which they became whole. */
  arrivals: Arrival[];
  /** Whole requests for one target. */
  arrivalsAt(target: string): Arrival[];
  /** Requests whose first byte came. */
  starts(): number;
  /** Effects that `reply.execute()` counted. */
  executions(): number;
  /** Replaces the script. */
  handle(handler: OriginHandler): void;
  /** Forgets arrivals and counts. */
  forget(): void;
  /** Stops listening and drops every connection. */
  close(): Promise<void>;
};

const ARRIVALS_MAX = 20_000;

type Book = { arrivals: Arrival[]; starts: number; executions: number; handler: OriginHandler };

/** Starts an origin on loopback. `port` 0 takes a free one. */
export async function startOrigin(handler: OriginHandler, port = 0): Promise<Origin> {
  const book: Book = { arrivals: [], starts: 0, executions: 0, handler };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    void serveConnection(socket, book)
      .catch(() => socket.destroy())
      .finally(() => socket.end());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the origin has no port");
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    arrivals: book.arrivals,
    arrivalsAt: (target) => book.arrivals.filter((arrival) => arrival.target === target),
    starts: () => book.starts,
    executions: () => book.executions,
    handle(next) {
      book.handler = next;
    },
    forget() {
      book.arrivals.length = 0;
      book.starts = 0;
      book.executions = 0;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function serveConnection(socket: Socket, book: Book): Promise<void> {
  const source = new ByteSource(socket);
  let exchange = { done: true, cut: false };
  const watch = () => {
    exchange.cut ||= !exchange.done;
  };
  socket.on("end", watch);
  socket.on("close", watch);
  while (await source.hasByte()) {
    book.starts += 1;
    const head = await readHead(source);
    if (!head.whole) return;
    if (/100-continue/i.test(findHeader(head.headers, "expect") ?? ""))
      socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    const body = await readBody(source, readFraming(head.headers, "none"));
    if (!body.whole) return;
    if (book.arrivals.length >= ARRIVALS_MAX) throw new Error("more arrivals than any test makes");
    const current = { done: false, cut: false };
    exchange = current;
    const arrival = describeArrival(head, body.bytes, book.arrivals.length + 1, () => current.cut);
    book.arrivals.push(arrival);
    await book.handler(arrival, createReply(socket, head, book, current));
  }
}

function describeArrival(head: Head, body: Buffer, number: number, cut: () => boolean): Arrival {
  const [method = "", target = ""] = head.firstLine.split(" ");
  return {
    number,
    method,
    target,
    line: head.firstLine,
    headers: head.headers,
    header: (name) => findHeader(head.headers, name),
    headerValues: (name) => findHeaders(head.headers, name),
    body,
    text: () => body.toString("utf8"),
    atMs: Date.now(),
    cut,
  };
}

function createReply(socket: Socket, head: Head, book: Book, exchange: { done: boolean }): Reply {
  const bodiless = head.firstLine.startsWith("HEAD ");
  return {
    execute() {
      book.executions += 1;
      return `effect-${book.executions}`;
    },
    send(status, headers = [], body = "") {
      exchange.done = true;
      const bytes = Buffer.from(body);
      const empty = status < 200 || status === 204 || status === 304;
      const framed: HeaderPair[] = empty
        ? [...headers]
        : [...headers, ["Content-Length", String(bytes.length)]];
      const start = formatHead(`HTTP/1.1 ${status} ${STATUS_TEXT[status] ?? "Scripted"}`, framed);
      socket.write(empty || bodiless ? start : Buffer.concat([start, bytes]));
    },
    raw(bytes) {
      socket.write(Buffer.from(bytes));
    },
    reset() {
      exchange.done = true;
      socket.resetAndDestroy();
    },
    end() {
      exchange.done = true;
      socket.end();
    },
    hang() {},
  };
}

const STATUS_TEXT: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  204: "No Content",
  205: "Reset Content",
  304: "Not Modified",
  404: "Not Found",
  409: "Conflict",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** A script that counts one effect and answers 201 with its id as JSON. */
export const answerCreated: OriginHandler = (_arrival, reply) => {
  const id = reply.execute();
  reply.send(201, [["Content-Type", "application/json"]], JSON.stringify({ id }));
};
