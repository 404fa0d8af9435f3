/** The fields of one route and the members of its tables, in the form of `settings.ts`. */

import * as bounds from "../bounds.ts";
import {
  allowDuration,
  allowOneOf,
  allowSize,
  allowWhole,
  derived,
  given,
  none,
  required,
  type Setting,
  span,
} from "../setting.ts";

export const METHODS = ["POST", "PUT", "PATCH", "DELETE"] as const;
export const KEY_RULES = ["required", "optional", "off"] as const;
const PRINCIPAL_SOURCES = ["credential", "header", "cookie", "jwt", "mtls", "none"] as const;
export const ANONYMOUS_RULES = ["refuse", "share"] as const;
export const BODY_RULES = ["raw", "json"] as const;
export const EXECUTORS = ["object", "worker"] as const;
export const CRASH_RULES = ["hold", "retry"] as const;
export const ORIGIN_KEYS = ["none", "derived", "raw"] as const;
export const NOT_FOUND_RULES = ["none", "unknown"] as const;
export const AUDITS = ["eager", "durable", "off"] as const;
export const PROFILES = ["ietf"] as const;

const HEADER = "a header name that isn't hop-by-hop, framing or the gateway's own";
const KEY_HEADER = `${HEADER}, nor Authorization or Cookie`;
const POINTERS = `a list of up to ${bounds.POINTERS.max} JSON pointers like "/id", each once`;
const TEMPLATE =
  'a path that starts with "/", may have a query, and has no placeholders but {effect_id}, {attempt}, ' +
  "{operation_id}";
const YES_NO = "true or false";

