// Aim: one line says what is wrong with a field of a route. Method: a row past each limit, of each wrong type
// and for each relation, read inside an otherwise minimal environment.

import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";

const KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: KEY, SEALING_KEY: KEY };
const JWT = {
  from: "jwt",
  jwks_url: "https://id.example/jwks",
  issuer: "https://id.example",
  audience: "api",
};

type Table = Record<string, unknown>;

function listMistakes(route: unknown, env: Table = {}): readonly string[] {
  const loaded = loadConfig({ ...MINIMAL, ...env, ROUTES: [{ match: "/first" }, route] }, "gateway");
  return loaded.kind === "sound" ? [] : loaded.mistakes;
}

describe("a mistaken route", () => {
  it.each<[string, unknown, string]>([
    ["match", "orders", '"orders"; allowed: a URLPattern pathname that starts with "/"'],
    ["match", "/(", '"/("; allowed: a URLPattern pathname'],
    ["match", 1, "1; allowed: a URLPattern pathname"],
    ["methods", [], '[]; allowed: a list of "POST" or'],
    ["methods", "POST", '"POST"; allowed: a list of "POST" or'],
    ["methods[0]", ["GET"], '"GET"; allowed: a list of "POST" or'],
    [
      "methods[1]",
      ["PUT", "PUT"],
      '"PUT"; allowed: a list of "POST" or "PUT" or "PATCH" or "DELETE", each once',
    ],
    ["id", "", '""; allowed: 1 to 64 letters'],
    ["id", "a".repeat(65), "; allowed: 1 to 64 letters"],
    ["id", "a/b", '"a/b"; allowed: 1 to 64 letters'],
    ["key", true, 'true; allowed: "required" or "optional" or "off"'],
    ["key_header", "Idempotency Key", '"Idempotency Key"; allowed: a header name'],
    ["key_header", "", '""; allowed: a header name'],
    ["key_header", "Host", '"Host"; allowed: a header name'],
    ["key_header", "content-length", '"content-length"; allowed: a header name'],
    ["key_header", "Connection", '"Connection"; allowed: a header name'],
    ["key_header", "Effect-Id", '"Effect-Id"; allowed: a header name'],
    ["key_header", "Authorization", '"Authorization"; allowed: a header name'],
    ["key_header", "Cookie", '"Cookie"; allowed: a header name'],
    ["key_length", [0, 255], "[0,255]; allowed: [least, most]"],
    ["key_length", [1, 256], "[1,256]; allowed: [least, most]"],
    ["key_length", [9, 8], "[9,8]; allowed: [least, most]"],
    ["key_length", [1], "[1]; allowed: [least, most]"],
    ["key_length", [1.5, 2], "[1.5,2]; allowed: [least, most]"],
    ["key_length", 16, "16; allowed: [least, most]"],
    ["anonymous", "allow", '"allow"; allowed: "refuse" or "share"'],
    ["authorize", "/check", '"/check"; allowed: an absolute http or https URL'],
    ["authorize", "ftp://a.example", '"ftp://a.example"; allowed: an absolute http or https URL'],
    ["authorize", "https://a.example/#x", '"https://a.example/#x"; allowed: an absolute'],
    ["fingerprint", "xml", '"xml"; allowed: "raw" or "json"'],
    ["fingerprint", 1, '1; allowed: "raw" or "json", or a table'],
    ["fingerprint", ["raw"], '["raw"]; allowed: "raw" or "json", or a table'],
    ["fingerprint.body", { body: "text" }, '"text"; allowed: "raw" or "json"'],
    ["fingerprint.ignore", { ignore: ["/id"] }, '["/id"]; allowed: a list of up to 32 JSON pointers'],
    ["fingerprint.ignore[0]", { body: "json", ignore: ["id"] }, '"id"; allowed: a list of up to 32'],
    ["fingerprint.ignore[0]", { body: "json", ignore: ["/~2"] }, '"/~2"; allowed: a list of up to 32'],
    ["fingerprint.headers[0]", { headers: ["a:b"] }, '"a:b"; allowed: a list of up to 16 header names'],
    ["fingerprint.bodies", { bodies: "raw" }, '"raw"; allowed: only the members of fingerprint: body,'],
    ["window", "999ms", '"999ms"; allowed: a duration from "1s" to "30d"'],
    ["window", "31d", '"31d"; allowed: a duration from "1s" to "30d"'],
    ["window", 86_400, '86400; allowed: a duration from "1s" to "30d"'],
    ["window", null, 'null; allowed: a duration from "1s" to "30d"'],
    ["quarantine", "721h", '"721h"; allowed: a duration from "0s" to "30d"'],
    ["origin_timeout", "9ms", '"9ms"; allowed: a duration from "10ms" to "15m", at most max_execution'],
    ["origin_timeout", "6m", '"6m"; allowed: a duration from "10ms" to "15m", at most max_execution'],
    ["max_execution", "901s", '"901s"; allowed: a duration from "10ms" to "15m"'],
    ["request_max", "0B", '"0B"; allowed: a size from "1B" to "16MiB"'],
    ["request_max", "17MiB", '"17MiB"; allowed: a size from "1B" to "16MiB"'],
    ["request_max", 1024, '1024; allowed: a size from "1B" to "16MiB"'],
    ["response_max", "33MiB", '"33MiB"; allowed: a size from "1B" to "32MiB"'],
    ["response_max", "8MB", '"8MB"; allowed: a size'],
    ["wait_max", "61s", '"61s"; allowed: a duration from "0s" to "1m"'],
    ["executor", "cron", '"cron"; allowed: "object" or "worker"'],
    ["on_crash", "retry", '"retry"; allowed: "hold" or "retry"; "retry" only with origin_key set'],
    ["on_crash", "ask", '"ask"; allowed: "hold" or "retry"'],
    ["origin_key", "plain", '"plain"; allowed: "none" or "derived" or "raw"'],
    ["origin_key_header", "Authorization", '"Authorization"; allowed: a header name'],
    ["release_statuses[0]", [399], "399; allowed: a list of up to 64 statuses from 400 to 599"],
    ["release_statuses[0]", [600], "600; allowed: a list of up to 64 statuses"],
    ["release_statuses[0]", ["429"], '"429"; allowed: a list of up to 64 statuses'],
    ["release_statuses[1]", [429, 429], "429; allowed: a list of up to 64 statuses"],
    ...[502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530].map((status): [string, unknown, string] => [
      "release_statuses[0]",
      [status],
      `${status}; allowed: a list of up to 64 statuses from 400 to 599, none of 502, 504, 520 to 527 and 530`,
    ]),
    ["probe", "/effects", '"/effects"; allowed: a table of url'],
    ["probe.url", {}, "not given; allowed: a path that starts"],
    ["probe.url", { url: "effects" }, '"effects"; allowed: a path that starts'],
    ["probe.url", { url: "//other.example" }, '"//other.example"; allowed: a path that starts'],
    ["probe.url", { url: "/{key}" }, '"/{key}"; allowed: a path that starts'],
    ["probe.url", { url: "/a/../b" }, '"/a/../b"; allowed: a path that starts'],
    ["probe.url", { url: "/a%2Fb" }, '"/a%2Fb"; allowed: a path that starts'],
    ["probe.url", { url: "/a#b" }, '"/a#b"; allowed: a path that starts'],
    ["probe.seal_url", { url: "/a", seal_url: "/a\\b" }, '"/a\\\\b"; allowed: a path that starts'],
    ["probe.not_found", { url: "/a", not_found: "gone" }, '"gone"; allowed: "none" or "unknown"'],
    ["probe.max_origin_delay", { url: "/a", max_origin_delay: "25h" }, '"25h"; allowed: a duration'],
    ["probe.uri", { url: "/a", uri: "/b" }, '"/b"; allowed: only the members of probe: url, seal_url,'],
    ["replay_cookies", "yes", '"yes"; allowed: true or false'],
    ["redact[0]", [""], '""; allowed: a list of up to 32 JSON pointers'],
    ["seal_with_key", 1, "1; allowed: true or false"],
    ["quota", 60, "60; allowed: a table of new_keys_per_minute"],
    ["quota.new_keys_per_minute", {}, "not given; allowed: a whole number from 1 to 1000000"],
    ["quota.new_keys_per_minute", { new_keys_per_minute: 0 }, "0; allowed: a whole number"],
    ["quota.new_keys_per_minute", { new_keys_per_minute: 1_000_001 }, "1000001; allowed: a whole number"],
    ["audit", "on", '"on"; allowed: "eager" or "durable" or "off"'],
    ["profile", "stripe", '"stripe"; allowed: "ietf"'],
    ["windw", "24h", '"24h"; allowed: only the members of a route: match, methods,'],
  ])("is told %s at %j", (field, value, told) => {
    const name = /^[a-z_]+/.exec(field)?.[0] ?? "";

    const mistakes = listMistakes({ [name]: value });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(`ROUTES[1].${field} is `);
    expect(mistakes[0]).toContain(told);
  });

  it.each<[string, unknown, string]>([
    ["principal", "mtls", '"mtls"; allowed: a table whose from is "credential"'],
    ["principal", [], "[]; allowed: a table whose from is"],
    ["principal.from", {}, 'not given; allowed: "credential" or'],
    ["principal.from", { from: "ip" }, '"ip"; allowed: "credential" or'],
    ["principal.headers", { from: "credential", headers: [] }, "[]; allowed: a list of 1 to 8"],
    ["principal.headers[0]", { from: "credential", headers: ["Host"] }, '"Host"; allowed: a list'],
    ["principal.headers[1]", { from: "credential", headers: ["A", "a"] }, '"a"; allowed: a list'],
    ["principal.name", { from: "header" }, "not given; allowed: for header: a header name"],
    ["principal.name", { from: "header", name: "connection" }, '"connection"; allowed: for header'],
    ["principal.name", { from: "cookie", name: "a=b" }, '"a=b"; allowed: for header'],
    [
      "principal.name",
      { from: "mtls", name: "x" },
      '"x"; allowed: only the members of a principal from "mtls"',
    ],
    ["principal.jwks_url", { ...JWT, jwks_url: "http://id.example" }, "allowed: an https URL"],
    ["principal.jwks_url", { ...JWT, jwks_url: undefined }, "not given; allowed: an https URL"],
    ["principal.jwks_url", { ...JWT, secret: "JWT_KEY" }, "exactly one of jwks_url and secret"],
    ["principal.jwks_url", { ...JWT, jwks_url: "http://localhost.example" }, "allowed: an https URL"],
    [
      "principal.jwks_url",
      { ...JWT, jwks_url: "https://u:p@id.example" },
      '"https://(not shown)@id.example"',
    ],
    ["principal.issuer", { ...JWT, issuer: undefined }, "not given; allowed: text of 1 to 512"],
    ["principal.audience", { ...JWT, audience: ["a"] }, '["a"]; allowed: text of 1 to 512'],
    ["principal.claims", { ...JWT, claims: [] }, "[]; allowed: a list of 1 to 8 claim names"],
    ["principal.claims[0]", { ...JWT, claims: ["a b"] }, '"a b"; allowed: a list of 1 to 8 claim names'],
  ])("is told %s at %j", (field, principal, told) => {
    const mistakes = listMistakes({ principal }, { JWT_KEY: "k".repeat(32) });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(`ROUTES[1].${field} is `);
    expect(mistakes[0]).toContain(told);
  });

  it.each([
    ["names no variable", "JWT_KEY", {}, "has 7 characters (not shown)"],
    ["names a short secret", "JWT_KEY", { JWT_KEY: "k".repeat(31) }, 'is "JWT_KEY"'],
    ["names something that isn't text", "JWT_KEY", { JWT_KEY: { fetch() {} } }, 'is "JWT_KEY"'],
    ["names a secret of the gateway's own", "NAMING_KEY", {}, 'is "NAMING_KEY"'],
    ["names a variable of the gateway's own", "LEDGER_NAME", {}, "has 11 characters (not shown)"],
    ["is the secret itself", "hunter2-hunter2-hunter2-hunter2-", {}, "has 32 characters (not shown)"],
  ])("is told when principal.secret %s", (_, secret, env, told) => {
    const { jwks_url: __, ...rest } = JWT;

    expect(listMistakes({ principal: { ...rest, secret } }, env)).toEqual([
      `ROUTES[1].principal.secret ${told}; allowed: the name of a Worker secret, not one of the gateway's ` +
        "own, that holds at least 32 characters of text",
    ]);
  });

  it("is told when the key header is what the principal comes from", () => {
    const route = { key_header: "X-Id", principal: { from: "header", name: "x-id" } };

    expect(listMistakes(route)[0]).toMatch('ROUTES[1].key_header is "X-Id"; allowed: a header name');
  });

  it("is told the default that a given field doesn't go with", () => {
    expect(listMistakes({ max_execution: "10s" })).toEqual([
      'ROUTES[1].origin_timeout is not given, so "25s"; allowed: a duration from "10ms" to "15m", ' +
        "at most max_execution",
    ]);
  });

  it("is told every mistake at once, relations of sound fields included", () => {
    const mistakes = listMistakes({
      window: 1,
      quarantine: 2,
      wendow: 3,
      wondow: 4,
      on_crash: "retry",
      origin_timeout: "10m",
      fingerprint: { body: 5, ignore: 6 },
    });

    expect(mistakes.map((line) => line.split(" ")[0])).toEqual([
      "ROUTES[1].fingerprint.body",
      "ROUTES[1].fingerprint.ignore",
      "ROUTES[1].window",
      "ROUTES[1].quarantine",
      "ROUTES[1].wendow",
      "ROUTES[1].wondow",
      "ROUTES[1].origin_timeout",
      "ROUTES[1].on_crash",
    ]);
  });

  it.each([null, "x", 1, [], [[]]])("is not a route at all: %j", (route) => {
    expect(listMistakes(route)).toEqual([
      `ROUTES[1] is ${JSON.stringify(route)}; allowed: a table of route fields`,
    ]);
  });
});
