/** One table of `ROUTES` → one policy. */

import * as v from "valibot";
import type { FingerprintRule, PrincipalRule, ProbeRule, RoutePolicy } from "../../core/policy.ts";
import * as bounds from "../bounds.ts";
import * as shape from "../shape.ts";
import { entry, isWhole, list, maybe, oneOf, type Reader, read, table, type Variables } from "../shape.ts";
import * as words from "../words.ts";
import { readPrincipal } from "./route-principal.ts";
import * as route from "./route-settings.ts";

const SET = route.ROUTE_SETTINGS;

/**
 * Characters of a derived id that come from `match`: with `r-`, a hyphen and the hash they stay under
 * `ID_LENGTH`.
 */
const SLUG_LENGTH = 40;

/** Reads one route; `env` holds the secrets that a principal may name. */
export function readRoute(env: Variables): Reader<RoutePolicy> {
  return (allowed) =>
    v.pipe(
      v.unknown(),
      v.check(shape.isTable, allowed),
      routeTable(env, allowed),
      v.forward(
        v.partialCheck(
          [["origin_timeout"], ["max_execution"]],
          (given) => given.origin_timeout <= given.max_execution,
          SET.origin_timeout.allowed,
        ),
        ["origin_timeout"],
      ),
      v.forward(
        v.partialCheck(
          [["on_crash"], ["origin_key"]],
          (given) => given.on_crash === "hold" || given.origin_key !== "none",
          SET.on_crash.allowed,
        ),
        ["on_crash"],
      ),
      v.forward(
        v.partialCheck(
          [["key_header"], ["principal"]],
          (given) => !listPrincipalHeaders(given.principal).includes(given.key_header),
          SET.key_header.allowed,
        ),
        ["key_header"],
      ),
      v.transform(makePolicy),
    );
}

/** The id a route has or would get; null when what it comes from is mistaken, which is reported elsewhere. */
export function readRouteId(given: unknown): string | null {
  const found = v.safeParse(v.object(identity), given);
  return found.success ? pickId(found.output) : null;
}

/**
 * A readable id of at most 64 characters of `[A-Za-z0-9-]`, the same for the same match and the same methods
 * in any order. It is part of every scope, so this function never changes: another result would leave every
 * stored key behind.
 */
export function deriveRouteId(match: string, methods: readonly string[]): string {
  const slug = match
    .replace(/[^A-Za-z0-9]+/g, "-")
    .slice(0, SLUG_LENGTH)
    .replace(/^-|-$/g, "");
  const hash = hashText([match, ...methods.toSorted()].join("\n"));
  return ["r", slug, hash].filter((part) => part !== "").join("-");
}

