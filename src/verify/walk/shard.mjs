// @ts-check
/** One shard from its first entry to its last: lines, tree, checkpoints, pin, streams, and what was pruned. */

import {
  Frontier,
  HASH_BYTES,
  hashBytes,
  hashLeaf,
  isConsistent,
  prefixFromPath,
  rootOver,
} from "../tree.mjs";
import { Bracket } from "./bracket.mjs";
import { LineCheck } from "./line-check.mjs";
import { Marks } from "./marks.mjs";
import { PruneCheck } from "./prunes.mjs";

/** @import { Finding, FindingClass, Part, PinnedShard, ShardReport, Source } from "../types.ts" */
/** @import { Mark } from "./marks.mjs" */
/** @import { NoteKey } from "../note.mjs" */
/** @import { EffectCheck } from "./effects.mjs" */
/** @import { EpochCheck } from "./epochs.mjs" */
/** @import { StreamTable } from "./streams.mjs" */

const LINE_FEED = 10;
const PROGRESS_EVERY = 8_192;

/**
 * @typedef {{
 *   source: Source, shard: string, number: number, key: NoteKey | null, pinned: PinnedShard | null, streams: StreamTable,
 *   effects: EffectCheck, epochs: EpochCheck, onProgress: (shard: string, entries: number) => void,
 * }} ShardTask
 */

/**
 * @param {ShardTask} task
 * @returns {Promise<{ report: ShardReport, findings: Finding[], name: string | null }>}
 */
export async function verifyShard(task) {
  const walk = new ShardWalk(task);
  await walk.run();
  return walk.result();
}

class ShardWalk {
  /** @type {Finding[]} */
  #findings = [];
  #bracket = new Bracket(new Frontier());
  #prunes = new PruneCheck();
  #lines;
  #next = 0;
  /** First entry whose body is there. */
  #first = 0;
  #covered = 0;
  #coveredRoot = "";
  #stopped = false;
  /** False when one of the part's stored hashes is not its entry's. */
  #isPartSame = true;
  /** The checkpoint whose root is not that of the entries. @type {Mark | null} */
  #refuted = null;
  #task;
  #marks;

  /** @param {ShardTask} task */
  constructor(task) {
    this.#task = task;
    this.#lines = new LineCheck(task, this.#prunes);
    this.#marks = new Marks(task.shard, task.key);
  }

