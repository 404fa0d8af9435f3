// @ts-check
/**
 * What is known of every stream, in 124 bytes each, so that millions of them fit: one table of fixed rows, found through open
 * addressing by the first bytes of the stream's name (a keyed digest, so they are spread evenly).
 */
import { HASH_BYTES, hashBytes } from "../tree.mjs";

const SHORT_BYTES = 16;
const ROW = {
  name: 0,
  head: 32,
  fp: 64,
  effect: 80,
  seq: 96,
  attempt: 100,
  state: 104,
  shard: 106,
  index: 108,
  told: 116,
  version: 117,
  partial: 121,
  home: 122,
  bytes: 124,
};
const ROWS_AT_FIRST = 1_024;

/** The row a call is about is chosen by `find`; the members below read and write it. */
export class StreamTable {
  #rows = Buffer.alloc(ROWS_AT_FIRST * ROW.bytes);
  /** Number of the row plus one, 0: none. */
  #slots = new Uint32Array(2 * ROWS_AT_FIRST);
  #used = 0;
  #short = { text: "", digest: hashBytes(Buffer.alloc(0)) };
  #at = 0;

  /** Streams seen. */
  get size() {
    return this.#used;
  }

  /**
   * Chooses a stream's row and makes one when it is new.
   * @param {string} name 64 hex digits.
   * @returns {boolean} True when the stream was known.
   */
  find(name) {
    const key = Buffer.from(name, "hex");
    const slot = this.#look(key);
    if (slot === null) return true;
    this.#add(key, slot);
    return false;
  }

  /**
   * Chooses a stream's row if there is one.
   * @param {string} name
   */
  has(name) {
    const key = Buffer.from(name, "hex");
    return key.length === HASH_BYTES && this.#look(key) === null;
  }

  /**
   * @param {Buffer} key
   * @returns {number | null} The slot where the stream belongs, null when it is chosen.
   */
  #look(key) {
    const mask = this.#slots.length - 1;
    for (let slot = key.readUInt32LE(8) & mask; ; slot = (slot + 1) & mask) {
      const row = this.#slots[slot] ?? 0;
      if (row === 0) return slot;
      const at = (row - 1) * ROW.bytes;
      if (this.#rows.compare(key, 0, HASH_BYTES, at, at + HASH_BYTES) === 0) {
        this.#at = at;
        return null;
      }
    }
  }

  /**
   * @param {Buffer} key
   * @param {number} slot
   */
  #add(key, slot) {
    if ((this.#used + 1) * ROW.bytes > this.#rows.length) {
      this.#rows = Buffer.concat([this.#rows, Buffer.alloc(this.#rows.length)]);
    }
    this.#at = this.#used * ROW.bytes;
    key.copy(this.#rows, this.#at);
    this.#used += 1;
    this.#slots[slot] = this.#used;
    if (2 * this.#used > this.#slots.length) this.#spread();
  }

  #spread() {
    const slots = new Uint32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let row = 0; row < this.#used; row += 1) {
      let slot = this.#rows.readUInt32LE(row * ROW.bytes + 8) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = row + 1;
    }
    this.#slots = slots;
  }

  get seq() {
    return this.#rows.readUInt32LE(this.#at + ROW.seq);
  }
  set seq(value) {
    this.#rows.writeUInt32LE(value, this.#at + ROW.seq);
  }
  get attempt() {
    return this.#rows.readUInt32LE(this.#at + ROW.attempt);
  }
  set attempt(value) {
    this.#rows.writeUInt32LE(value, this.#at + ROW.attempt);
  }
  get state() {
    return this.#rows.readUInt8(this.#at + ROW.state);
  }
  set state(value) {
    this.#rows.writeUInt8(value, this.#at + ROW.state);
  }
  get shard() {
    return this.#rows.readUInt16LE(this.#at + ROW.shard);
  }
  set shard(value) {
    this.#rows.writeUInt16LE(value, this.#at + ROW.shard);
  }

  /** Index of the stream's last entry in its shard. */
  get index() {
    return this.#rows.readDoubleLE(this.#at + ROW.index);
  }
  set index(value) {
    this.#rows.writeDoubleLE(value, this.#at + ROW.index);
  }

  /** What was last told of the current attempt's effect, as a number. */
  get told() {
    return this.#rows.readUInt8(this.#at + ROW.told);
  }
  set told(value) {
    this.#rows.writeUInt8(value, this.#at + ROW.told);
  }
  /** Sequence of the last entry that named it. */
  get version() {
    return this.#rows.readUInt32LE(this.#at + ROW.version);
  }
  set version(value) {
    this.#rows.writeUInt32LE(value, this.#at + ROW.version);
  }
  /** Number of the shard which that entry is in. */
  get home() {
    return this.#rows.readUInt16LE(this.#at + ROW.home);
  }
  set home(value) {
    this.#rows.writeUInt16LE(value, this.#at + ROW.home);
  }
  /** True when the stream's first entries are pruned. */
  get isPartial() {
    return this.#rows.readUInt8(this.#at + ROW.partial) === 1;
  }
  set isPartial(value) {
    this.#rows.writeUInt8(value ? 1 : 0, this.#at + ROW.partial);
  }
  /** The short digest that `keep` made of the current attempt's effect. */
  get effect() {
    return this.#rows.toString("hex", this.#at + ROW.effect, this.#at + ROW.effect + SHORT_BYTES);
  }

  /** Hash of the stream's last entry, as hex. */
  get head() {
    return this.#rows.toString("hex", this.#at + ROW.head, this.#at + ROW.head + HASH_BYTES);
  }
  /** @param {Buffer} hash */
  setHead(hash) {
    hash.copy(this.#rows, this.#at + ROW.head);
  }

  /**
   * @param {"fp" | "effect"} what
   * @param {string} text
   */
  keep(what, text) {
    this.#shorten(text).copy(this.#rows, this.#at + ROW[what], 0, SHORT_BYTES);
  }
  /**
   * True when the text is the one that was kept.
   * @param {"fp" | "effect"} what
   * @param {string} text
   */
  isKept(what, text) {
    const at = this.#at + ROW[what];
    return this.#shorten(text).compare(this.#rows, at, at + SHORT_BYTES, 0, SHORT_BYTES) === 0;
  }

  /**
   * One entry's effect is asked about several times: the last digest is remembered.
   * @param {string} text
   */
  #shorten(text) {
    if (this.#short.text !== text) this.#short = { text, digest: hashBytes(Buffer.from(text)) };
    return this.#short.digest;
  }
}
