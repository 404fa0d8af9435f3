/**
 * The only writer of a shard's log. Gathers what is sent at the same time into batches, drops what is known, refuses gaps and forks, gives
 * indexes and moves the tree. What it has answered is durable.
 */
import { STREAM_START } from "../../core/entry.ts";
import { extendFrontier, type Frontier } from "../../core/log/tree.ts";
import { BATCH_CHARS_MAX, BATCH_LINES_MAX, GATHER_MS } from "../bounds.ts";
import { hashLeaf, hashNode, isEntryText, placeLine } from "../hashing.ts";
import type { PlacedLine, ShardStore, StreamRow } from "./store.ts";

/**
 * Entries of one stream in order, the first of them number `first`. `prev` is the hash of the one before; `hash` of a line's text,
 * in hex. `ends`: the last one ends its stream. `operation` is the name of the key object that sends them; null: it is none's, or a sender of
 * an older version didn't say. It is in no line.
 */
export type Delivery = {
  stream: string;
  operation: string | null;
  first: number;
  prev: string;
  lines: readonly { text: string; hash: string }[];
  ends: boolean;
};

export type Delivered =
  /** Everything up to `seq`, which has this hash, is in the log. */
  | { kind: "held"; seq: number; hash: string }
  /** Nothing was taken: the log has the stream up to `seq` only, and wants what follows. */
  | { kind: "gap"; seq: number; hash: string }
  /** An old delivery that came late: the log has more. */
  | { kind: "ahead"; seq: number }
  /** Two histories of one stream were told, now or earlier: nothing of it is taken any more. */
  | { kind: "frozen" }
  /** Storage did not take it. */
  | { kind: "failed" };

type Judged = Delivered | { kind: "new"; skip: number } | { kind: "fork" };

/** Compares a delivery with what the log has of its stream. */
export function judgeDelivery({ first, prev, lines }: Delivery, known: StreamRow | null): Judged {
  if (known?.state === "frozen") return { kind: "frozen" };
  const { seq, hash } = known ?? { seq: 0, hash: STREAM_START };
  const last = first + lines.length - 1;
  if (first > seq + 1) return { kind: "gap", seq, hash };
  if (last < seq) return { kind: "ahead", seq };
  // Every entry names the one before it: where the newest known one is the same, all before it are.
  const told = first === seq + 1 ? prev : lines[seq - first]?.hash;
  if (told !== hash) return { kind: "fork" };
  return last === seq ? { kind: "held", seq, hash } : { kind: "new", skip: seq + 1 - first };
}

type Waiting = { delivery: Delivery; answer: (delivered: Delivered) => void };

export class Sequencer {
  readonly #store: ShardStore;
  readonly #shard: string;
  readonly #onFork: (stream: string) => void;
  #waiting: Waiting[] = [];
  #isRunning = false;
  /** The log's head as it is stored; null: to be read. */
  #log: Frontier | null = null;

  constructor(store: ShardStore, shard: string, onFork: (stream: string) => void) {
    this.#store = store;
    this.#shard = shard;
    this.#onFork = onFork;
  }

  /** Never rejects. What comes while a batch is being hashed makes the next one. */
  append(delivery: Delivery): Promise<Delivered> {
    // What can't be placed must not take a whole batch down with it.
    const isPlaceable = delivery.lines.length > 0 && delivery.lines.every(({ text }) => isEntryText(text));
    if (!isPlaceable) return Promise.resolve({ kind: "failed" });
    return new Promise((answer) => {
      this.#waiting.push({ delivery, answer });
      if (!this.#isRunning) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      await scheduler.wait(GATHER_MS);
      const batch = this.#takeBatch();
      const answers = await this.#commit(batch.map(({ delivery }) => delivery)).catch(() => {
        // What is in memory may not be what is stored: it is read again, never guessed.
        this.#log = null;
        return [];
      });
      batch.forEach(({ answer }, i) => void answer(answers[i] ?? { kind: "failed" }));
    }
    this.#isRunning = false;
  }

  #takeBatch(): Waiting[] {
    let lines = 0;
    let chars = 0;
    const full = this.#waiting.findIndex(({ delivery }) => {
      lines += delivery.lines.length;
      for (const { text } of delivery.lines) chars += text.length;
      return lines > BATCH_LINES_MAX || chars > BATCH_CHARS_MAX;
    });
    return this.#waiting.splice(0, full === -1 ? this.#waiting.length : Math.max(full, 1));
  }

  async #commit(deliveries: readonly Delivery[]): Promise<Delivered[]> {
    this.#log ??= this.#store.readLog();
    const from = this.#log;
    const streams = new Map<string, StreamRow>();
    const lines: Pick<PlacedLine, "line" | "operation">[] = [];
    const forked: string[] = [];
    const answers = deliveries.map((delivery): Delivered => {
      const known = streams.get(delivery.stream) ?? this.#store.readStream(delivery.stream);
      const judged = judgeDelivery(delivery, known);
      if (judged.kind === "fork") {
        forked.push(delivery.stream);
        streams.set(delivery.stream, freeze(delivery.stream, known));
        return { kind: "frozen" };
      }
      if (judged.kind !== "new") return judged;
      for (const { text } of delivery.lines.slice(judged.skip)) {
        const line = placeLine(text, this.#shard, from.size + lines.length);
        lines.push({ line, operation: delivery.operation });
      }
      const row = advance(delivery, from.size + lines.length - 1);
      streams.set(delivery.stream, row);
      return { kind: "held", seq: row.seq, hash: row.hash };
    });
    if (streams.size > 0) {
      const placed = await Promise.all(
        lines.map(async (line): Promise<PlacedLine> => ({ ...line, leaf: await hashLeaf(line.line) })),
      );
      const leaves = placed.map(({ leaf }) => leaf);
      const to = await extendFrontier(from, leaves, hashNode);
      this.#store.commit({ from, to, placed, streams: [...streams.values()] });
      this.#log = to;
    }
    for (const stream of forked) this.#onFork(stream);
    return answers;
  }
}

function advance({ stream, first, lines, ends }: Delivery, last: number): StreamRow {
  const hash = lines.at(-1)?.hash ?? STREAM_START;
  return { stream, seq: first + lines.length - 1, hash, state: ends ? "ended" : "live", last };
}

function freeze(stream: string, known: StreamRow | null): StreamRow {
  return { ...(known ?? { stream, seq: 0, hash: STREAM_START, last: 0 }), state: "frozen" };
}
