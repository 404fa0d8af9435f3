/**
 * What a deployer decides, after `config/` has checked it. Every field has a value: defaults are filled in, so
 * nothing downstream asks whether a setting was given. Durations are milliseconds, sizes are bytes.
 */

export type Method = "POST" | "PUT" | "PATCH" | "DELETE";

/** Who a key belongs to. Header and cookie names are as configured, header names lower-case. */
export type PrincipalRule =
  | { from: "credential"; headers: readonly string[] }
  | { from: "header"; name: string }
  | { from: "cookie"; name: string }
  | { from: "jwt"; keys: JwtKeys; issuer: string; audience: string; claims: readonly string[] }
  | { from: "mtls" }
  | { from: "none" };

/** Lower-case names of the request fields that a principal is read from as they are. */
export function principalHeaders(rule: PrincipalRule): readonly string[] {
  if (rule.from === "credential") return rule.headers;
  return rule.from === "header" ? [rule.name] : [];
}

/** Where the verification key of a JWT comes from: an https JWKS document, or an HMAC secret held as text. */
export type JwtKeys = { kind: "jwks"; url: string } | { kind: "hmac"; secret: string };

export type FingerprintRule = {
  /** `raw` compares bytes after content decoding; `json` ignores member order and spacing. */
  body: "raw" | "json";
  /** JSON pointers (RFC 6901) left out of the comparison; only with `json`. */
  ignore: readonly string[];
  /** Lower-case names of request headers that count. */
  headers: readonly string[];
};

/** How the origin can be asked what became of an effect. The URLs are templates below the origin's own URL. */
export type ProbeRule = {
  url: string;
  sealUrl: string | null;
  notFound: "none" | "unknown";
  originDelayMsMax: number;
};

export type OriginKey = { send: "none" } | { send: "derived" | "raw"; header: string };

export type RoutePolicy = {
  /** Stable id, part of the scope. `[A-Za-z0-9._-]`, 1 to 64 characters. */
  id: string;
  /** URLPattern pathname. */
  match: string;
  methods: readonly Method[];
  key: "required" | "optional" | "off";
  /** Lower-case. */
  keyHeader: string;
  keyLength: { min: number; max: number };
  principal: PrincipalRule;
  anonymous: "refuse" | "share";
  authorize: string | null;
  fingerprint: FingerprintRule;
  windowMs: number;
  quarantineMs: number;
  originTimeoutMs: number;
  executionMsMax: number;
  requestBytesMax: number;
  responseBytesMax: number;
  waitMsMax: number;
  executor: "object" | "worker";
  onCrash: "hold" | "retry";
  originKey: OriginKey;
  releaseStatuses: readonly number[];
  probe: ProbeRule | null;
  replayCookies: boolean;
  /** JSON pointers removed from the stored copy of a response. */
  redact: readonly string[];
  sealWithKey: boolean;
  quota: { newKeysPerMinute: number } | null;
  audit: "eager" | "durable" | "off";
  profile: "ietf";
};

/** Where requests go: `prefix` is the path put before every target, without a trailing slash. */
export type OriginAddress =
  | { kind: "url"; base: string; prefix: string }
  | { kind: "binding"; prefix: string };

export type LedgerSink = "d1" | "stdout" | "webhook" | "none";

export type OperatorToken = { id: string; sha256: string; roles: readonly ("read" | "resolve")[] };

/** Secrets as bytes. `sealing` has the key that seals first, then older ones that only open. */
export type Secrets = {
  naming: Uint8Array;
  sealing: readonly [Uint8Array, ...Uint8Array[]];
  /** Ed25519 PKCS8; null: the ledger makes and keeps its own. */
  ledgerSigning: Uint8Array | null;
  /** null: evidence headers and probe macs are off. */
  originEvidence: Uint8Array | null;
  /** null: no webhook sink. */
  webhook: Uint8Array | null;
  /** Empty: the operator endpoints answer 404. */
  operators: readonly OperatorToken[];
};

export type Config = {
  origin: OriginAddress;
  routes: readonly RoutePolicy[];
  /** Path below which the gateway's own endpoints live; starts with a slash, has no trailing one. */
  prefix: string;
  /** Which requests get a log line. */
  logRequests: "all" | "problems";
  /** Allowed browser origins; empty: CORS is the origin's business. */
  corsOrigins: readonly string[];
  ledger: {
    name: string;
    shards: number;
    sinks: readonly LedgerSink[];
    webhookUrl: string | null;
    retentionMs: number;
    effectsTable: "all" | "open";
  };
  operatorsRequired: number;
  secrets: Secrets;
};
