/** How much of a Worker's memory is alive, by the runtime's inspector. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** A collection may uncover what only the next one can free. */
const COLLECTIONS = 2;
const STIR_PAUSE_MS = 20;
const ANSWER_MS_MAX = 30_000;

type Reply = { id?: number; result?: Readonly<Record<string, number>> };

export class HeapWatch {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      const answer = this.#waiting.get(reply.id ?? 0);
      this.#waiting.delete(reply.id ?? 0);
      answer?.(reply);
    });
  }

  /** Of the one Worker that is not the runtime's own. */
  static async open(port: number): Promise<HeapWatch> {
    const listed = await fetch(`http://127.0.0.1:${port}/json`);
    const targets = (await listed.json()) as { id: string }[];
    const target = targets.find(({ id }) => id.startsWith("core:user:"));
    if (target === undefined) throw new Error("the inspector knows no Worker");
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${target.id}`);
    await once(socket, "open");
    return new HeapWatch(socket);
  }

  /** Bytes that are alive, buffers with them. `stir` makes the Worker run for a moment: a collection waits for that. */
  async measure(stir: () => Promise<unknown>): Promise<number> {
    // What it has written is kept for whoever opens an inspector.
    await this.#call("Runtime.discardConsoleEntries", stir);
    for (let made = 0; made < COLLECTIONS; made += 1) await this.#call("HeapProfiler.collectGarbage", stir);
    const { result } = await this.#call("Runtime.getHeapUsage", stir);
    return (result?.usedSize ?? Number.NaN) + (result?.backingStorageSize ?? Number.NaN);
  }

  close(): void {
    this.#socket.close();
  }

  async #call(method: string, stir: () => Promise<unknown>): Promise<Reply> {
    this.#sent += 1;
    const id = this.#sent;
    let reply: Reply | null = null;
    this.#waiting.set(id, (answer) => {
      reply = answer;
    });
    this.#socket.send(JSON.stringify({ id, method, params: {} }));
    for (const endsAt = performance.now() + ANSWER_MS_MAX; reply === null; ) {
      if (performance.now() > endsAt) throw new Error(`${method} was not answered`);
      await stir();
      await sleep(STIR_PAUSE_MS);
    }
    return reply;
  }
}
