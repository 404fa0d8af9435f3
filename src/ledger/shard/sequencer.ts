/**
 * The only writer of a shard's log. Gathers what is sent at the same time into batches, drops what is known, refuses gaps and forks, gives
 * indexes and moves the tree. What it has answered is durable.
 */
import { toHex } from "../../core/bytes.ts";
import { STREAM_START } from "../../core/entry.ts";
import { extendFrontier, type Frontier, rootOf } from "../../core/log/tree.ts";
import { APPEND_TIMEOUT_MS, BATCH_CHARS_MAX, BATCH_LINES_MAX, GATHER_MS, GATHERED_MAX } from "../bounds.ts";
import type { ShardPlace } from "../epochs.ts";
import { hashLeaf, hashNode, isEntryText, placeLine } from "../hashing.ts";
import { withinTime } from "../time.ts";
import type { BatchMark, PlacedLine, ShardStore, StreamRow } from "./store.ts";

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
  /** Nothing was taken: this log has ended, and its streams go on in the next epoch. */
  | { kind: "closed" }
  /** Storage did not take it. */
  | { kind: "failed" };

type JudgedDelivery = Delivered | { kind: "new"; skip: number } | { kind: "fork" };

/** Compares a delivery with what the log has of its stream. */
function judgeDelivery({ first, prev, lines }: Delivery, known: StreamRow | null): JudgedDelivery {
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

/** Whose a delivery is: a key's, or the shard's own, which may open or close the log. */
export type Purpose =
  | { kind: "keys" }
  | { kind: "tells" }
  | { kind: "opens"; place: ShardPlace; before: ShardPlace }
  | { kind: "closes" };

/** Where streams were when the shard that had them was closed, as far as it knows them. */
export type AskHeads = (before: ShardPlace, streams: readonly string[]) => Promise<readonly StreamRow[]>;

type Waiting = { delivery: Delivery; purpose: Purpose; answer: (delivered: Delivered) => void };

/** What a batch comes to, before anything of it is stored. */
type JudgedBatch = {
  answers: Delivered[];
  streams: Map<string, StreamRow>;
  lines: Pick<PlacedLine, "line" | "operation">[];
  forked: string[];
};

export class Sequencer {
  readonly #store: ShardStore;
  readonly #shard: string;
  readonly #askHeads: AskHeads;
  readonly #onFork: (stream: string) => void;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #endGathering: () => void = () => {};
  /** The log's head as it is stored; null: to be read. */
  #log: Frontier | null = null;

  constructor(store: ShardStore, shard: string, askHeads: AskHeads, onFork: (stream: string) => void) {
    this.#store = store;
    this.#shard = shard;
    this.#askHeads = askHeads;
    this.#onFork = onFork;
  }

  /** Size of the log; null: nothing has been put behind it in this life of the object. */
  get size(): number | null {
    return this.#log === null ? null : this.#log.size;
  }

  /** Never rejects. What comes while a batch is being hashed makes the next one. */
  append(delivery: Delivery, purpose: Purpose = { kind: "keys" }): Promise<Delivered> {
    // What can't be placed must not take a whole batch down with it.
    const isPlaceable = delivery.lines.length > 0 && delivery.lines.every(({ text }) => isEntryText(text));
    if (!isPlaceable) return Promise.resolve({ kind: "failed" });
    return new Promise((answer) => {
      this.#waiting.push({ delivery, purpose, answer });
      if (!this.#isRunning) void this.#drain();
      else if (this.#waiting.length >= GATHERED_MAX) this.#endGathering();
    });
  }

  /** Until there are many deliveries, or a while is over. */
  #gather(): Promise<void> {
    if (this.#waiting.length >= GATHERED_MAX) return Promise.resolve();
    return new Promise((resolve) => {
      this.#endGathering = resolve;
      // Left to run out where it is not needed any more: ending it costs more.
      void scheduler.wait(GATHER_MS).then(resolve);
    });
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#takeBatch();
      const answers = await this.#commit(batch).catch(() => {
        // What is in memory may not be what is stored: it is read again, never guessed.
        this.#log = null;
        return [];
      });
      batch.forEach(({ answer }, i) => void answer(answers[i] ?? { kind: "failed" }));
    }
    this.#isRunning = false;
  }

  /** What opens or closes the log is a batch of its own, so that nothing stands beside it. */
  #takeBatch(): Waiting[] {
    let lines = 0;
    let chars = 0;
    const full = this.#waiting.findIndex(({ delivery, purpose }) => {
      lines += delivery.lines.length;
      for (const { text } of delivery.lines) chars += text.length;
      return lines > BATCH_LINES_MAX || chars > BATCH_CHARS_MAX || isAlone(purpose);
    });
    return this.#waiting.splice(0, full === -1 ? this.#waiting.length : Math.max(full, 1));
  }

  async #commit(batch: readonly Waiting[]): Promise<Delivered[]> {
    this.#log ??= this.#store.readLog();
    const from = this.#log;
    const heads = await this.#readHeads(batch);
    const { answers, streams, lines, forked } = this.#judge(batch, from, heads);
    if (streams.size > 0) {
      const placed = await Promise.all(
        lines.map(async (line): Promise<PlacedLine> => ({ ...line, leaf: await hashLeaf(line.line) })),
      );
      const leaves = placed.map(({ leaf }) => leaf);
      const to = await extendFrontier(from, leaves, hashNode);
      const mark = await markOf(batch, to);
      this.#store.commit({ from, to, placed, streams: [...streams.values()], mark });
      this.#log = to;
    }
    for (const stream of forked) this.#onFork(stream);
    return answers;
  }

  /**
   * Asks the shard before for the streams of a batch that are not known here. It is closed, so what it says stays true; and it may have taken
   * entries whose acknowledgement was lost, so new streams are asked for too.
   */
  async #readHeads(batch: readonly Waiting[]): Promise<Map<string, StreamRow>> {
    const before = this.#store.read("before");
    if (before === null) return new Map();
    const unknown = batch
      .filter(({ purpose }) => purpose.kind === "keys")
      .map(({ delivery }) => delivery.stream)
      .filter((stream) => this.#store.readStream(stream) === null);
    if (unknown.length === 0) return new Map();
    const asked = this.#askHeads(before, [...new Set(unknown)]);
    const rows = await withinTime(asked, APPEND_TIMEOUT_MS);
    return new Map(rows.map((row) => [row.stream, row]));
  }

  #judge(batch: readonly Waiting[], from: Frontier, heads: ReadonlyMap<string, StreamRow>): JudgedBatch {
    const isClosed = this.#store.read("closed") !== null;
    const judgement: JudgedBatch = { answers: [], streams: new Map(), lines: [], forked: [] };
    const { answers, streams, lines, forked } = judgement;
    for (const { delivery, purpose } of batch) {
      const { stream } = delivery;
      const known = streams.get(stream) ?? this.#store.readStream(stream) ?? heads.get(stream) ?? null;
      const judged: JudgedDelivery =
        isClosed && purpose.kind === "keys" ? { kind: "closed" } : judgeDelivery(delivery, known);
      if (judged.kind === "fork") {
        forked.push(stream);
        streams.set(stream, freeze(stream, known));
        answers.push({ kind: "frozen" });
      } else if (judged.kind === "new") {
        for (const { text } of delivery.lines.slice(judged.skip)) {
          const line = placeLine(text, this.#shard, from.size + lines.length);
          lines.push({ line, operation: delivery.operation });
        }
        const row = advance(delivery, from.size + lines.length - 1);
        streams.set(stream, row);
        answers.push({ kind: "held", seq: row.seq, hash: row.hash });
      } else {
        answers.push(judged);
      }
    }
    return judgement;
  }
}

function isAlone({ kind }: Purpose): boolean {
  return kind === "opens" || kind === "closes";
}

/** `to`: the log behind the batch, whose last line is what opens or closes it. */
async function markOf([first]: readonly Waiting[], to: Frontier): Promise<BatchMark> {
  if (first?.purpose.kind === "opens") return first.purpose;
  if (first?.purpose.kind !== "closes") return { kind: "none" };
  const root = await rootOf(to, hashNode);
  return { kind: "closes", closed: { index: to.size - 1, root: root === null ? "" : toHex(root) } };
}

function advance({ stream, first, lines, ends }: Delivery, last: number): StreamRow {
  const hash = lines.at(-1)?.hash ?? STREAM_START;
  return { stream, seq: first + lines.length - 1, hash, state: ends ? "ended" : "live", last };
}

function freeze(stream: string, known: StreamRow | null): StreamRow {
  return { ...(known ?? { stream, seq: 0, hash: STREAM_START, last: 0 }), state: "frozen" };
}
