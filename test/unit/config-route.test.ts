// Aim: every field of a route takes what the contract allows, at its limits. Method: a row per limit, read
// inside an otherwise minimal environment, and compared with the whole policy.

import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import type { RoutePolicy } from "../../src/core/policy.ts";

const KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: KEY, SEALING_KEY: KEY };
const JWT = {
  from: "jwt",
  jwks_url: "https://id.example/jwks",
  issuer: "https://id.example",
  audience: "api",
};

type Table = Record<string, unknown>;

function readRoute(route: unknown, env: Table = {}): RoutePolicy {
  const loaded = loadConfig({ ...MINIMAL, ...env, ROUTES: [route] }, "gateway");
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  const [policy] = loaded.config.routes;
  if (policy === undefined) throw new Error("no route");
  return policy;
}

const DEFAULTS: RoutePolicy = {
  id: "r-19dbe588",
  match: "/*",
  methods: ["POST", "PATCH"],
  key: "optional",
  keyHeader: "idempotency-key",
  keyLength: { min: 1, max: 255 },
  principal: { from: "credential", headers: ["authorization"] },
  anonymous: "refuse",
  authorize: null,
  fingerprint: { body: "raw", ignore: [], headers: [] },
  windowMs: 24 * 3_600_000,
  quarantineMs: 3_600_000,
  originTimeoutMs: 25_000,
  executionMsMax: 300_000,
  requestBytesMax: 1_048_576,
  responseBytesMax: 8_388_608,
  waitMsMax: 10_000,
  executor: "object",
  onCrash: "hold",
  originKey: { send: "none" },
  releaseStatuses: [401, 421, 425, 429],
  probe: null,
  replayCookies: false,
  redact: [],
  sealWithKey: false,
  quota: null,
  audit: "eager",
  profile: "ietf",
};

