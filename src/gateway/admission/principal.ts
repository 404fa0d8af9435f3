/** Step 2: who a key belongs to. A principal is a list of texts; two callers share one only if every text is equal. */
import {
  createRemoteJWKSet,
  errors,
  type JWKSCacheInput,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwksCache,
  jwtVerify,
} from "jose";
import { encodeUtf8, fromBase64Url } from "../../core/bytes.ts";
import { JWT_LEEWAY_S } from "../../core/limits.ts";
import type { JwtKeys, PrincipalRule, RoutePolicy } from "../../core/policy.ts";

/** `unavailable`: the keys that would tell could not be had. */
export type Principal =
  | { kind: "known"; parts: readonly string[] }
  | { kind: "missing" }
  | { kind: "unavailable" };

export type PrincipalReader = (request: Request) => Promise<Principal>;

type JwtRule = Extract<PrincipalRule, { from: "jwt" }>;

/** The one part of the principal that callers without a credential share. */
export const ANONYMOUS = "anonymous";

const MISSING: Principal = { kind: "missing" };

const HMAC_ALGORITHMS = ["HS256", "HS384", "HS512"];
const KEY_PAIR_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Compiles a route's rule once. What it gives is the same for a caller whose token was refreshed, as far as the rule can tell. */
export function compilePrincipal(policy: Pick<RoutePolicy, "principal" | "anonymous">): PrincipalReader {
  const read = readerOf(policy.principal);
  if (policy.anonymous === "refuse") return read;
  return async (request) => {
    const principal = await read(request);
    // A credential that was sent and is wrong is not the same as none: only callers without one share.
    const isAnonymous = principal.kind === "missing" && !hasCredential(request, policy.principal);
    return isAnonymous ? { kind: "known", parts: [ANONYMOUS] } : principal;
  };
}

function readerOf(rule: PrincipalRule): PrincipalReader {
  switch (rule.from) {
    case "credential":
      return async (request) => readHeaders(request, "credential", rule.headers);
    case "header":
      return async (request) => readHeaders(request, "header", [rule.name]);
    case "cookie":
      return async (request) => knownIf(["cookie", rule.name], readCookie(request, rule.name));
    case "jwt":
      return compileJwt(rule);
    case "mtls":
      return async (request) => knownIf(["mtls"], readCertificate(request));
    case "none":
      return async () => ({ kind: "known", parts: ["none"] });
  }
}

/** The runtime puts U+FFFD where a field's bytes are not UTF-8: different callers would meet in it, so it names nobody. */
function isLegible(value: string): boolean {
  return !value.includes("\ufffd");
}

function knownIf(kind: readonly string[], value: string | null): Principal {
  return value === null || value === "" || !isLegible(value)
    ? MISSING
    : { kind: "known", parts: [...kind, value] };
}

/** All named fields combine; a field that is absent is told apart from an empty one. At least one has to be there. */
function readHeaders(request: Request, kind: string, names: readonly string[]): Principal {
  const values = names.map((name) => request.headers.get(name));
  if (!values.some((value) => value !== null && value !== "")) return MISSING;
  if (!values.every((value) => value === null || isLegible(value))) return MISSING;
  const parts = names.flatMap((name, i) => {
    const value = values[i] ?? null;
    return value === null ? [name, "absent", ""] : [name, "given", value];
  });
  return { kind: "known", parts: [kind, ...parts] };
}

/**
 * The value of a cookie (RFC 6265 section 4.2.1). A name sent twice has two readings and counts as absent, and so does a value
 * with a comma, where two fields may have been joined.
 */
function readCookie(request: Request, name: string): string | null {
  const values = readCookies(request, name);
  const [value] = values;
  return values.length !== 1 || value === undefined || value.includes(",") ? null : value;
}

function readCookies(request: Request, name: string): string[] {
  const pairs = (request.headers.get("cookie") ?? "").split(";");
  return pairs
    .filter((pair) => cookieName(pair) === name)
    .map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
}

/** Whether the name occurs at all, also behind a comma. */
function namesCookie(request: Request, name: string): boolean {
  return (request.headers.get("cookie") ?? "").split(/[;,]/).some((pair) => cookieName(pair) === name);
}

