/**
 * The shapes settings are read with: valibot schemas whose every refusal says what is allowed, in the words
 * of the setting itself. A mistake never hides another one: each schema goes on after the first.
 */

import * as v from "valibot";
import type { Range } from "./bounds.ts";
import type { Setting } from "./setting.ts";
import { parseDuration, parseSize } from "./units.ts";

/** What the Worker was given: variables and secrets by their names, and bindings. */
export type Variables = Readonly<Record<string, unknown>>;

/** Reads anything, gives a `T` or refuses. */
export type Field<T> = v.GenericSchema<unknown, T>;

/** A field still without the text of its refusals. */
export type Reader<T> = (allowed: string) => Field<T>;

/** A setting with the default it has in the list; one without a default must be given. */
export function entry<T>(setting: Setting, reader: Reader<T>) {
  // null stands for "absent": every reader refuses it, with the setting's own words.
  const fallback = setting.fallback.kind === "given" ? setting.fallback.value : null;
  return v.optional(reader(setting.allowed), fallback);
}

/** A setting that may be absent; then it reads as undefined. */
export function maybe<T>(setting: Setting, reader: Reader<T>) {
  return v.optional(reader(setting.allowed));
}

/** What `convert` gives; null is a refusal. */
export function read<T>(convert: (given: unknown) => T | null): Reader<T> {
  return (allowed) =>
    v.pipe(
      v.unknown(),
      v.rawTransform<unknown, T>(({ dataset, addIssue, NEVER }) => {
        const value = convert(dataset.value);
        if (value !== null) return value;
        addIssue({ message: allowed });
        return NEVER;
      }),
    );
}

/** A table with these members and no others; `name` says what they are members of. */
export function table<Entries extends v.ObjectEntries>(entries: Entries, allowed: string, name: string) {
  const only = `only the members of ${name}: ${Object.keys(entries).join(", ")}`;
  return v.objectWithRest(entries, read<unknown>(() => null)(only), allowed);
}

/** A list of `item`, each at most once. */
export function list<T>(item: Reader<T>, length: Range): Reader<readonly T[]> {
  return (allowed) =>
    v.pipe(
      v.unknown(),
      v.array(item(allowed), allowed),
      v.minLength(length.min, allowed),
      v.maxLength(length.max, allowed),
      v.checkItems((value, at, all) => all.indexOf(value) === at, allowed),
    );
}

export function oneOf<const T extends string>(values: readonly T[]): Reader<T> {
  return (allowed) => v.picklist(values, allowed);
}

export function flag(): Reader<boolean> {
  return (allowed) => v.boolean(allowed);
}

export function wholeNumber(range: Range): Reader<number> {
  return read((given) => (isWhole(given) ? within(given, range) : null));
}

/** Milliseconds from text like `"30s"`. */
export function duration(range: Range): Reader<number> {
  return read((given) => within(parseDuration(given), range));
}

/** Bytes from text like `"8MiB"`. */
export function size(range: Range): Reader<number> {
  return read((given) => within(parseSize(given), range));
}

/** Text of a length that `pattern` matches; the pattern has `^` and `$`. */
export function text(length: Range, pattern: RegExp): Reader<string> {
  return read((given) => {
    if (typeof given !== "string" || within(given.length, length) === null) return null;
    return pattern.test(given) ? given : null;
  });
}

/** True for what TOML and JSON call a table or object. */
export function isTable(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

export function isWhole(given: unknown): given is number {
  return typeof given === "number" && Number.isSafeInteger(given);
}

function within(value: number | null, range: Range): number | null {
  return value !== null && value >= range.min && value <= range.max ? value : null;
}
