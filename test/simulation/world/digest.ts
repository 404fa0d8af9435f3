/**
 * SHA-256 as the stand-ins and observers need it. Most of what a run digests was digested before, by it or by the one before it, and to
 * find that out costs less than the digest.
 */
import { hash } from "node:crypto";

type Known = { size: number; words: Int32Array; bytes: Uint8Array; hex: string };

const SLOTS = 4_096;
const WORD_BYTES = 4;
const known: (Known | undefined)[] = Array.from({ length: SLOTS });

/** What is to be digested lies here, byte by byte and, as it is compared, word by word. */
let bytes = Buffer.from(new ArrayBuffer(16_384));
let words = new Int32Array(bytes.buffer);

function makeRoom(size: number): Buffer {
  if (bytes.length < size + WORD_BYTES) {
    bytes = Buffer.from(new ArrayBuffer(WORD_BYTES * (size + WORD_BYTES)));
    words = new Int32Array(bytes.buffer);
  }
  return bytes;
}

function areSame(some: Int32Array, others: Int32Array, count: number): boolean {
  for (let i = 0; i < count; i++) if (some[i] !== others[i]) return false;
  return true;
}

/** The digest of the first bytes. */
function find(size: number): Known {
  const count = Math.ceil(size / WORD_BYTES);
  for (let i = size; i < WORD_BYTES * count; i++) bytes[i] = 0;
  const given = words;
  let sum = size;
  for (let i = 0; i < count; i++) sum = Math.imul(sum ^ (given[i] ?? 0), 16_777_619);
  const slot = (sum ^ (sum >>> 16)) & (SLOTS - 1);
  const found = known[slot];
  if (found !== undefined && found.size === size && areSame(found.words, given, count)) return found;
  const hex = hash("sha256", bytes.subarray(0, size), "hex");
  const made = { size, words: given.slice(0, count), bytes: Buffer.from(hex, "hex"), hex };
  known[slot] = made;
  return made;
}

/** Over all parts one behind the other. The same bytes may be given again: nobody may change them. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const into = makeRoom(size);
  let at = 0;
  for (const part of parts) {
    into.set(part, at);
    at += part.length;
  }
  return find(size).bytes;
}

/** In hex, of bytes or of the UTF-8 of a text. */
export function digestOf(body: string | Uint8Array): string {
  const size = body.length * (typeof body === "string" ? 3 : 1);
  const into = makeRoom(size);
  if (typeof body === "string") return find(into.write(body)).hex;
  into.set(body);
  return find(size).hex;
}
