/** Bytes on a connection of their own, and all that comes back: for requests that no client would write. */
import { connect, type Socket } from "node:net";

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** The connection stays open until `close`, so that whatever still hides in it has its time. */
export class RawExchange {
  readonly #socket: Socket;
  #text = "";
  #ended = false;
  #changed: () => void = () => {};

  private constructor(port: number, bytes: string) {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    this.#socket = socket;
    const end = (): void => {
      this.#ended = true;
      this.#changed();
    };
    socket.on("connect", () => socket.write(Buffer.from(bytes, "latin1")));
    socket.on("data", (piece: Buffer) => {
      this.#text += piece.toString("latin1");
      if (this.#text.length > ANSWER_BYTES_MAX) socket.destroy();
      this.#changed();
    });
    socket.on("end", end);
    socket.on("error", end);
    socket.on("close", end);
  }

  /** Writes bytes, a character each, and waits for so many answers, for the end of the connection, or for `waitMs`. */
  static async open(port: number, bytes: string, answers: number, waitMs: number): Promise<RawExchange> {
    const exchange = new RawExchange(port, bytes);
    await exchange.#wait(answers, waitMs);
    return exchange;
  }

  /** Of all answers that have come, in order, without the interim ones. */
  get statuses(): readonly number[] {
    const found = [...this.#text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));
    return found.filter((status) => status >= 200);
  }

  get text(): string {
    return this.#text;
  }

  close(): void {
    this.#socket.destroy();
  }

  #wait(answers: number, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#changed = () => {
        if (!this.#ended && this.statuses.length < answers) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
