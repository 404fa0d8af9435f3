/**
 * The public id of an operation: the name of its object and a tag that only we can make. An id that somebody made up is known
 * as such before any object is touched: asking for it creates nothing.
 */
import { encodeUtf8 } from "../core/bytes.ts";
import type { Keyring } from "../core/ports.ts";

export async function writeOperationId(name: string, keyring: Keyring): Promise<string> {
  return `${name}.${await keyring.tag(name)}`;
}

/** The object's name; null: nobody was ever given this id. */
export async function readOperationId(id: string, keyring: Keyring): Promise<string | null> {
  const [, name, tag] = /^([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{11})$/.exec(id) ?? [];
  if (name === undefined || tag === undefined) return null;
  return crypto.subtle.timingSafeEqual(encodeUtf8(tag), encodeUtf8(await keyring.tag(name))) ? name : null;
}
