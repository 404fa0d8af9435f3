/** Reads the idempotency key from the value of its header field. */

import { parseItem } from "structured-headers";

/**
 * Why a key is refused. `empty`: nothing but white space, or `""`. `comma`: a comma, which is also what
 * several fields look like, joined. `character`: anything else outside 0x21 to 0x7E. `quoting`: a quote that
 * does not make an RFC 9651 string of the whole value. `parameters`: something after the string's `;`.
 */
export type KeyFault = "empty" | "comma" | "character" | "quoting" | "parameters" | "too-short" | "too-long";

export type KeyReading =
  | { kind: "key"; key: string }
  | { kind: "missing" }
  | { kind: "invalid"; reason: KeyFault };

const BARE = /^[\x21\x23-\x2b\x2d-\x7e]+$/;
const ALLOWED = /^[\x21-\x2b\x2d-\x7e]*$/;

/**
 * The key in a field value, as `Headers.get` gives it (null: no such field; several fields: joined by `",
 * "`).
 *
 * `abc` and the RFC 9651 string `"abc"` (section 3.3.3) are the same key; white space around the value is not
 * part of it (RFC 9110 section 5.5). A value that starts with a quote must be a string without parameters; a
 * bare text may hold no quote at all, so that nothing half-quoted passes as a key. A comma is refused inside
 * a string too: `"a` and `b"` in two fields arrive as the string `"a, b"`. `length` counts the characters of
 * the key itself, both ends allowed.
 */
export function readKey(value: string | null, length: { min: number; max: number }): KeyReading {
  if (value === null) return { kind: "missing" };
  if (BARE.test(value)) return checkLength(value, length);
  const text = value.replace(/^[ \t]+|[ \t]+$/g, "");
  if (text === "") return refuse("empty");
  if (text.includes(",")) return refuse("comma");
  if (!text.startsWith('"')) return readBareText(text, length);
  return readString(text, length);
}

function readBareText(text: string, length: { min: number; max: number }): KeyReading {
  if (!ALLOWED.test(text)) return refuse("character");
  return text.includes('"') ? refuse("quoting") : checkLength(text, length);
}

function readString(text: string, length: { min: number; max: number }): KeyReading {
  const item = parseString(text);
  if (item === null) return refuse(/^[\x20-\x7e]*$/.test(text) ? "quoting" : "character");
  if (item.parameters > 0) return refuse("parameters");
  if (item.value === "") return refuse("empty");
  return ALLOWED.test(item.value) ? checkLength(item.value, length) : refuse("character");
}

function parseString(text: string): { value: string; parameters: number } | null {
  try {
    const [value, parameters] = parseItem(text);
    return typeof value === "string" ? { value, parameters: parameters.size } : null;
  } catch {
    return null;
  }
}

function checkLength(key: string, length: { min: number; max: number }): KeyReading {
  if (key.length < length.min) return refuse("too-short");
  if (key.length > length.max) return refuse("too-long");
  return { kind: "key", key };
}

function refuse(reason: KeyFault): KeyReading {
  return { kind: "invalid", reason };
}
