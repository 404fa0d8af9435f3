/** The stored copy of an answer, less what its route leaves out. */
import { writeCanonicalJson } from "../fingerprint/json.ts";
import { isJson, readMediaType } from "../fingerprint/media-type.ts";
import { fieldValue, type Pairs } from "./headers.ts";

/**
 * The body to store: as it came where nothing is to be left out or it is not JSON by its media type; else written anew
 * without the values at `pointers` (RFC 6901). Null: JSON that can't be read, in which what has to go can't be found.
 */
export function redactAnswer(
  body: Uint8Array,
  headers: Pairs,
  pointers: readonly string[],
): Uint8Array | null {
  if (pointers.length === 0 || body.byteLength === 0) return body;
  const media = readMediaType(fieldValue(headers, "content-type") ?? "");
  return media !== null && isJson(media) ? writeCanonicalJson(body, pointers) : body;
}
