/**
 * What a deployer reads when a setting is wrong: one line with the field, the value as given and what is
 * allowed. The value of a secret is never part of it, nor is the name of a member that only a secret's text
 * contains.
 */

import { ROUTE_SETTINGS } from "./route/route-settings.ts";
import { type Setting, writeToml } from "./setting.ts";
import { OPERATOR_MEMBERS, SETTINGS } from "./settings.ts";
import { isTable } from "./shape.ts";

/** Where a value sits: the variable, then indexes and member names. */
export type ValuePlace = readonly (string | number)[];

/** What may be told about the value at a place. */
export type Showing = "value" | "size";

/** Longest value shown whole. */
const SHOWN_LENGTH = 160;

const VARIABLES: ReadonlyMap<string, Setting> = new Map(Object.entries(SETTINGS));
const ROUTES: ReadonlyMap<string, Setting> = new Map(Object.entries(ROUTE_SETTINGS));
/** `secret` is a member of a route's `principal`. */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([...Object.keys(OPERATOR_MEMBERS), "principal", "secret"]);

/**
 * One line, without a line break whatever the value holds. The place is followed into `given` as far as
 * somebody wrote it, so that `fingerprint = "xml"` is reported at `fingerprint` and not at a member that
 * nobody gave.
 */
export function writeMistake(given: unknown, place: ValuePlace, showing: Showing, allowed: string): string {
  const written = trimPlace(given, showing === "size" ? hideNames(place) : place);
  const value = findValue(given, written);
  return `${writePlace(written)} ${describeValue(value, written, showing)}; allowed: ${allowed}`;
}

/** The value at a place; undefined where there is none. */
export function findValue(given: unknown, place: ValuePlace): unknown {
  return place.reduce<unknown>(
    (value, step) => (isTable(value) || Array.isArray(value) ? Reflect.get(value, step) : undefined),
    given,
  );
}

function trimPlace(given: unknown, place: ValuePlace): ValuePlace {
  const depth = place.findIndex(
    (_, at) => at > 0 && typeof findValue(given, place.slice(0, at)) === "string",
  );
  return depth < 0 ? place : place.slice(0, depth);
}

/**
 * A member of a secret's table is named only if it is one we know: other names may be the secret, misplaced.
 */
function hideNames(place: ValuePlace): ValuePlace {
  const depth = place.findIndex((step, at) => at > 0 && typeof step === "string" && !KNOWN_MEMBERS.has(step));
  return depth < 0 ? place : place.slice(0, depth);
}

function describeValue(value: unknown, place: ValuePlace, showing: Showing): string {
  if (value === undefined) return `is not given${describeFallback(place)}`;
  if (showing === "value") return `is ${writeJson(value)}`;
  return typeof value === "string" ? `has ${value.length} characters (not shown)` : "is not text (not shown)";
}

/** What holds instead, for a setting that is wrong without having been given. */
function describeFallback([name = "", ...inner]: ValuePlace): string {
  const members = inner.filter((step) => typeof step === "string").join(".");
  const setting = name === "ROUTES" ? ROUTES.get(members) : VARIABLES.get(`${name}`);
  if (setting?.fallback.kind === "given") return `, so ${writeToml(setting.fallback.value)}`;
  return setting?.fallback.kind === "derived" ? `, so ${setting.fallback.shown.replaceAll("`", "")}` : "";
}

function writePlace(place: ValuePlace): string {
  return place
    .map((step, depth) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(step)) return `[${writeJson(step)}]`;
      return depth === 0 ? step : `.${step}`;
    })
    .join("");
}

function writeJson(value: unknown): string {
  const text = stringify(value).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value, hideSecret) ?? `a ${typeof value}`;
  } catch {
    // A loop, or a number JSON has no form for.
    return `a ${typeof value}`;
  }
}

/** Secrets pasted where the name of one belongs, and credentials pasted into a URL. */
function hideSecret(name: string, value: unknown): unknown {
  if (name === "secret") return "(not shown)";
  return typeof value === "string" ? value.replace(/\/\/[^/?#\s]*@/g, "//(not shown)@") : value;
}
