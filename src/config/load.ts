/** Variables and secrets → `Config`, checked as a whole. Reads what it is given; never throws, never logs. */

import * as v from "valibot";
import { readStrictJson } from "../core/fingerprint/json.ts";
import type { Config, OriginAddress } from "../core/policy.ts";
import * as bounds from "./bounds.ts";
import { findValue, type Showing, type ValuePlace, writeMistake } from "./mistake.ts";
import { readRoute, readRouteId } from "./route/route.ts";
import { makeSecrets, secretEntries, splitKeys } from "./secrets.ts";
import { EFFECT_TABLES, REQUEST_LOGS, SECRETS, SETTINGS as SET, SINKS } from "./settings.ts";
import * as shape from "./shape.ts";
import { entry, isWhole, list, maybe, oneOf, read, type Variables } from "./shape.ts";
import * as words from "./words.ts";

/** `mistakes`: one line each, with the field, the value as given (never a secret's) and what is allowed. */
export type LoadedConfig =
  | { kind: "sound"; config: Config }
  | { kind: "misconfigured"; mistakes: readonly string[] };

/** Variables that may be lists as JSON text. */
const JSON_TEXTS = ["ROUTES", "CORS_ORIGINS", "LEDGER_SINKS", "SEALING_KEYS", "OPERATOR_TOKENS"] as const;
const BINDING = "a service binding";
const ROUTE_TABLE = "a table of route fields";

/**
 * The configuration of a Worker called `workerName`, with every default filled in, or all mistakes found in
 * it. Lists and numbers may also be given as JSON text, because `--var` on the command line gives text only.
 */
export function loadConfig(env: Variables, workerName: string): LoadedConfig {
  const given = { ...env, ...decodeTexts(env) };
  const result = v.safeParse(configSchema(env, workerName), given);
  const mistakes = [
    ...(result.issues ?? []).map((issue) => describeIssue(issue, env, given)),
    ...findRepeatedIds(given),
    ...findRepeatedMembers(env, given),
  ];
  if (!result.success || mistakes.length > 0)
    return { kind: "misconfigured", mistakes: [...new Set(mistakes)] };
  return { kind: "sound", config: result.output };
}

function configSchema(env: Variables, workerName: string) {
  return v.pipe(
    v.object({ ...variableEntries(env, workerName), ...secretEntries }),
    v.forward(
      v.partialCheck(
        [["ORIGIN"], ["ORIGIN_URL"]],
        (given) => given.ORIGIN !== undefined || given.ORIGIN_URL !== undefined,
        SET.ORIGIN_URL.allowed,
      ),
      ["ORIGIN_URL"],
    ),
    v.forward(
      v.partialCheck(
        [["LEDGER_SINKS"], ["LEDGER_WEBHOOK_URL"]],
        (given) => !given.LEDGER_SINKS.includes("webhook") || given.LEDGER_WEBHOOK_URL !== undefined,
        SET.LEDGER_WEBHOOK_URL.allowed,
      ),
      ["LEDGER_WEBHOOK_URL"],
    ),
    v.forward(
      v.partialCheck(
        [["LEDGER_SINKS"], ["WEBHOOK_KEY"]],
        (given) => !given.LEDGER_SINKS.includes("webhook") || given.WEBHOOK_KEY !== undefined,
        SECRETS.WEBHOOK_KEY.allowed,
      ),
      ["WEBHOOK_KEY"],
    ),
    v.transform(
      (given): Config => ({
        origin: pickOrigin(given.ORIGIN !== undefined, given.ORIGIN_URL),
        routes: given.ROUTES,
        logRequests: given.LOG_REQUESTS,
        prefix: given.PREFIX,
        corsOrigins: given.CORS_ORIGINS,
        ledger: {
          name: given.LEDGER_NAME,
          shards: given.LEDGER_SHARDS,
          sinks: given.LEDGER_SINKS,
          webhookUrl: given.LEDGER_WEBHOOK_URL ?? null,
          retentionMs: given.LEDGER_RETENTION,
          effectsTable: given.EFFECTS_TABLE,
        },
        operatorsRequired: given.OPERATORS_REQUIRED,
        secrets: makeSecrets(given),
      }),
    ),
  );
}

