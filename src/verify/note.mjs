// @ts-check
/** Signed notes and checkpoints: C2SP signed-note and tlog-checkpoint, Ed25519 only. */
import { createPublicKey, verify } from "node:crypto";
import { HASH_BYTES, hashBytes } from "./tree.mjs";

const ED25519 = 1;
const KEY_ID_BYTES = 4;
/** What stands before the 32 key bytes in a SubjectPublicKeyInfo (RFC 8410). */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");
const SIGNATURE_LINE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;

/**
 * @typedef {{ name: string, id: Buffer, key: import("node:crypto").KeyObject }} NoteKey
 * @typedef {{ origin: string, size: number, root: Buffer }} Checkpoint
 */

/**
 * Reads `name+hash+base64(0x01 and key)`; null when it is not a sound Ed25519 verifier key.
 * @param {string} text
 * @returns {NoteKey | null}
 */
export function readVerifierKey(text) {
  const match = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u.exec(text.trim());
  if (match === null) return null;
  const [, name = "", idHex = "", encoded = ""] = match;
  const bytes = readBase64(encoded);
  if (bytes === null || bytes.length !== HASH_BYTES + 1 || bytes[0] !== ED25519) return null;
  const id = hashBytes(Buffer.concat([Buffer.from(`${name}\n`), bytes])).subarray(0, KEY_ID_BYTES);
  if (id.toString("hex") !== idHex) return null;
  const der = Buffer.concat([SPKI_HEAD, bytes.subarray(1)]);
  return { name, id, key: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/**
 * Splits a note into its text and signature lines, null when it is not well formed.
 * @param {string} note
 * @returns {{ text: string, signatures: { name: string, bytes: Buffer }[] } | null}
 */
export function splitNote(note) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids all of them but the line feed.
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) return null;
  const split = note.lastIndexOf("\n\n");
  if (split < 0 || !note.endsWith("\n")) return null;
  const text = note.slice(0, split + 1);
  const lines = note.slice(split + 2, -1).split("\n");
  const signatures = [];
  for (const line of lines) {
    const match = SIGNATURE_LINE.exec(line);
    const bytes = match === null ? null : readBase64(match[2] ?? "");
    if (match === null || bytes === null || bytes.length <= KEY_ID_BYTES) return null;
    signatures.push({ name: match[1] ?? "", bytes });
  }
  return { text, signatures };
}

/**
 * True when one of the note's signatures is by the key. Signatures by other keys are ignored, a wrong one by this key is not.
 * @param {string} note
 * @param {NoteKey} key
 * @returns {boolean}
 */
export function isSignedBy(note, key) {
  const parts = splitNote(note);
  if (parts === null) return false;
  const own = parts.signatures.filter(
    ({ name, bytes }) => name === key.name && bytes.subarray(0, KEY_ID_BYTES).equals(key.id),
  );
  const message = Buffer.from(parts.text);
  return (
    own.length > 0 && own.every(({ bytes }) => verify(null, message, key.key, bytes.subarray(KEY_ID_BYTES)))
  );
}

/**
 * Reads the text of a checkpoint: origin, size, root; null when it is not one.
 * @param {string} note
 * @returns {Checkpoint | null}
 */
export function readCheckpoint(note) {
  const parts = splitNote(note);
  if (parts === null) return null;
  const match = /^([^\n]+)\n(0|[1-9][0-9]*)\n([A-Za-z0-9+/]{43}=)\n/.exec(parts.text);
  const root = match === null ? null : readBase64(match[3] ?? "");
  if (match === null || root === null) return null;
  const size = Number(match[2]);
  return Number.isSafeInteger(size) ? { origin: match[1] ?? "", size, root } : null;
}

/**
 * Strict base64: the one spelling of its bytes, or null.
 * @param {string} text
 * @returns {Buffer | null}
 */
export function readBase64(text) {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}
