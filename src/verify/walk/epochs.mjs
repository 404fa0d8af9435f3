// @ts-check
/**
 * From one epoch to the next: a shard ends with an entry that closes it, and each of the shards it was split into begins with one that says so,
 * with the root over all of it. Shards are read epoch by epoch, the oldest first.
 */

/** @import { Frontier } from "../tree.mjs" */
/** @import { Finding, Line, ShardReport } from "../types.ts" */

const NEXT = /^([1-9]\d{0,3})\/([1-9]\d{0,4})-([1-9]\d{0,3})\/([1-9]\d{0,4})$/;

/**
 * @typedef {{ index: number, root: string, shards: number, after: number }} Closed `shards`, `after`: how many its epoch has, and the next.
 * @typedef {{ before: string, root: string }} Opened
 */

/**
 * @param {string} shard
 * @returns {{ epoch: number, number: number }}
 */
export function readShardName(shard) {
  const [epoch = 0, number = 0] = shard.split(":").map(Number);
  return { epoch, number };
}

/**
 * Order in which shards are read.
 * @param {string} a
 * @param {string} b
 */
export function compareShards(a, b) {
  const [left, right] = [readShardName(a), readShardName(b)];
  return left.epoch - right.epoch || left.number - right.number;
}

/**
 * True when a shard of a later epoch can have streams of an earlier shard: numbers of shards are powers of two, so that it has the same
 * number in the lower digits of base two.
 * @param {string} earlier
 * @param {string} later
 */
function isHeir(earlier, later) {
  const [from, to] = [readShardName(earlier), readShardName(later)];
  if (from.epoch >= to.epoch) return false;
  if (from.number === to.number) return true;
  for (let shards = 1; shards <= to.number; shards *= 2) {
    if (from.number < shards && to.number % shards === from.number) return true;
  }
  return false;
}

/** @param {number} shards */
function isPowerOfTwo(shards) {
  return Number.isInteger(Math.log2(shards));
}

export class EpochCheck {
  /** @type {Map<string, Closed>} */
  #closed = new Map();
  /** @type {Map<string, Opened>} */
  #opened = new Map();
  /** Names of the shards that were read, and the first entry that each still has. @type {{ shard: string, first: number }[]} */
  #read = [];

  /**
   * @param {Line} line
   * @returns {string | null} Why it can't stand there, null when it can.
   */
  take(line) {
    const { shard, index, type } = line;
    const { epoch } = readShardName(shard);
    if (this.#closed.has(shard))
      return type === "prune" ? null : "an entry behind the one that closes its shard";
    if (type === "closed") return this.#close(line);
    if (type === "opened") return this.#open(line);
    return index === 0 && epoch > 1 ? "the first entry does not say whose streams go on here" : null;
  }

  /** @param {Line} line */
  #close({ shard, index, target = "" }) {
    const { epoch, number } = readShardName(shard);
    const [own = 0, shards = 0, next = 0, after = 0] = (NEXT.exec(target) ?? []).slice(1).map(Number);
    this.#closed.set(shard, { index, root: "", shards, after });
    const isNext = own === epoch && next === epoch + 1 && number < shards && shards < after;
    return isNext && isPowerOfTwo(shards) && isPowerOfTwo(after)
      ? null
      : "closed for an epoch that can't be the next one";
  }

  /** @param {Line} line */
  #open({ shard, index, target = "", digest = "" }) {
    if (index > 0) return "opened behind its first entry";
    this.#opened.set(shard, { before: target, root: digest });
    const isBefore = readShardName(target).epoch + 1 === readShardName(shard).epoch && isHeir(target, shard);
    return isBefore && digest !== "" ? null : "opened in the place of a shard that can't be the one before";
  }

  /**
   * Notes the root over all entries up to the one that closes a shard.
   * @param {string} shard
   * @param {number} index Of the newest entry.
   * @param {Frontier} tree
   */
  noteEnd(shard, index, tree) {
    const closed = this.#closed.get(shard);
    if (closed?.index === index) closed.root = tree.root().toString("hex");
  }

  /** @param {string} shard */
  isClosed(shard) {
    return this.#closed.has(shard);
  }

  /**
   * Notes that a shard has been read.
   * @param {string} shard
   * @param {number} first First entry whose body is there.
   */
  leave(shard, first) {
    this.#read.push({ shard, first });
  }

  /**
   * True when a stream may go on in a shard.
   * @param {number} number Of the shard where it was seen last, in the order they were read.
   * @param {string} shard
   */
  mayGoOn(number, shard) {
    return isHeir(this.#read[number]?.shard ?? "", shard);
  }

  /**
   * True when entries of a stream may be pruned that came before those of this shard and behind what was seen of it.
   * @param {string} shard
   * @param {number | null} number Of the shard where it was seen last; null: it was not.
   */
  isPrunedBetween(shard, number) {
    const seen = number === null ? 0 : readShardName(this.#read[number]?.shard ?? "").epoch;
    return this.#read.some(
      (earlier) =>
        earlier.first > 0 && readShardName(earlier.shard).epoch > seen && isHeir(earlier.shard, shard),
    );
  }

  /**
   * What can be said only when all shards have been read.
   * @param {ShardReport[]} reports
   * @returns {Finding[]}
   */
  finish(reports) {
    /** @type {Map<string, Finding>} */
    const found = new Map();
    for (const { shard, size } of reports) {
      const { epoch } = readShardName(shard);
      if (epoch < 2 || size === 0) continue;
      const why = this.#judgeBefore(shard, reports);
      if (why !== null && !found.has(why.shard)) found.set(why.shard, why);
    }
    return [...found.values()];
  }

  /**
   * @param {string} shard Of a later epoch than the first, with entries.
   * @param {ShardReport[]} reports
   * @returns {Finding | null}
   */
  #judgeBefore(shard, reports) {
    const opened = this.#opened.get(shard);
    const { epoch, number } = readShardName(shard);
    const [, split] = [...this.#closed].find(([name]) => readShardName(name).epoch === epoch - 1) ?? [];
    const before = split === undefined ? opened?.before : `${epoch - 1}:${number % split.shards}`;
    const earlier = before ?? `${epoch - 1}:0`;
    const closed = this.#closed.get(earlier);
    if (closed === undefined) {
      const index = reports.find((report) => report.shard === earlier)?.size ?? 0;
      const detail = `the entry that closes it is missing: its streams go on in ${shard}`;
      return { class: "epoch", shard: earlier, index, detail };
    }
    const isOther = closed.shards !== split?.shards || closed.after !== split.after || number >= closed.after;
    if (isOther || (opened !== undefined && opened.before !== earlier)) {
      return { class: "epoch", shard, index: 0, detail: `${earlier} was closed for other shards than this` };
    }
    if (opened === undefined || opened.root === closed.root) return null;
    return {
      class: "epoch",
      shard,
      index: 0,
      detail: `the root of ${earlier} is not the one it was opened with`,
    };
  }
}
