/** Which header fields may go on to the origin, to the first caller, and into the stored answer. */

/** Header fields in order; several fields of one name are several pairs. Names in any case. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** `field` is the lower-case name of the field that made the request unfit to forward. */
export type OriginPairs =
  | { kind: "pairs"; pairs: Pairs }
  | { kind: "refused"; reason: "nominated" | "control-character" | "transfer-coding"; field: string };

const ORIGINAL_REQUEST_ID = "Idempotency-Original-Request-Id";

/** RFC 9110 section 7.6.1, and the `HTTP2-Settings` of RFC 7540 section 3.2.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Lower-case names that only the gateway sets: copies from elsewhere prove nothing. */
export const GATEWAY_FIELDS: ReadonlySet<string> = new Set([
  "idempotency-status",
  "idempotency-replayed",
  "idempotency-created",
  "idempotency-expires",
  "idempotency-original-request-id",
  "effect-id",
  "effect-attempt",
  "effect-token",
  "effect-evidence",
  "effect-probe",
]);

/** Written anew for every message; `Expect` is answered by the server that took the request. */
const NOT_FORWARDED: ReadonlySet<string> = new Set(["host", "content-length", "expect"]);

/**
 * Fields on which somebody's decision rests. Nominating one in `Connection` makes each hop remove it, which
 * is how identity set by a proxy has been taken off on its way: such a request is refused.
 */
const PROTECTED: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "dpop",
  "forwarded",
  "host",
  "origin",
  "prefer",
  "referer",
  "signature",
  "signature-input",
  "true-client-ip",
  "x-api-key",
  "x-real-ip",
]);
const PROTECTED_PREFIXES = [
  "cf-",
  "content-",
  "effect-",
  "idempotency-",
  "if-",
  "sec-",
  "x-auth",
  "x-forwarded",
];

/** About one exchange only, so never part of a stored answer. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  "age",
  "alt-svc",
  "authentication-info",
  "cache-control",
  "clear-site-data",
  "date",
  "retry-after",
  "server-timing",
  "www-authenticate",
]);
const NOT_KEPT_PREFIXES = ["cf-", "ratelimit", "x-ratelimit"];

const REQUEST_ID: ReadonlySet<string> = new Set(["x-request-id", "request-id"]);

/** Digests of the encoded content (RFC 9530, RFC 1864): untrue once the content is decoded. */
const ENCODED_DIGESTS: ReadonlySet<string> = new Set([
  "content-digest",
  "content-md5",
  "digest",
  "repr-digest",
]);

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the job
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f\ufffd]/;

/**
 * The same pairs for the platform's constructors: as a record where every name is there once, which the runtime takes in a third
 * of the time, else as a list.
 */
export function toFields(pairs: Pairs): Record<string, string> | [string, string][] {
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  return names.size === pairs.length
    ? Object.fromEntries(pairs)
    : pairs.map(([name, value]) => [name, value]);
}

/** True for fields that say something of the very bytes of a body (RFC 9530, RFC 1864, RFC 9110 section 8.8.3). */
export function isContentDigest(name: string): boolean {
  const field = name.toLowerCase();
  return field === "etag" || ENCODED_DIGESTS.has(field);
}

/** The value of a field as `Headers.get` would give it: several joined by `", "`, null when there is none. */
export function fieldValue(pairs: Pairs, name: string): string | null {
  const wanted = name.toLowerCase();
  let value: string | null = null;
  for (const [given, text] of pairs) {
    if (given.toLowerCase() === wanted) value = value === null ? text : `${value}, ${text}`;
  }
  return value;
}

/**
 * True when the runtime hands out the body of such an answer decoded while the field still says it is
 * encoded: for exactly `gzip` and `br` in lower case (workerd). `encoding` is the whole value of
 * `Content-Encoding`, null for none.
 */
export function isDecodedByRuntime(encoding: string | null): boolean {
  return encoding === "gzip" || encoding === "br";
}

/** True for a request's `Transfer-Encoding` that the runtime undoes and makes anew. Null: there is no such field. */
export function isForwardableCoding(coding: string | null): boolean {
  return coding === null || /^chunked$/i.test(coding);
}

/**
 * True for an answer whose bytes are in a transfer coding that nobody has undone and whose field ends here: nobody could read them.
 * Old servers say `identity`, which is none.
 */
export function isStillCoded(coding: string | null): boolean {
  return coding?.split(",").some((each) => !/^\s*(chunked|identity)?\s*$/i.test(each)) ?? false;
}

