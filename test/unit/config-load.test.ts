// Aim: every variable takes what the contract allows, at its limits, and one line says what is wrong with
// anything else. Method: a row per limit, read inside an otherwise minimal environment.

import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/core/policy.ts";

const KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: KEY, SEALING_KEY: KEY };

type Env = Record<string, unknown>;

function load(env: Env): Config {
  const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  return loaded.config;
}

function listMistakes(env: Env): readonly string[] {
  const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
  return loaded.kind === "sound" ? [] : loaded.mistakes;
}

describe("the minimal environment", () => {
  it("gives the documented defaults", () => {
    const { routes, ...config } = load({});

    expect(routes.map(({ match, methods, key }) => ({ match, methods, key }))).toEqual([
      { match: "/*", methods: ["POST", "PATCH"], key: "optional" },
    ]);
    expect(config).toEqual({
      origin: { kind: "url", base: "https://api.example", prefix: "" },
      logRequests: "all",
      prefix: "/_oncegate",
      corsOrigins: [],
      ledger: {
        name: "gateway",
        shards: 4,
        sinks: ["d1"],
        webhookUrl: null,
        retentionMs: 90 * 86_400_000,
        effectsTable: "all",
      },
      operatorsRequired: 2,
      secrets: {
        naming: new Uint8Array(32),
        sealing: [new Uint8Array(32)],
        ledgerSigning: null,
        originEvidence: null,
        webhook: null,
        operators: [],
      },
    });
  });

  it("lacks nothing silently", () => {
    const loaded = loadConfig({}, "gateway");

    expect(loaded).toEqual({
      kind: "misconfigured",
      mistakes: [
        "NAMING_KEY is not given; allowed: 32 bytes in base64",
        "SEALING_KEY is not given; allowed: 32 bytes in base64",
        "ORIGIN_URL is not given; allowed: an absolute http or https URL without user, query, fragment, and " +
          "dot or empty segments (or a service binding named ORIGIN)",
      ],
    });
  });
});

describe("the origin", () => {
  const binding = { fetch: () => new Response() };

  it.each([
    ["https://api.example", "https://api.example", ""],
    ["https://api.example/", "https://api.example", ""],
    ["HTTPS://API.example:443/v1/", "https://api.example", "/v1"],
    ["http://127.0.0.1:9100/a/b%20c", "http://127.0.0.1:9100", "/a/b%20c"],
    ["http://[::1]:9100/x:y@z", "http://[::1]:9100", "/x:y@z"],
  ])("at %s has base %s and prefix %j", (given, base, prefix) => {
    expect(load({ ORIGIN_URL: given }).origin).toEqual({ kind: "url", base, prefix });
  });

  it.each([
    [{ ORIGIN_URL: undefined }, ""],
    [{ ORIGIN_URL: "https://api.example/v1/" }, "/v1"],
  ])("is the service binding where there is one: %j", (env, prefix) => {
    expect(load({ ...env, ORIGIN: binding }).origin).toEqual({ kind: "binding", prefix });
  });

  it.each(["https://other.example", {}, { fetch: 1 }, null])("is no binding when ORIGIN is %j", (ORIGIN) => {
    expect(listMistakes({ ORIGIN })).toEqual([
      `ORIGIN is ${JSON.stringify(ORIGIN)}; allowed: a service binding`,
    ]);
  });

  it.each([
    "",
    "api.example",
    "//api.example",
    "/v1",
    "ftp://api.example",
    "https:api.example",
    "https:/api.example",
    "https:///api.example",
    "https://",
    "https://api.example?",
    "https://api.example?x=1",
    "https://api.example#",
    "https://api.example/#x",
    " https://api.example",
    "https://api.example/a b",
    "https://api.exa\tmple",
    "https://api.example\\v1",
    "https://api.example/v1/../v2",
    "https://api.example/.",
    "https://api.example/a//b",
    "https://api.example/a%2Fb",
    "https://api.example/%2e%2e/b",
    "https://api.example:70000",
    "https://1.2.3.4.5",
    17,
    ["https://api.example"],
  ])("is refused at %j", (given) => {
    const mistakes = listMistakes({ ORIGIN_URL: given });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(
      `ORIGIN_URL is ${JSON.stringify(given)}; allowed: an absolute http or https URL`,
    );
  });

  it.each(["https://user@api.example", "https://user:pass@api.example/v1", "https://@api.example"])(
    "is refused with a user, whose name and password aren't told: %s",
    (given) => {
      const told = given.replace(/\/\/.*@/, "//(not shown)@");

      expect(listMistakes({ ORIGIN_URL: given })[0]).toMatch(`ORIGIN_URL is "${told}"; allowed: an absolute`);
    },
  );
});

