/** One setting as the lists hold it, and the words that defaults and bounds are written in. */

import type { Range } from "./bounds.ts";
import { writeDuration, writeSize } from "./units.ts";

/** A value as TOML variables and JSON text can hold it. */
export type Json = string | number | boolean | readonly Json[] | { readonly [member: string]: Json };

/** What holds when a setting is absent; `shown` is how the tables put it. */
export type Fallback =
  | { kind: "given"; value: Json; shown: string }
  | { kind: "derived"; shown: string }
  | { kind: "none"; shown: string }
  | { kind: "required"; shown: string };

/** `allowed` completes the sentence "allowed: …"; `meaning` is Markdown. */
export type Setting = { fallback: Fallback; allowed: string; meaning: string };

export const required: Fallback = { kind: "required", shown: "required" };

export function given(value: Json, shown = `\`${writeToml(value)}\``): Fallback {
  return { kind: "given", value, shown };
}

/** Absent means that the feature is off, or what `shown` says. */
export function none(shown = "none"): Fallback {
  return { kind: "none", shown };
}

/** Absent means a value that depends on other ones. */
export function derived(shown: string): Fallback {
  return { kind: "derived", shown };
}

export function allowDuration(range: Range): string {
  return `a duration from "${writeDuration(range.min)}" to "${writeDuration(range.max)}"`;
}

export function allowSize(range: Range): string {
  return `a size from "${writeSize(range.min)}" to "${writeSize(range.max)}"`;
}

export function allowWhole(range: Range): string {
  return `a whole number from ${span(range)}`;
}

/** Both ends of a range in words. */
export function span({ min, max }: Range): string {
  return `${min} to ${max}`;
}

export function allowOneOf(values: readonly string[]): string {
  return values.map((value) => `"${value}"`).join(" or ");
}

/** A value the way a deployer writes it in `wrangler.toml`. */
export function writeToml(value: Json): string {
  if (typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeToml).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${name} = ${writeToml(member)}`);
  return `{ ${members.join(", ")} }`;
}

function isList(value: readonly Json[] | { readonly [member: string]: Json }): value is readonly Json[] {
  return Array.isArray(value);
}
