// @ts-check
/** One line after the other: is it an entry, does it stand where it says, does it go on from its stream, can it have happened. */

import { hashBytes, hashLeaf } from "../tree.mjs";
import { judgeLine } from "./legality.mjs";
import { readLine, streamText } from "./line.mjs";

/** @import { Bracket } from "./bracket.mjs" */
/** @import { EffectCheck } from "./effects.mjs" */
/** @import { EpochCheck } from "./epochs.mjs" */
/** @import { PruneCheck } from "./prunes.mjs" */
/** @import { StreamTable } from "./streams.mjs" */
/** @import { Line } from "../types.ts" */

const STREAM_START = "0".repeat(64);

export class LineCheck {
  #task;
  #prunes;

  /**
   * @param {{ shard: string, number: number, streams: StreamTable, effects: EffectCheck, epochs: EpochCheck }} task
   * @param {PruneCheck} prunes
   */
  constructor(task, prunes) {
    this.#task = task;
    this.#prunes = prunes;
  }

  /**
   * Adds what is wrong with a line to the bracket's suspicions.
   * @param {Buffer} bytes Without the line feed.
   * @param {number} index Where it stands.
   * @param {boolean} isPruned True when the shard's first entries are gone.
   * @param {Bracket} bracket
   */
  take(bytes, index, isPruned, bracket) {
    const { shard, streams, number, effects, epochs } = this.#task;
    const read = readLine(bytes);
    if (read.kind === "refused") return bracket.suspect("encoding", index, read.why);
    const { line } = read;
    if (line.shard !== shard || line.index !== index) {
      return bracket.suspect("place", index, "the entry says it stands elsewhere");
    }
    const wasSeen = streams.find(line.stream);
    const isElsewhere = wasSeen && streams.shard !== number;
    if (isElsewhere && !epochs.mayGoOn(streams.shard, shard)) {
      bracket.suspect("chain", index, "the stream has entries in another shard");
    }
    const isKnown = !this.#isBehindPruned(line, wasSeen, isPruned);
    if (isKnown) this.#chain(bytes, line, wasSeen, bracket);
    const misplaced = epochs.take(line);
    if (misplaced !== null) bracket.suspect("epoch", index, misplaced);
    const untold = effects.take(streams, line, isKnown, number);
    const why = judgeLine(streams, line, isKnown) ?? untold ?? this.#prunes.take(line);
    if (why !== null) bracket.suspect("legality", index, why);
    streams.seq = line.seq;
    streams.shard = number;
    streams.index = index;
    streams.setHead(hashBytes(streamText(bytes, line)));
  }

  /**
   * True when entries of the line's stream that came before it may be pruned.
   * @param {Line} line
   * @param {boolean} wasSeen
   * @param {boolean} isPruned
   */
  #isBehindPruned({ seq, shard }, wasSeen, isPruned) {
    const { streams, number, epochs } = this.#task;
    if (!wasSeen) return seq > 1 && (isPruned || epochs.isPrunedBetween(shard, null));
    if (streams.shard === number || seq <= streams.seq + 1) return false;
    return isPruned || epochs.isPrunedBetween(shard, streams.shard);
  }

  /**
   * @param {Buffer} bytes
   * @param {Line} line
   * @param {boolean} wasSeen
   * @param {Bracket} bracket
   */
  #chain(bytes, line, wasSeen, bracket) {
    const { streams, number } = this.#task;
    const isHere = wasSeen && streams.shard === number;
    const seq = wasSeen ? streams.seq + 1 : 1;
    const prev = wasSeen ? streams.head : STREAM_START;
    if (line.seq !== seq) {
      bracket.suspect("chain", line.index, `entry ${line.seq} of its stream, where ${seq} is next`);
    } else if (line.prev !== prev) {
      bracket.suspect("chain", line.index, "its prev is not the hash of the entry before it in its stream");
      const before = isHere ? streams.index : -1;
      bracket.repairs.push({ index: line.index, before, leaf: leafWith(bytes, line, prev) });
    } else if (isHere) {
      bracket.vouch(streams.index);
    }
  }
}

/**
 * The leaf that a line would have with another `prev`.
 * @param {Buffer} bytes
 * @param {Line} line
 * @param {string} prev
 */
function leafWith(bytes, line, prev) {
  const text = bytes.toString("latin1").replace(`"prev":"${line.prev}"`, `"prev":"${prev}"`);
  return hashLeaf(Buffer.from(text, "latin1"));
}