describe("a sound variable", () => {
  it.each<[Env, Partial<Config["ledger"]>]>([
    [{ LEDGER_NAME: "ledger.example/orders" }, { name: "ledger.example/orders" }],
    [{ LEDGER_NAME: "a".repeat(128) }, { name: "a".repeat(128) }],
    [{ LEDGER_SHARDS: 1 }, { shards: 1 }],
    [{ LEDGER_SHARDS: 1_024 }, { shards: 1_024 }],
    [{ LEDGER_SHARDS: "16" }, { shards: 16 }],
    [{ LEDGER_SINKS: ["none"] }, { sinks: ["none"] }],
    [{ LEDGER_SINKS: '["stdout","d1"]' }, { sinks: ["stdout", "d1"] }],
    [
      {
        LEDGER_SINKS: ["d1", "stdout", "webhook"],
        LEDGER_WEBHOOK_URL: "https://siem.example/in?x=1",
        WEBHOOK_KEY: KEY,
      },
      { sinks: ["d1", "stdout", "webhook"], webhookUrl: "https://siem.example/in?x=1" },
    ],
    [{ LEDGER_RETENTION: "1d" }, { retentionMs: 86_400_000 }],
    [{ LEDGER_RETENTION: "3650d" }, { retentionMs: 3_650 * 86_400_000 }],
    [{ EFFECTS_TABLE: "open" }, { effectsTable: "open" }],
  ])("of the ledger is read: %j", (env, ledger) => {
    const { ledger: defaults } = load({});

    expect(load(env).ledger).toEqual({ ...defaults, ...ledger });
  });

  it.each<[Env, Partial<Config>]>([
    [{ OPERATORS_REQUIRED: 1 }, { operatorsRequired: 1 }],
    [{ OPERATORS_REQUIRED: "5" }, { operatorsRequired: 5 }],
    [{ PREFIX: "/internal/once.gate_v1-~" }, { prefix: "/internal/once.gate_v1-~" }],
    [{ CORS_ORIGINS: ["*"] }, { corsOrigins: ["*"] }],
    [{ CORS_ORIGINS: "[]" }, { corsOrigins: [] }],
    [
      { CORS_ORIGINS: '["https://app.example","http://localhost:5173"]' },
      { corsOrigins: ["https://app.example", "http://localhost:5173"] },
    ],
  ])("is read: %j", (env, config) => {
    expect(load(env)).toEqual({ ...load({}), ...config });
  });

  it("may be another binding that the gateway has no setting for", () => {
    expect(load({ DB: {}, WHATEVER: 1 })).toEqual(load({}));
  });

  it.each([
    [
      "ROUTES",
      [
        { match: "/a", window: "1h" },
        { match: "/b", quota: { new_keys_per_minute: 9 } },
      ],
    ],
    ["CORS_ORIGINS", ["https://app.example"]],
    ["LEDGER_SINKS", ["d1", "stdout"]],
    ["LEDGER_SHARDS", 8],
    ["OPERATORS_REQUIRED", 3],
  ])("%s means the same as JSON text", (name, value) => {
    expect(load({ [name]: JSON.stringify(value) })).toEqual(load({ [name]: value }));
    expect(load({ [name]: value })).not.toEqual(load({}));
  });
});