/** FNV-1a over UTF-8, 32 bits, as 8 hex digits. Tells routes of one deployment apart; it is no protection. */
function hashText(given: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(given)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

const identity = {
  match: entry(SET.match, read(words.readMatch)),
  methods: entry(SET.methods, list(oneOf(route.METHODS), { min: 1, max: route.METHODS.length })),
  id: maybe(SET.id, shape.text(bounds.ID_LENGTH, /^[A-Za-z0-9._-]+$/)),
};

const pointers = list(read(words.readPointer), bounds.POINTERS);

function keyEntries(env: Variables) {
  return {
    key: entry(SET.key, oneOf(route.KEY_RULES)),
    key_header: entry(SET.key_header, read(words.readKeyHeaderName)),
    key_length: entry(SET.key_length, read(readKeyLength)),
    principal: entry(SET.principal, readPrincipal(env)),
    anonymous: entry(SET.anonymous, oneOf(route.ANONYMOUS_RULES)),
    authorize: maybe(
      SET.authorize,
      read((given) => words.readUrl(given, ["http:", "https:"])?.href ?? null),
    ),
    fingerprint: entry(SET.fingerprint, readFingerprint),
  };
}

const readFingerprint: Reader<FingerprintRule> = (allowed) =>
  v.pipe(
    v.unknown(),
    v.check((given) => typeof given === "string" || shape.isTable(given), allowed),
    v.transform((given) => (typeof given === "string" ? { body: given } : given)),
    table(
      {
        body: entry(SET["fingerprint.body"], oneOf(route.BODY_RULES)),
        ignore: entry(SET["fingerprint.ignore"], pointers),
        headers: entry(SET["fingerprint.headers"], list(read(words.readHeaderName), bounds.COUNTED_HEADERS)),
      },
      allowed,
      "fingerprint",
    ),
    v.forward(
      v.partialCheck(
        [["body"], ["ignore"]],
        (given) => given.body === "json" || given.ignore.length === 0,
        SET["fingerprint.ignore"].allowed,
      ),
      ["ignore"],
    ),
  );

const limitEntries = {
  window: entry(SET.window, shape.duration(bounds.WINDOW_MS)),
  quarantine: entry(SET.quarantine, shape.duration(bounds.QUARANTINE_MS)),
  origin_timeout: entry(SET.origin_timeout, shape.duration(bounds.ORIGIN_TIMEOUT_MS)),
  max_execution: entry(SET.max_execution, shape.duration(bounds.EXECUTION_MS)),
  request_max: entry(SET.request_max, shape.size(bounds.REQUEST_BYTES)),
  response_max: entry(SET.response_max, shape.size(bounds.RESPONSE_BYTES)),
  wait_max: entry(SET.wait_max, shape.duration(bounds.WAIT_MS)),
  quota: maybe(SET.quota, (allowed) => {
    const most = entry(SET["quota.new_keys_per_minute"], shape.wholeNumber(bounds.NEW_KEYS_PER_MINUTE));
    return v.pipe(
      v.unknown(),
      v.check(shape.isTable, allowed),
      table({ new_keys_per_minute: most }, allowed, "quota"),
      v.transform((given) => ({ newKeysPerMinute: given.new_keys_per_minute })),
    );
  }),
};

const readProbe: Reader<ProbeRule> = (allowed) =>
  v.pipe(
    v.unknown(),
    v.check(shape.isTable, allowed),
    table(
      {
        url: entry(SET["probe.url"], read(words.readTemplate)),
        seal_url: maybe(SET["probe.seal_url"], read(words.readTemplate)),
        not_found: entry(SET["probe.not_found"], oneOf(route.NOT_FOUND_RULES)),
        max_origin_delay: entry(SET["probe.max_origin_delay"], shape.duration(bounds.ORIGIN_DELAY_MS)),
      },
      allowed,
      "probe",
    ),
    v.transform(
      ({ url, seal_url: sealUrl = null, not_found: notFound, max_origin_delay: originDelayMsMax }) => ({
        url,
        sealUrl,
        notFound,
        originDelayMsMax,
      }),
    ),
  );

const actionEntries = {
  executor: entry(SET.executor, oneOf(route.EXECUTORS)),
  on_crash: entry(SET.on_crash, oneOf(route.CRASH_RULES)),
  origin_key: entry(SET.origin_key, oneOf(route.ORIGIN_KEYS)),
  origin_key_header: entry(SET.origin_key_header, read(words.readKeyHeaderName)),
  release_statuses: entry(SET.release_statuses, list(read(readReleaseStatus), bounds.RELEASE_STATUSES)),
  probe: maybe(SET.probe, readProbe),
  replay_cookies: entry(SET.replay_cookies, shape.flag()),
  redact: entry(SET.redact, pointers),
  seal_with_key: entry(SET.seal_with_key, shape.flag()),
  audit: entry(SET.audit, oneOf(route.AUDITS)),
  profile: entry(SET.profile, oneOf(route.PROFILES)),
};

function routeTable(env: Variables, allowed: string) {
  return table({ ...identity, ...keyEntries(env), ...limitEntries, ...actionEntries }, allowed, "a route");
}

function makePolicy(given: v.InferOutput<ReturnType<typeof routeTable>>): RoutePolicy {
  return {
    id: pickId(given),
    match: given.match,
    methods: given.methods,
    key: given.key,
    keyHeader: given.key_header,
    keyLength: given.key_length,
    principal: given.principal,
    anonymous: given.anonymous,
    authorize: given.authorize ?? null,
    fingerprint: given.fingerprint,
    windowMs: given.window,
    quarantineMs: given.quarantine,
    originTimeoutMs: given.origin_timeout,
    executionMsMax: given.max_execution,
    requestBytesMax: given.request_max,
    responseBytesMax: given.response_max,
    waitMsMax: given.wait_max,
    executor: given.executor,
    onCrash: given.on_crash,
    originKey:
      given.origin_key === "none"
        ? { send: "none" }
        : { send: given.origin_key, header: given.origin_key_header },
    releaseStatuses: given.release_statuses,
    probe: given.probe ?? null,
    replayCookies: given.replay_cookies,
    redact: given.redact,
    sealWithKey: given.seal_with_key,
    quota: given.quota ?? null,
    audit: given.audit,
    profile: given.profile,
  };
}

function pickId(
  given: Pick<v.InferOutput<ReturnType<typeof routeTable>>, "id" | "match" | "methods">,
): string {
  return given.id ?? deriveRouteId(given.match, given.methods);
}

function readKeyLength(given: unknown): { min: number; max: number } | null {
  if (!Array.isArray(given) || given.length !== 2) return null;
  const [min, max]: readonly unknown[] = given;
  if (!isWhole(min) || !isWhole(max)) return null;
  return bounds.KEY_LENGTH.min <= min && min <= max && max <= bounds.KEY_LENGTH.max ? { min, max } : null;
}

function readReleaseStatus(given: unknown): number | null {
  if (!isWhole(given) || given < bounds.RELEASE_STATUS.min || given > bounds.RELEASE_STATUS.max) return null;
  return bounds.PATH_STATUSES.includes(given) ? null : given;
}

function listPrincipalHeaders(rule: PrincipalRule): readonly string[] {
  if (rule.from === "credential") return rule.headers;
  return rule.from === "header" ? [rule.name] : [];
}