export const ROUTE_SETTINGS = {
  match: {
    fallback: given("/*"),
    allowed: 'a URLPattern pathname that starts with "/" (parameters as ":id", no braces)',
    meaning: "Matched against the one normalised target that is also fingerprinted and forwarded.",
  },
  methods: {
    fallback: given(["POST", "PATCH"]),
    allowed: `a list of ${allowOneOf(METHODS)}, each once`,
    meaning: "Methods the route is for. Safe methods never claim a key.",
  },
  id: {
    fallback: derived("derived from `match` and `methods`"),
    allowed: `${span(bounds.ID_LENGTH)} letters, digits, . _ and -, each id once`,
    meaning: "Stable route id, part of the scope; keep it when you change `match` or `methods`.",
  },
  key: {
    fallback: given("optional"),
    allowed: allowOneOf(KEY_RULES),
    meaning: "`optional`: without a key, forwarded unprotected (`Idempotency-Status: unprotected`).",
  },
  key_header: {
    fallback: given("Idempotency-Key"),
    allowed: `${KEY_HEADER}, nor one that the principal comes from`,
    meaning: "Where the key is read from (webhook receivers name their delivery-id header).",
  },
  key_length: {
    fallback: given([1, 255]),
    allowed: `[least, most], whole numbers from ${span(bounds.KEY_LENGTH)} in order`,
    meaning: "Allowed length of a key in characters.",
  },
  principal: {
    fallback: given({ from: "credential", headers: ["Authorization"] }),
    allowed: `a table whose from is ${allowOneOf(PRINCIPAL_SOURCES)}`,
    meaning: "Who a key belongs to. Two principals with one key never meet.",
  },
  "principal.from": {
    fallback: required,
    allowed: allowOneOf(PRINCIPAL_SOURCES),
    meaning:
      "`credential`: the headers' values as they are; `header`: set by a trusted hop; `jwt`: verified " +
      "claims, so a refreshed token stays the same principal; `mtls`: the client certificate; `none`: one " +
      "shared namespace.",
  },
  "principal.headers": {
    fallback: given(["Authorization"]),
    allowed: `a list of ${span(bounds.HEADER_NAMES)} of these, each once: ${HEADER}`,
    meaning: "With `credential`. Several combine.",
  },
  "principal.name": {
    fallback: required,
    allowed: `for header: ${HEADER}; for cookie: a cookie name`,
    meaning: "With `header` and `cookie`.",
  },
  "principal.jwks_url": {
    fallback: none("none; this or `secret`"),
    allowed:
      "an https URL without user and fragment (http for 127.0.0.1, [::1] and localhost); exactly one of " +
      "jwks_url and secret",
    meaning: "With `jwt`. The key set that tokens are verified with.",
  },
  "principal.secret": {
    fallback: none("none; this or `jwks_url`"),
    allowed:
      "the name of a Worker secret, not one of the gateway's own, that holds at least " +
      `${bounds.JWT_SECRET_LENGTH_MIN} characters of text`,
    meaning: "With `jwt`. Names the secret that holds the HMAC key.",
  },
  "principal.issuer": {
    fallback: required,
    allowed: `text of ${span(bounds.TEXT_LENGTH)} visible ASCII characters`,
    meaning: "With `jwt`. What `iss` must be.",
  },
  "principal.audience": {
    fallback: required,
    allowed: `text of ${span(bounds.TEXT_LENGTH)} visible ASCII characters`,
    meaning: "With `jwt`. What `aud` must be or contain.",
  },
  "principal.claims": {
    fallback: given(["sub"]),
    allowed:
      `a list of ${span(bounds.CLAIMS)} claim names of ${span(bounds.NAME_LENGTH)} visible ASCII ` +
      "characters, each once",
    meaning:
      "With `jwt`. Several combine. Each is text, or a whole number below 2^53, which reading does not round.",
  },
  anonymous: {
    fallback: given("refuse"),
    allowed: allowOneOf(ANONYMOUS_RULES),
    meaning: "No principal found: 401 `principal-missing`, or one namespace `share`d by all such callers.",
  },
  authorize: {
    fallback: none(),
    allowed: "an absolute http or https URL without user and fragment",
    meaning: "Asked before any stored answer is given (`GET`, the caller's credentials, 2xx = allowed).",
  },
  fingerprint: {
    fallback: given("raw"),
    allowed: `${allowOneOf(BODY_RULES)}, or a table of body, ignore and headers`,
    meaning: "What makes two requests the same. Method, target with query and media type always count.",
  },
  "fingerprint.body": {
    fallback: given("raw"),
    allowed: allowOneOf(BODY_RULES),
    meaning:
      "`raw`: bytes after content decoding. `json`: member order and spacing ignored, numbers never " +
      "rounded, duplicate members and unparsable text fall back to raw. Multipart bodies are always read " +
      "part by part.",
  },
  "fingerprint.ignore": {
    fallback: given([]),
    allowed: `${POINTERS}; only with body = "json"`,
    meaning: "Members that don't count.",
  },
  "fingerprint.headers": {
    fallback: given([]),
    allowed: `a list of up to ${bounds.COUNTED_HEADERS.max} header names, each once`,
    meaning: 'Request headers that count, like `["Stripe-Version"]`.',
  },
  window: {
    fallback: given("24h"),
    allowed: allowDuration(bounds.WINDOW_MS),
    meaning: "How long an answer is replayed, counted from the moment it was settled.",
  },
  quarantine: {
    fallback: given("1h"),
    allowed: allowDuration(bounds.QUARANTINE_MS),
    meaning: "After the window: 409 `key-expired` until this too is over; then a new request.",
  },
  origin_timeout: {
    fallback: given("25s"),
    allowed: `${allowDuration(bounds.ORIGIN_TIMEOUT_MS)}, at most max_execution`,
    meaning: "For the whole answer, headers and body.",
  },
  max_execution: {
    fallback: given("5m"),
    allowed: allowDuration(bounds.EXECUTION_MS),
    meaning: "Leases are renewed no longer than this.",
  },
  request_max: {
    fallback: given("1MiB"),
    allowed: allowSize(bounds.REQUEST_BYTES),
    meaning: "Largest request body, counted while reading; beyond it 413 and the key stays unused.",
  },
  response_max: {
    fallback: given("8MiB"),
    allowed: allowSize(bounds.RESPONSE_BYTES),
    meaning: "Largest answer that is kept, counted while reading.",
  },
  wait_max: {
    fallback: given("10s"),
    allowed: allowDuration(bounds.WAIT_MS),
    meaning: "Most that `Prefer: wait=N` can ask for.",
  },
  executor: {
    fallback: given("object"),
    allowed: allowOneOf(EXECUTORS),
    meaning: "Where the origin call runs: inside the key's Durable Object, or in the Worker.",
  },
  on_crash: {
    fallback: given("hold"),
    allowed: `${allowOneOf(CRASH_RULES)}; "retry" only with origin_key set`,
    meaning: "`hold` = at most once; `retry` = at least once, for origins that know keys themselves.",
  },
  origin_key: {
    fallback: given("none"),
    allowed: allowOneOf(ORIGIN_KEYS),
    meaning: "The key the origin gets: `derived` is a keyed digest, the same for every attempt.",
  },
  origin_key_header: {
    fallback: given("Idempotency-Key"),
    allowed: KEY_HEADER,
    meaning: "Where the origin gets it.",
  },
  release_statuses: {
    fallback: given([401, 421, 425, 429]),
    allowed:
      `a list of up to ${bounds.RELEASE_STATUSES.max} statuses from ${span(bounds.RELEASE_STATUS)}, ` +
      "none of 502, 504, 520 to 527 and 530, each once",
    meaning:
      "Origin statuses the route's owner asserts are free of effects: answered, not stored, key free again.",
  },
  probe: {
    fallback: none(),
    allowed: "a table of url, seal_url, not_found and max_origin_delay",
    meaning: "How to ask the origin what became of an effect.",
  },
  "probe.url": {
    fallback: required,
    allowed: TEMPLATE,
    meaning: "Asked with `GET`, below the origin's URL.",
  },
  "probe.seal_url": {
    fallback: none(),
    allowed: TEMPLATE,
    meaning: "Asked with `POST`: has it happened, and if not, void it for ever.",
  },
  "probe.not_found": {
    fallback: given("unknown"),
    allowed: allowOneOf(NOT_FOUND_RULES),
    meaning: "What a 404 says. `none`: the effect has not happened.",
  },
  "probe.max_origin_delay": {
    fallback: given("60s"),
    allowed: allowDuration(bounds.ORIGIN_DELAY_MS),
    meaning: "How long after dispatch an effect may still appear; `none` counts only after that.",
  },
  replay_cookies: {
    fallback: given(false),
    allowed: YES_NO,
    meaning: "Also replay `Set-Cookie`.",
  },
  redact: {
    fallback: given([]),
    allowed: POINTERS,
    meaning: "Members removed from the stored copy of the response.",
  },
  seal_with_key: {
    fallback: given(false),
    allowed: YES_NO,
    meaning: "Stored bytes can be opened only by a caller who presents the key.",
  },
  quota: {
    fallback: none(),
    allowed: "a table of new_keys_per_minute",
    meaning: "Limit per principal. Refuses new keys, never evicts.",
  },
  "quota.new_keys_per_minute": {
    fallback: required,
    allowed: allowWhole(bounds.NEW_KEYS_PER_MINUTE),
    meaning: "New keys one principal may use in a minute.",
  },
  audit: {
    fallback: given("eager"),
    allowed: allowOneOf(AUDITS),
    meaning:
      "Replays and refusals of an existing key as ledger entries: `eager` (written after the answer, and lost " +
      "if that fails; once written, kept until the ledger has it), `durable` (written with the decision; " +
      "turns the isolate cache off), `off`. State changes are always in the ledger.",
  },
  profile: {
    fallback: given("ietf"),
    allowed: allowOneOf(PROFILES),
    meaning: "Named wire contract.",
  },
} as const satisfies Record<string, Setting>;