describe("a mistaken variable", () => {
  it.each<[string, unknown, string]>([
    ["ROUTES", [], "ROUTES is []; allowed: a list of 1 to 100 tables, or the same as JSON text"],
    ["ROUTES", {}, "ROUTES is {}; allowed: a list of"],
    ["ROUTES", "[{", 'ROUTES is "[{"; allowed: a list of'],
    ["ROUTES", '"x"', 'ROUTES is "\\"x\\""; allowed: a list of'],
    ["ROUTES", '[{"key":1}]', 'ROUTES[0].key is 1; allowed: "required"'],
    ["ROUTES", '[{"key":"off","key":"required"}]', 'ROUTES[0].key is "required"; allowed: each member once'],
    [
      "ROUTES",
      '[{"probe":{"url":"/a","url":"/a"}}]',
      'ROUTES[0].probe.url is "/a"; allowed: each member once',
    ],
    ["LEDGER_NAME", "", 'LEDGER_NAME is ""; allowed: 1 to 128 letters'],
    ["LEDGER_NAME", "a".repeat(129), "allowed: 1 to 128 letters"],
    ["LEDGER_NAME", "a b", 'LEDGER_NAME is "a b"; allowed: 1 to 128 letters'],
    ["LEDGER_NAME", "a+b", 'LEDGER_NAME is "a+b"; allowed: 1 to 128 letters'],
    ["LEDGER_NAME", "a/", 'LEDGER_NAME is "a/"; allowed: 1 to 128 letters'],
    ["LEDGER_SHARDS", 0, "LEDGER_SHARDS is 0; allowed: a power of two from 1 to 1024"],
    ["LEDGER_SHARDS", 3, "LEDGER_SHARDS is 3; allowed: a power of two"],
    ["LEDGER_SHARDS", 2_048, "LEDGER_SHARDS is 2048; allowed: a power of two"],
    ["LEDGER_SHARDS", "6", 'LEDGER_SHARDS is "6"; allowed: a power of two'],
    ["LEDGER_SHARDS", "four", 'LEDGER_SHARDS is "four"; allowed: a power of two'],
    ["LEDGER_SHARDS", " 4", 'LEDGER_SHARDS is " 4"; allowed: a power of two'],
    ["LEDGER_SINKS", [], "LEDGER_SINKS is []; allowed: a list of"],
    ["LEDGER_SINKS", "d1", 'LEDGER_SINKS is "d1"; allowed: a list of "d1" or "stdout" or'],
    ["LEDGER_SINKS", ["d1", "none"], 'LEDGER_SINKS is ["d1","none"]; allowed: a list of'],
    ["LEDGER_SINKS", ["d1", "kafka"], 'LEDGER_SINKS[1] is "kafka"; allowed: a list of'],
    ["LEDGER_SINKS", ["d1", "d1"], 'LEDGER_SINKS[1] is "d1"; allowed: a list of'],
    ["LEDGER_WEBHOOK_URL", "http://siem.example", 'is "http://siem.example"; allowed: an absolute https URL'],
    ["LEDGER_WEBHOOK_URL", "https://u:p@siem.example", 'is "https://(not shown)@siem.example"; allowed: an'],
    ["LEDGER_RETENTION", "23h", 'LEDGER_RETENTION is "23h"; allowed: a duration from "1d" to "3650d"'],
    ["LEDGER_RETENTION", "3651d", 'LEDGER_RETENTION is "3651d"; allowed: a duration'],
    ["LEDGER_RETENTION", 90, "LEDGER_RETENTION is 90; allowed: a duration"],
    ["EFFECTS_TABLE", "none", 'EFFECTS_TABLE is "none"; allowed: "all" or "open"'],
    ["OPERATORS_REQUIRED", 0, "OPERATORS_REQUIRED is 0; allowed: a whole number from 1 to 5"],
    ["OPERATORS_REQUIRED", 6, "OPERATORS_REQUIRED is 6; allowed: a whole number"],
    ["OPERATORS_REQUIRED", 1.5, "OPERATORS_REQUIRED is 1.5; allowed: a whole number"],
    ["OPERATORS_REQUIRED", "two", 'OPERATORS_REQUIRED is "two"; allowed: a whole number'],
    ["PREFIX", "/", 'PREFIX is "/"; allowed: a path of plain segments'],
    ["PREFIX", "", 'PREFIX is ""; allowed: a path'],
    ["PREFIX", "_oncegate", 'PREFIX is "_oncegate"; allowed: a path'],
    ["PREFIX", "/_oncegate/", 'PREFIX is "/_oncegate/"; allowed: a path'],
    ["PREFIX", "/a//b", 'PREFIX is "/a//b"; allowed: a path'],
    ["PREFIX", "/../a", 'PREFIX is "/../a"; allowed: a path'],
    ["PREFIX", "/a%20b", 'PREFIX is "/a%20b"; allowed: a path'],
    ["PREFIX", "/:a", 'PREFIX is "/:a"; allowed: a path'],
    ["CORS_ORIGINS", "https://app.example", 'is "https://app.example"; allowed: a list of origins'],
    ["CORS_ORIGINS", ["https://app.example/"], 'CORS_ORIGINS[0] is "https://app.example/"; allowed: a list'],
    ["CORS_ORIGINS", ["https://APP.example"], 'CORS_ORIGINS[0] is "https://APP.example"; allowed: a list'],
    ["CORS_ORIGINS", ["null"], 'CORS_ORIGINS[0] is "null"; allowed: a list'],
    ["CORS_ORIGINS", ["*", "https://app.example"], 'is ["*","https://app.example"]; allowed: a list'],
  ])("%s = %j is told in one line", (name, value, told) => {
    const mistakes = listMistakes({ [name]: value });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(name);
    expect(mistakes[0]).toContain(told);
  });

  it("is a webhook sink that lacks its URL and key", () => {
    expect(listMistakes({ LEDGER_SINKS: ["webhook"] }).toSorted()).toEqual([
      "LEDGER_WEBHOOK_URL is not given; allowed: an absolute https URL without user and fragment; " +
        'the sink "webhook" needs it',
      'WEBHOOK_KEY is not given; allowed: 16 to 256 bytes in base64; the sink "webhook" needs it',
    ]);
  });

  it("is the Worker's name where that can't name a ledger", () => {
    expect(loadConfig(MINIMAL, "no name")).toMatchObject({
      mistakes: [expect.stringMatching(/^LEDGER_NAME is not given, so the Worker's name; allowed: 1 to 128/)],
    });
  });

  it("is told together with all others, relations included", () => {
    const mistakes = listMistakes({
      ORIGIN_URL: undefined,
      ROUTES: [{ window: 1 }],
      LEDGER_SHARDS: 3,
      LEDGER_SINKS: ["webhook"],
      PREFIX: 1,
      SEALING_KEY: "x",
    });

    expect(mistakes.map((line) => line.split(" ")[0])).toEqual([
      "ROUTES[0].window",
      "LEDGER_SHARDS",
      "PREFIX",
      "SEALING_KEY",
      "ORIGIN_URL",
      "LEDGER_WEBHOOK_URL",
      "WEBHOOK_KEY",
    ]);
  });
});
