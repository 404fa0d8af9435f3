/** Writes what is digested to tell whether two requests under one key are the same request. */

import { writeMessage } from "../bytes.ts";
import type { FingerprintRule } from "../policy.ts";
import { writeCanonicalJson } from "./json.ts";
import { isJson, type MediaType, readBoundary, readMediaType } from "./media-type.ts";
import { type Multipart, readMultipart } from "./multipart.ts";

/**
 * Changes whenever the same request would give another message. A record keeps the version it was written under,
 * so that a later one can tell an old digest from a different request.
 */
export const FINGERPRINT_VERSION = 1;

/** Names version and rule in a record. */
export function nameRule({ body, ignore, headers }: FingerprintRule): string {
  return JSON.stringify([FINGERPRINT_VERSION, body, ignore, headers]);
}

export type FingerprintInput = {
  method: string;
  /** Path and query from `readTarget`. */
  path: string;
  search: string;
  contentType: string | null;
  /** The value of a request field by its lower-case name, as `Headers.get` gives it. */
  field: (name: string) => string | null;
  rule: FingerprintRule;
  /**
   * After content decoding. A body that could not be decoded needs `content-encoding` among the rule's
   * headers.
   */
  body: Uint8Array;
};

/** Fields by which servers are told to read another method or target than the ones sent. They count as part of them. */
const METHOD_OVERRIDES = [
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
] as const;

/** How the body counts, and the bytes that say it. */
type BodyForm = { kind: "raw" | "json" | "multipart"; bytes: Uint8Array };

/**
 * The message whose digest is the request's fingerprint: version, method, path, query, media type, the rule's
 * headers and the body, each framed by its length, so that two requests which differ in one of them never
 * give the same bytes. An absent field differs from an empty one; several fields of one name are joined by
 * `", "`.
 *
 * The body counts as its bytes; by canonical JSON where the rule says `json` and the media type is JSON (text
 * that can't be read in one way only counts as its bytes); part by part where it is multipart and well
 * formed.
 */
export function fingerprintMessage(input: FingerprintInput): Uint8Array {
  const media = input.contentType === null ? null : readMediaType(input.contentType);
  const form = readBodyForm(input, media);
  return writeMessage([
    String(FINGERPRINT_VERSION),
    input.method,
    input.path,
    input.search,
    writeMediaType(input.contentType, media, form.kind),
    writeHeaders(input),
    form.kind,
    form.bytes,
  ]);
}

/** How the body of a request counts. */
export function nameBodyForm(input: FingerprintInput): BodyForm["kind"] {
  const media = input.contentType === null ? null : readMediaType(input.contentType);
  return readBodyForm(input, media).kind;
}

/** Lower-case names of the fields that count, whether they are there or not. */
export function listCountedFields({ field, rule }: Pick<FingerprintInput, "field" | "rule">): string[] {
  const overrides = METHOD_OVERRIDES.filter((name) => field(name) !== null);
  const names = [...overrides, ...rule.headers.map((name) => name.toLowerCase())];
  return [...new Set(names)].sort();
}

function readBodyForm(input: FingerprintInput, media: MediaType | null): BodyForm {
  const boundary = media === null ? null : readBoundary(media);
  const multipart = boundary === null ? null : readMultipart(input.body, boundary);
  if (multipart !== null) return { kind: "multipart", bytes: writeMultipart(multipart) };
  const comparesJson = input.rule.body === "json" && media !== null && isJson(media);
  const json = comparesJson ? writeCanonicalJson(input.body, input.rule.ignore) : null;
  return json === null ? { kind: "raw", bytes: input.body } : { kind: "json", bytes: json };
}

function writeMediaType(value: string | null, media: MediaType | null, form: BodyForm["kind"]): Uint8Array {
  if (value === null) return writeMessage(["absent"]);
  if (media === null) return writeMessage(["text", value]);
  const counting = media.parameters.filter(([name]) => form !== "multipart" || name !== "boundary");
  return writeMessage(["type", media.type, ...counting.flat()]);
}

/** The rule's fields, absent or present, and those overrides that are present. */
function writeHeaders(input: FingerprintInput): Uint8Array {
  return writeMessage(
    listCountedFields(input).flatMap((name) => {
      const value = input.field(name);
      return value === null ? [name, "absent", ""] : [name, "present", value];
    }),
  );
}

function writeMultipart({ before, parts, after }: Multipart): Uint8Array {
  const framed = parts.map((part) => writeMessage([...part.headers.flat(), part.content]));
  return writeMessage([before, after, ...framed]);
}