/** Lower-case names of the fields that end here because `Connection` names them (RFC 9110 section 7.6.1), with what else it says. */
export function listNominated(connection: string | null): readonly string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}

/**
 * What of a client's fields goes on to the origin: all but hop-by-hop fields, those named in `Connection`
 * (RFC 9110 section 7.6.1), `Expect`, `Proxy-*`, `Host`, `Content-Length`, the key's field and copies of
 * gateway fields.
 *
 * A value with U+FFFD is one too: the runtime puts it where bytes were not UTF-8, and different bytes would meet there.
 *
 * Refused: a `Connection` that nominates a field somebody relies on (`nominated`), a value with a control
 * character (RFC 9110 section 5.5), and a transfer coding that nobody has undone (RFC 9112 section 6.1: any but `chunked`), whose
 * field would end here while the bytes stay coded. `relied` adds names to the former: the fields that the route's principal
 * and fingerprint use.
 */
export function pairsForOrigin(pairs: Pairs, keyHeader: string, relied: readonly string[] = []): OriginPairs {
  const key = keyHeader.toLowerCase();
  const nominated = readNominated(pairs);
  for (const field of nominated) {
    const reliedOn = field === key || relied.some((name) => name.toLowerCase() === field);
    if (reliedOn || isProtected(field)) return { kind: "refused", reason: "nominated", field };
  }
  const kept: (readonly [string, string])[] = [];
  for (const pair of pairs) {
    const field = pair[0].toLowerCase();
    if (CONTROL.test(pair[1])) return { kind: "refused", reason: "control-character", field };
    if (field === "transfer-encoding" && !isForwardableCoding(pair[1]))
      return { kind: "refused", reason: "transfer-coding", field };
    if (field === key || NOT_FORWARDED.has(field) || endsHere(field, nominated)) continue;
    kept.push(pair);
  }
  return { kind: "pairs", pairs: kept };
}

/**
 * What of an origin's fields the first caller gets: all but hop-by-hop fields, those named in `Connection`,
 * `Proxy-*`, gateway names and `Content-Length`; and, when the runtime decoded the body, `Content-Encoding`
 * and digests of the encoded bytes.
 */
export function pairsForClient(pairs: Pairs): Pairs {
  const nominated = readNominated(pairs);
  const decoded = isDecodedByRuntime(fieldValue(pairs, "content-encoding"));
  return pairs.filter(([name]) => {
    const field = name.toLowerCase();
    if (field === "content-length" || endsHere(field, nominated)) return false;
    return !(decoded && (field === "content-encoding" || ENCODED_DIGESTS.has(field)));
  });
}

/**
 * What is stored and replayed of the fields that the first caller gets: all but what is about that exchange
 * only. `Set-Cookie` stays with `cookies`. The first request id is kept as
 * `Idempotency-Original-Request-Id`, further ones are not. `Cache-Control` is left out: every replay is
 * `no-store`.
 */
export function pairsToKeep(given: Pairs, options: { cookies: boolean }): Pairs {
  const kept: (readonly [string, string])[] = [];
  let identified = false;
  for (const pair of given) {
    const field = pair[0].toLowerCase();
    if (field === "set-cookie" ? !options.cookies : isOfOneExchange(field)) continue;
    if (!REQUEST_ID.has(field)) {
      kept.push(pair);
    } else if (!identified) {
      kept.push([ORIGINAL_REQUEST_ID, pair[1]]);
      identified = true;
    }
  }
  return kept;
}

function readNominated(pairs: Pairs): ReadonlySet<string> {
  const nominated = new Set<string>();
  for (const [name, value] of pairs) {
    if (name.toLowerCase() !== "connection") continue;
    for (const option of listNominated(value)) nominated.add(option);
  }
  return nominated;
}

function isProtected(field: string): boolean {
  return PROTECTED.has(field) || PROTECTED_PREFIXES.some((prefix) => field.startsWith(prefix));
}

function endsHere(field: string, nominated: ReadonlySet<string>): boolean {
  return (
    HOP_BY_HOP.has(field) || GATEWAY_FIELDS.has(field) || nominated.has(field) || field.startsWith("proxy-")
  );
}

function isOfOneExchange(field: string): boolean {
  return NOT_KEPT.has(field) || NOT_KEPT_PREFIXES.some((prefix) => field.startsWith(prefix));
}