  async run() {
    const { source, shard, pinned, onProgress } = this.#task;
    await this.#marks.read(source, pinned);
    this.#findings.push(...this.#marks.findings);
    this.#meetMarks();
    for await (const part of source.parts(shard, this.#marks.newest?.size ?? null)) {
      await this.#takePart(part);
      if (this.#refuted !== null) await this.#blame(this.#refuted);
      if (this.#stopped) return;
    }
    onProgress(shard, this.#next);
    await this.#finish();
  }

  /** @returns {{ report: ShardReport, findings: Finding[], name: string | null }} */
  result() {
    const report = {
      shard: this.#task.shard,
      first: this.#first,
      size: this.#next,
      covered: this.#covered,
      checkpoints: this.#marks.count,
      root: this.#coveredRoot,
      isClosed: this.#task.epochs.isClosed(this.#task.shard),
    };
    return { report, findings: this.#findings, name: this.#marks.name };
  }

  /**
   * @param {FindingClass} kind
   * @param {number} index
   * @param {string} detail
   */
  #find(kind, index, detail) {
    this.#findings.push({ class: kind, shard: this.#task.shard, index, detail });
  }

  /** @param {Part} part */
  async #takePart(part) {
    if (part.first < this.#next)
      return this.#stop("bundle", part.first, "a bundle that begins inside another");
    if (part.first > this.#next) {
      const isPrefix = this.#next === 0 && part.lines !== null && (await this.#skipPrefix(part));
      if (this.#stopped) return;
      if (!isPrefix) return this.#stop("missing", this.#next, `entries up to ${part.first - 1} are missing`);
    }
    if (part.lines === null) return this.#takeHashes(part);
    this.#isPartSame = true;
    const isFit = part.hashes?.length === part.count * HASH_BYTES;
    this.#takeLines(part, part.lines, isFit ? part.hashes : null);
    if (this.#stopped) return;
    if (part.digest !== null && part.digest !== hashBytes(part.lines).toString("hex")) {
      this.#bracket.suspect("bundle", part.first, "the digest of the bundle is not that of its entries");
    }
    if (part.hashes !== null && this.#isPartSame && (!isFit || part.root !== rootOver(part.hashes))) {
      this.#bracket.suspect("hash", part.first, "the stored hashes are not those of the bundle");
    }
  }

  /** @param {Part} part */
  #takeHashes({ first, count, hashes }) {
    if (!Number.isInteger(count))
      return this.#stop("hash", first, "the stored hashes are not those of the bundle");
    if (this.#first !== first)
      return this.#stop("missing", first, `entries up to ${first + count - 1} are missing`);
    this.#first = first + count;
    for (let i = 0; i < count && !this.#stopped; i += 1) {
      const leaf = Buffer.from(/** @type {Buffer} */ (hashes).subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
      this.#push(leaf, leaf, null);
    }
    this.#prunes.leave(this.#bracket.tree);
  }

  /**
   * @param {Part} part
   * @param {Buffer} lines
   * @param {Buffer | null} hashes As many as entries.
   */
  #takeLines({ first, count }, lines, hashes) {
    let at = 0;
    for (let i = 0; i < count; i += 1) {
      const end = lines.indexOf(LINE_FEED, at);
      if (end < 0) return this.#cutShort(first, i);
      const stored = hashes === null ? null : hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
      this.#takeLine(lines.subarray(at, end), stored);
      if (this.#stopped) return;
      at = end + 1;
    }
    if (at !== lines.length)
      this.#stop("bundle", first + count, "the bundle has more entries than its row says");
  }

  /**
   * @param {number} first
   * @param {number} count
   */
  #cutShort(first, count) {
    const inside = this.#bracket.suspicions.find(
      ({ class: kind }) => kind === "encoding" || kind === "place",
    );
    if (inside !== undefined) return this.#stop(inside.class, inside.index, inside.detail);
    this.#stop("bundle", first + count, "the bundle has fewer entries than its row says");
  }

  /**
   * @param {Buffer} bytes
   * @param {Buffer | null} stored
   */
  #takeLine(bytes, stored) {
    this.#lines.take(bytes, this.#next, this.#first > 0, this.#bracket);
    this.#push(hashLeaf(bytes), stored, bytes);
    this.#task.epochs.noteEnd(this.#task.shard, this.#next - 1, this.#bracket.tree);
    if (this.#next % PROGRESS_EVERY === 0) this.#task.onProgress(this.#task.shard, this.#next);
  }

  /**
   * @param {Buffer} leaf
   * @param {Buffer | null} stored
   * @param {Buffer | null} line
   */
  #push(leaf, stored, line) {
    if (!this.#bracket.add(leaf, stored, line)) this.#isPartSame = false;
    this.#next += 1;
    this.#meetMarks();
  }

  /** Compares the root with all that is known of a tree of this size. */
  #meetMarks() {
    for (let mark = this.#marks.take(this.#next); mark !== null; mark = this.#marks.take(this.#next)) {
      this.#meet(mark);
      if (this.#stopped) return;
    }
  }

  /** @param {Mark} mark */
  #meet(mark) {
    const root = this.#bracket.tree.root();
    if (root.equals(mark.root)) {
      for (const { class: kind, index, detail } of this.#bracket.settle(true))
        this.#find(kind, index, detail);
      this.#bracket = new Bracket(this.#bracket.tree);
      if (mark.by === "checkpoint") {
        this.#covered = mark.size;
        this.#coveredRoot = root.toString("base64");
      }
      return;
    }
    if (mark.by === "pin") {
      return this.#stop("pin", 0, `the first ${mark.size} entries are not those of the pin file`);
    }
    this.#refuted = mark;
    this.#stopped = true;
  }

  /** @param {Mark} mark */
  async #blame(mark) {
    const { source, shard } = this.#task;
    const ask = (/** @type {number} */ index) => source.proof(shard, index, mark.size);
    const {
      class: kind,
      index,
      detail,
    } = (await this.#bracket.ask(mark.root, ask)) ?? this.#bracket.blame(mark.root);
    this.#stop(kind, index, detail);
  }

  /** What can be said only when all entries have been read. */
  async #finish() {
    const { source, shard } = this.#task;
    const pruned = await this.#prunes.finish(source.prunes(shard), this.#first, this.#covered);
    for (const { class: kind, index, detail } of [...this.#bracket.settle(false), ...pruned]) {
      this.#find(kind, index, detail);
    }
    const left = this.#marks.describeLeft();
    if (left !== null) this.#stop(left.class, this.#next, left.detail);
  }

  /**
   * Goes on from a body-less beginning of which the source keeps no hashes: the path of its first entry holds the roots of all that
   * came before.
   * @param {Part} part
   * @returns {Promise<boolean>} False when there is no such path.
   */
  async #skipPrefix({ first, lines }) {
    const newest = this.#marks.newest;
    const end = lines?.indexOf(LINE_FEED) ?? -1;
    if (newest === null || lines === null || end < 0) return false;
    const path = await this.#task.source.proof(this.#task.shard, first, newest.size);
    const prefix =
      path === null ? null : prefixFromPath(hashLeaf(lines.subarray(0, end)), first, newest, path);
    if (prefix === null) return false;
    this.#first = first;
    this.#next = first;
    this.#prunes.leave(prefix);
    this.#bracket = new Bracket(prefix);
    await this.#skipMarks(newest);
    return true;
  }

  /**
   * Roots of smaller trees than the pruned beginning: only a consistency proof can tell.
   * @param {Mark} newest
   */
  async #skipMarks(newest) {
    const { source, shard } = this.#task;
    for (
      let mark = this.#marks.takeBelow(this.#next);
      mark !== null;
      mark = this.#marks.takeBelow(this.#next)
    ) {
      const proof = mark.size === 0 ? [] : await source.consistency(shard, mark.size, newest.size);
      if (proof !== null && isConsistent(mark, newest, proof)) continue;
      const kind = mark.by === "pin" ? "pin" : "checkpoint";
      return this.#stop(kind, 0, `no proof leads from the tree of size ${mark.size} to the newest one`);
    }
  }

  /**
   * @param {FindingClass} kind
   * @param {number} index
   * @param {string} detail
   */
  #stop(kind, index, detail) {
    this.#find(kind, index, detail);
    this.#stopped = true;
  }
}
