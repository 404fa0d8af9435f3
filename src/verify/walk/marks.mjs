// @ts-check
/** The roots that are known beforehand: of the checkpoints that can be trusted, and of the pin file. */
import { isSignedBy, readCheckpoint } from "../note.mjs";

/** @import { Finding, FindingClass, PinnedShard, Source, StoredNote } from "../types.ts" */
/** @import { NoteKey } from "../note.mjs" */

/** @typedef {{ size: number, root: Buffer, by: "checkpoint" | "pin" }} Mark A size at which the root is known. */

export class Marks {
  /** @type {Mark[]} Roots still to be met, smallest tree first. */
  #open = [];
  /** @type {Finding[]} */
  findings = [];
  /** What stands before the shard in the origin lines. @type {string | null} */
  name = null;
  /** Checkpoints that hold. */
  count = 0;
  /** The newest checkpoint that can be trusted. @type {Mark | null} */
  newest = null;
  #shard;
  #key;

  /**
   * @param {string} shard
   * @param {NoteKey | null} key
   */
  constructor(shard, key) {
    this.#shard = shard;
    this.#key = key;
  }

  /**
   * @param {Source} source
   * @param {PinnedShard | null} pinned
   */
  async read(source, pinned) {
    let before = 0;
    for await (const stored of source.checkpoints(this.#shard)) before = this.#readNote(stored, before);
    if (pinned === null) return;
    const size = this.newest?.size ?? 0;
    if (size < pinned.size)
      this.#refuse(
        "pin",
        size,
        `the newest one is of ${size} entries, that in the pin file of ${pinned.size}`,
      );
    this.#open.push({ size: pinned.size, root: Buffer.from(pinned.root, "base64"), by: "pin" });
    this.#open.sort((a, b) => a.size - b.size);
  }

  /**
   * Takes the next mark if the tree has come to its size.
   * @param {number} size
   * @returns {Mark | null}
   */
  take(size) {
    const next = this.#open[0];
    if (next === undefined || next.size !== size) return null;
    this.#open.shift();
    return next;
  }

  /**
   * Takes the smallest mark if its tree is smaller than a size.
   * @param {number} size
   * @returns {Mark | null}
   */
  takeBelow(size) {
    return (this.#open[0]?.size ?? size) < size ? (this.#open.shift() ?? null) : null;
  }

  /**
   * What the marks that no entries have come to say of a log that has ended.
   * @returns {{ class: FindingClass, detail: string } | null}
   */
  describeLeft() {
    const [first] = this.#open;
    const last = this.#open.at(-1);
    if (first === undefined || last === undefined) return null;
    const isPinned = first.by === "pin";
    const who = isPinned ? "the pin file" : "a checkpoint";
    const detail = `entries up to ${last.size - 1}, which ${who} vouches for, are missing`;
    return { class: isPinned ? "pin" : "missing", detail };
  }

  /**
   * Checks one note and keeps its root. A note that can't be trusted says nothing about the entries.
   * @param {StoredNote} stored
   * @param {number} before Size of the checkpoint before.
   * @returns {number} Size of the newest checkpoint that holds.
   */
  #readNote({ note, row }, before) {
    const checkpoint = readCheckpoint(note);
    if (checkpoint === null) return this.#refuse("checkpoint", before, "it can't be read");
    const { origin, size, root } = checkpoint;
    const name = origin.endsWith(`/${this.#shard}`) ? origin.slice(0, -this.#shard.length - 1) : null;
    if (name === null || name !== (this.#key?.name ?? this.name ?? name)) {
      return this.#refuse("checkpoint", before, "it is of another log");
    }
    if (this.#key !== null && !isSignedBy(note, this.#key)) {
      return this.#refuse("signature", before, `that of size ${size} is not signed by the key`);
    }
    if (row !== null && (row.size !== size || row.root !== root.toString("hex"))) {
      return this.#refuse("checkpoint", before, `its row does not say what its note of size ${size} says`);
    }
    if (size < before)
      return this.#refuse("checkpoint", size, "it is of a smaller tree than the one before it");
    this.name = name;
    this.count += 1;
    this.newest = { size, root, by: "checkpoint" };
    this.#open.push(this.newest);
    return size;
  }

  /**
   * @param {FindingClass} kind
   * @param {number} before
   * @param {string} why
   */
  #refuse(kind, before, why) {
    this.findings.push({ class: kind, shard: this.#shard, index: before, detail: `checkpoint: ${why}` });
    return before;
  }
}
