/** Lists for operators come page by page: what their queries have in common. */
import { decodeUtf8, encodeUtf8, fromBase64Url, toBase64Url } from "../bytes.ts";

/** Rows of a page that is asked for without a limit, and the most there are on one. */
const LIMIT = 100;
const LIMIT_MAX = 1_000;

/** `after`: what names the row that the page begins behind, not checked any further; null: it is the first page. */
export type PageQuery = { limit: number; after: readonly unknown[] | null };

/** Null: a parameter is given twice, or is none of `limit`, `after` and those named; or limit or cursor are not what they have to be. */
export function readPageQuery(given: URLSearchParams, others: readonly string[]): PageQuery | null {
  const names = [...given.keys()];
  const known = ["limit", "after", ...others];
  if (new Set(names).size < names.length || !names.every((name) => known.includes(name))) return null;
  const limit = given.get("limit") ?? String(LIMIT);
  const cursor = given.get("after");
  const after = cursor === null ? null : readCursor(cursor);
  if (!/^[1-9][0-9]{0,5}$/.test(limit) || (cursor !== null && after === null)) return null;
  return { limit: Math.min(Number(limit), LIMIT_MAX), after };
}

/** Names a row to a later query, as text that needs no escapes in it. */
export function writeCursor(place: readonly (string | number)[]): string {
  return toBase64Url(encodeUtf8(JSON.stringify(place)));
}

/** Only the one text that `writeCursor` writes of a place is read as it. */
function readCursor(cursor: string): readonly unknown[] | null {
  const bytes = fromBase64Url(cursor);
  try {
    const place: unknown = JSON.parse((bytes === null ? null : decodeUtf8(bytes)) ?? "null");
    const isOne = Array.isArray(place) && toBase64Url(encodeUtf8(JSON.stringify(place))) === cursor;
    return isOne ? place : null;
  } catch {
    return null;
  }
}