function cookieName(pair: string): string {
  return pair.slice(0, Math.max(pair.indexOf("="), 0)).trim();
}

/** Fingerprint of a client certificate that the edge has verified. */
function readCertificate(request: Request): string | null {
  const tls = (request.cf as IncomingRequestCfProperties | undefined)?.tlsClientAuth;
  return tls?.certVerified === "SUCCESS" ? tls.certFingerprintSHA256 : null;
}

function compileJwt(rule: JwtRule): PrincipalReader {
  const { keys, issuer, audience, claims } = rule;
  const options = {
    issuer,
    audience,
    clockTolerance: JWT_LEEWAY_S,
    algorithms: keys.kind === "hmac" ? HMAC_ALGORITHMS : KEY_PAIR_ALGORITHMS,
  };
  const verify = verifierOf(keys, options);
  return async (request) => {
    const token = readBearer(request);
    if (token === null) return MISSING;
    try {
      const { payload } = await verify(token);
      return isRounded(token, claims) ? MISSING : readClaims(payload, issuer, claims);
    } catch (error) {
      return isTokensFault(error) ? MISSING : { kind: "unavailable" };
    }
  };
}

function verifierOf(keys: JwtKeys, options: JWTVerifyOptions): (token: string) => Promise<JWTVerifyResult> {
  if (keys.kind === "hmac") {
    const secret = encodeUtf8(keys.secret);
    return (token) => jwtVerify(token, secret, options);
  }
  return remoteVerifierOf(new URL(keys.url), options);
}

/** How old a key set is, is told by the clock: one that was fetched at a time to come is fetched anew. */
function remoteVerifierOf(url: URL, options: JWTVerifyOptions): (token: string) => Promise<JWTVerifyResult> {
  const open = () => {
    const cache: JWKSCacheInput = {};
    return { cache, keySet: createRemoteJWKSet(url, { [jwksCache]: cache }) };
  };
  let keys = open();
  return (token) => {
    if ((keys.cache.uat ?? 0) > Date.now() + JWT_LEEWAY_S * 1_000) keys = open();
    return jwtVerify(token, keys.keySet, options);
  };
}

/** Everything that is wrong with a token has a code of its own; what is left is a key set that did not come or can't be read. */
function isTokensFault(error: unknown): boolean {
  const elsewhere = ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"];
  return error instanceof errors.JOSEError && !elsewhere.includes(error.code);
}

/** What `JSON.parse` tells of a value beside its key (ECMAScript 2025). */
type Read = { source?: string };

/** Whether a claim of a token that was verified is a number which reading has rounded to a whole one. */
function isRounded(token: string, claims: readonly string[]): boolean {
  const body = fromBase64Url(token.split(".")[1] ?? "");
  const rounded: unknown[] = [];
  const read = function (this: unknown, key: string, value: unknown, { source = "" }: Read): unknown {
    if (typeof value === "number" && claims.includes(key) && !/^-?\d+(\.0+)?$/.test(source))
      rounded.push(this);
    return value;
  } as (this: unknown, key: string, value: unknown) => unknown;
  return body === null || rounded.includes(JSON.parse(new TextDecoder().decode(body), read));
}

/** The claims of a token that was verified. Numbers that reading has rounded are refused: different callers would meet in one. */
export function readClaims(payload: JWTPayload, issuer: string, claims: readonly string[]): Principal {
  const values = claims.map((claim) => payload[claim]);
  if (!values.every((value) => (typeof value === "string" && value !== "") || Number.isSafeInteger(value)))
    return MISSING;
  return {
    kind: "known",
    parts: ["jwt", issuer, ...claims.flatMap((claim, i) => [claim, JSON.stringify(values[i])])],
  };
}

function readBearer(request: Request): string | null {
  return /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? null;
}

function hasCredential(request: Request, rule: PrincipalRule): boolean {
  switch (rule.from) {
    case "credential":
      return rule.headers.some((name) => request.headers.has(name));
    case "header":
      return request.headers.has(rule.name);
    case "cookie":
      return namesCookie(request, rule.name);
    case "jwt":
      return request.headers.has("authorization");
    case "mtls":
    case "none":
      return false;
  }
}