function variableEntries(env: Variables, workerName: string) {
  const name = shape.text(bounds.LEDGER_NAME_LENGTH, /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/);
  const route: shape.Reader<Config["routes"][number]> = () => readRoute(env)(ROUTE_TABLE);
  return {
    ORIGIN: v.optional(read((given) => (isBinding(given) ? true : null))(BINDING)),
    ORIGIN_URL: maybe(SET.ORIGIN_URL, read(words.readOriginUrl)),
    ROUTES: entry(SET.ROUTES, list(route, bounds.ROUTES)),
    LEDGER_NAME: v.optional(name(SET.LEDGER_NAME.allowed), workerName),
    LEDGER_SHARDS: entry(SET.LEDGER_SHARDS, read(readShards)),
    LEDGER_SINKS: entry(SET.LEDGER_SINKS, readSinks),
    LEDGER_WEBHOOK_URL: maybe(
      SET.LEDGER_WEBHOOK_URL,
      read((given) => words.readUrl(given, ["https:"])?.href ?? null),
    ),
    LEDGER_RETENTION: entry(SET.LEDGER_RETENTION, shape.duration(bounds.RETENTION_MS)),
    EFFECTS_TABLE: entry(SET.EFFECTS_TABLE, oneOf(EFFECT_TABLES)),
    OPERATORS_REQUIRED: entry(SET.OPERATORS_REQUIRED, shape.wholeNumber(bounds.OPERATORS_REQUIRED)),
    LOG_REQUESTS: entry(SET.LOG_REQUESTS, oneOf(REQUEST_LOGS)),
    PREFIX: entry(SET.PREFIX, read(words.readPrefix)),
    CORS_ORIGINS: entry(SET.CORS_ORIGINS, readCorsOrigins),
  };
}

function readSinks(allowed: string) {
  return v.pipe(
    v.unknown(),
    list(oneOf(SINKS), { min: 1, max: SINKS.length })(allowed),
    v.check((sinks) => sinks.length === 1 || !sinks.includes("none"), allowed),
  );
}

function readCorsOrigins(allowed: string) {
  const origin = read((given) => (given === "*" ? "*" : words.readBrowserOrigin(given)));
  return v.pipe(
    v.unknown(),
    list(origin, bounds.CORS_ORIGINS)(allowed),
    v.check((origins) => origins.length === 1 || !origins.includes("*"), allowed),
  );
}

function readShards(given: unknown): number | null {
  if (!isWhole(given) || given < bounds.LEDGER_SHARDS.min || given > bounds.LEDGER_SHARDS.max) return null;
  return Number.isInteger(Math.log2(given)) ? given : null;
}

function isBinding(given: unknown): boolean {
  return typeof given === "object" && given !== null && "fetch" in given && typeof given.fetch === "function";
}

function pickOrigin(bound: boolean, url: { base: string; prefix: string } | undefined): OriginAddress {
  if (bound || url === undefined) return { kind: "binding", prefix: url?.prefix ?? "" };
  return { kind: "url", base: url.base, prefix: url.prefix };
}

/**
 * Texts that stand for lists and numbers, decoded; a text that stands for nothing stays and is refused by its
 * reader.
 */
function decodeTexts(env: Variables): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const name of JSON_TEXTS) {
    const text = env[name];
    if (typeof text === "string") decoded[name] = decodeList(name, text);
  }
  for (const name of ["LEDGER_SHARDS", "OPERATORS_REQUIRED"]) {
    const text = env[name];
    if (typeof text === "string" && /^[0-9]{1,9}$/.test(text)) decoded[name] = Number(text);
  }
  return decoded;
}

function decodeList(name: string, text: string): unknown {
  if (name === "SEALING_KEYS" && !text.startsWith("[")) return splitKeys(text);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A text with a member that is there twice is decoded all the same, so that what else is wrong with it is found, too. */
function findRepeatedMembers(env: Variables, given: Variables): string[] {
  return JSON_TEXTS.flatMap((name) => {
    const text = env[name];
    const reading = typeof text === "string" ? readStrictJson(text) : null;
    if (reading?.kind !== "twice") return [];
    const place = [name, ...reading.path];
    return [writeMistake(given, place, pickShowing(place, given), "each member once")];
  });
}

/** The second of two routes with one id would share the first one's keys. */
function findRepeatedIds(given: Variables): string[] {
  const { ROUTES } = given;
  const routes: readonly unknown[] = Array.isArray(ROUTES) ? ROUTES : [];
  const ids = routes.map(readRouteId);
  return ids.flatMap((id, at) => {
    const first = ids.indexOf(id);
    if (id === null || first === at) return [];
    const allowed = `an id that no other route has (ROUTES[${first}] has "${id}" too)`;
    return [writeMistake(given, ["ROUTES", at, "id"], "value", allowed)];
  });
}

function describeIssue(issue: v.BaseIssue<unknown>, env: Variables, given: Variables): string {
  const place = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
  // A variable that is wrong as a whole is shown as it was given, not as its text was understood.
  return writeMistake(place.length === 1 ? env : given, place, pickShowing(place, given), issue.message);
}

/** `secret` holds the name of a secret; when no variable has that name, it may be the secret itself. */
function pickShowing(place: ValuePlace, given: Variables): Showing {
  if (`${place[0]}` in SECRETS) return "size";
  if (place.length !== 4 || place[2] !== "principal" || place[3] !== "secret") return "value";
  const name = findValue(given, place);
  return typeof name === "string" && Object.hasOwn(given, name) ? "value" : "size";
}