describe("a sound route", () => {
  it("has the documented defaults when nothing is given", () => {
    expect(readRoute({})).toEqual(DEFAULTS);
  });

  it.each<[Table, Partial<RoutePolicy>]>([
    [
      { id: "orders.v1_x-2", match: "/orders/:id" },
      { id: "orders.v1_x-2", match: "/orders/:id" },
    ],
    [{ id: "a".repeat(64) }, { id: "a".repeat(64) }],
    [
      { id: "r", methods: ["DELETE", "PUT"] },
      { id: "r", methods: ["DELETE", "PUT"] },
    ],
    [{ key: "off" }, { key: "off" }],
    [
      { key: "required", key_header: "X-Delivery-Id" },
      { key: "required", keyHeader: "x-delivery-id" },
    ],
    [{ key_length: [255, 255] }, { keyLength: { min: 255, max: 255 } }],
    [
      { principal: { from: "credential", headers: ["X-Api-Key", "X-Account"] } },
      { principal: { from: "credential", headers: ["x-api-key", "x-account"] } },
    ],
    [
      { principal: { from: "credential" } },
      { principal: { from: "credential", headers: ["authorization"] } },
    ],
    [{ principal: { from: "header", name: "X-User" } }, { principal: { from: "header", name: "x-user" } }],
    [{ principal: { from: "cookie", name: "Session" } }, { principal: { from: "cookie", name: "Session" } }],
    [{ principal: { from: "mtls" } }, { principal: { from: "mtls" } }],
    [{ principal: { from: "none" } }, { principal: { from: "none" } }],
    [{ anonymous: "share" }, { anonymous: "share" }],
    [{ authorize: "http://auth.internal/check?app=1" }, { authorize: "http://auth.internal/check?app=1" }],
    [{ fingerprint: "json" }, { fingerprint: { body: "json", ignore: [], headers: [] } }],
    [
      { fingerprint: { body: "json", ignore: ["/id", "/a~1b/~0"], headers: ["Stripe-Version"] } },
      { fingerprint: { body: "json", ignore: ["/id", "/a~1b/~0"], headers: ["stripe-version"] } },
    ],
    [
      { window: "1s", quarantine: "0s" },
      { windowMs: 1_000, quarantineMs: 0 },
    ],
    [
      { window: "30d", quarantine: "30d" },
      { windowMs: 2_592_000_000, quarantineMs: 2_592_000_000 },
    ],
    [
      { origin_timeout: "10ms", max_execution: "10ms" },
      { originTimeoutMs: 10, executionMsMax: 10 },
    ],
    [
      { origin_timeout: "15m", max_execution: "15m" },
      { originTimeoutMs: 900_000, executionMsMax: 900_000 },
    ],
    [
      { request_max: "1B", response_max: "1B" },
      { requestBytesMax: 1, responseBytesMax: 1 },
    ],
    [
      { request_max: "16MiB", response_max: "32MiB" },
      { requestBytesMax: 16_777_216, responseBytesMax: 33_554_432 },
    ],
    [{ wait_max: "0s" }, { waitMsMax: 0 }],
    [{ wait_max: "60s" }, { waitMsMax: 60_000 }],
    [{ executor: "worker" }, { executor: "worker" }],
    [
      { on_crash: "retry", origin_key: "raw" },
      { onCrash: "retry", originKey: { send: "raw", header: "idempotency-key" } },
    ],
    [
      { origin_key: "derived", origin_key_header: "X-Key" },
      { originKey: { send: "derived", header: "x-key" } },
    ],
    [{ release_statuses: [] }, { releaseStatuses: [] }],
    [{ release_statuses: [400, 599] }, { releaseStatuses: [400, 599] }],
    [
      { probe: { url: "/effects/{effect_id}" } },
      {
        probe: {
          url: "/effects/{effect_id}",
          sealUrl: null,
          notFound: "unknown",
          originDelayMsMax: 60_000,
        },
      },
    ],
    [
      {
        probe: {
          url: "/e?id={effect_id}&n={attempt}",
          seal_url: "/o/{operation_id}/void",
          not_found: "none",
          max_origin_delay: "0s",
        },
      },
      {
        probe: {
          url: "/e?id={effect_id}&n={attempt}",
          sealUrl: "/o/{operation_id}/void",
          notFound: "none",
          originDelayMsMax: 0,
        },
      },
    ],
    [
      { replay_cookies: true, seal_with_key: true },
      { replayCookies: true, sealWithKey: true },
    ],
    [{ redact: ["/card/number"] }, { redact: ["/card/number"] }],
    [{ quota: { new_keys_per_minute: 1 } }, { quota: { newKeysPerMinute: 1 } }],
    [{ quota: { new_keys_per_minute: 1_000_000 } }, { quota: { newKeysPerMinute: 1_000_000 } }],
    [{ audit: "durable" }, { audit: "durable" }],
    [
      { audit: "off", profile: "ietf" },
      { audit: "off", profile: "ietf" },
    ],
  ])("reads %j", (given, policy) => {
    expect(readRoute(given)).toEqual({ ...DEFAULTS, ...policy, id: policy.id ?? expect.any(String) });
  });

  it("verifies tokens with a key set, or with a secret named by the route", () => {
    const keySet = readRoute({ principal: { ...JWT, claims: ["sub", "tenant"] } });
    const { jwks_url: _, ...rest } = JWT;
    const hmac = readRoute({ principal: { ...rest, secret: "JWT_KEY" } }, { JWT_KEY: "k".repeat(32) });
    const local = readRoute({ principal: { ...JWT, jwks_url: "http://127.0.0.1:9100/jwks" } });

    const claims = { from: "jwt", issuer: "https://id.example", audience: "api", claims: ["sub"] };
    expect(keySet.principal).toEqual({
      ...claims,
      claims: ["sub", "tenant"],
      keys: { kind: "jwks", url: "https://id.example/jwks" },
    });
    expect(hmac.principal).toEqual({ ...claims, keys: { kind: "hmac", secret: "k".repeat(32) } });
    expect(local.principal).toEqual({ ...claims, keys: { kind: "jwks", url: "http://127.0.0.1:9100/jwks" } });
  });
});
