/**
 * Byte helpers that more than one part needs: text to bytes, hex, base64, and the framing of messages to be
 * digested.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const LENGTH_BYTES = 4;
const SHORT_CHARS_MAX = 64;

/**
 * UTF-8 bytes of any text; different texts always give different bytes. A lone surrogate becomes its own
 * three bytes (generalised UTF-8) instead of U+FFFD, which would let two different names meet.
 */
export function encodeUtf8(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const chunks: Uint8Array[] = [];
  for (const character of text) {
    const unit = character.charCodeAt(0);
    const lone = character.length === 1 && unit >= 0xd800 && unit <= 0xdfff;
    chunks.push(
      lone
        ? Uint8Array.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))
        : encoder.encode(character),
    );
  }
  return joinBytes(chunks);
}

/** The text, or null when the bytes are not UTF-8. A byte order mark stays in the text. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** One array with the bytes of all, in order. */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

/**
 * Frames parts so that two different lists never give the same bytes: the number of parts, then each part's
 * length and bytes, all numbers as 4 bytes, big-endian. A text is its `encodeUtf8`. A part may itself be such
 * a message. Each part is shorter than 4 GiB.
 */
export function writeMessage(parts: readonly (string | Uint8Array)[]): Uint8Array {
  let most = LENGTH_BYTES;
  for (const part of parts) most += LENGTH_BYTES + bytesAtMost(part);
  const message = new Uint8Array(most);
  writeLength(parts.length, message, 0);
  let at = LENGTH_BYTES;
  for (const part of parts) {
    const written = writePart(part, message, at + LENGTH_BYTES);
    writeLength(written, message, at);
    at += LENGTH_BYTES + written;
  }
  return message.subarray(0, at);
}

/** A UTF-16 code unit takes at most three bytes of UTF-8. */
function bytesAtMost(part: string | Uint8Array): number {
  return typeof part === "string" ? part.length * 3 : part.length;
}

function writeLength(length: number, into: Uint8Array, at: number): void {
  into[at] = length >>> 24;
  into[at + 1] = length >>> 16;
  into[at + 2] = length >>> 8;
  into[at + 3] = length;
}

/** Writes a part from a place on and gives its length. */
function writePart(part: string | Uint8Array, into: Uint8Array, at: number): number {
  if (typeof part === "string" && writeShort(part, into, at)) return part.length;
  if (typeof part === "string" && part.isWellFormed())
    return encoder.encodeInto(part, into.subarray(at)).written;
  const bytes = typeof part === "string" ? encodeUtf8(part) : part;
  into.set(bytes, at);
  return bytes.length;
}

/** Names, digests and numbers are short and ASCII: byte by byte that costs less than a call of the encoder. False: it is not such a text. */
function writeShort(text: string, into: Uint8Array, at: number): boolean {
  if (text.length > SHORT_CHARS_MAX) return false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    into[at + i] = unit;
  }
  return true;
}

/** Lower-case hex, two characters a byte. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** The bytes of lower-case hex, or null for anything else. */
export function fromHex(text: string): Uint8Array | null {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(2 * at, 2 * at + 2), 16),
  );
}

/** Base64 with padding (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * The bytes of padded base64 (RFC 4648 section 4), or null; only the one text that `toBase64` writes is
 * accepted.
 */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : null;
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url without padding (RFC 4648 section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const characters = Math.min(bytes.length - at, 3) + 1;
    for (let i = 0; i < characters; i++) text += BASE64URL[(group >> (18 - 6 * i)) & 63];
  }
  return text;
}

/**
 * The bytes of unpadded base64url (RFC 4648 section 5), or null; only the one text that `toBase64Url` writes
 * is accepted.
 */
export function fromBase64Url(text: string): Uint8Array | null {
  if (text.length % 4 === 1 || !/^[A-Za-z0-9_-]*$/.test(text)) return null;
  const padded = text.replaceAll("-", "+").replaceAll("_", "/") + "=".repeat((4 - (text.length % 4)) % 4);
  return fromBase64(padded);
}

/** SHA-256 as lower-case hex. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
