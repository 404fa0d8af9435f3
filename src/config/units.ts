/**
 * Durations and sizes as a deployer writes them: a whole number and a unit, nothing between, before or after.
 * Anything else is refused, so that `30` is never silently seconds for one reader and milliseconds for
 * another.
 */

import { DAY, HOUR, KIB, MIB, MINUTE, SECOND } from "./bounds.ts";

/** Longest unit first, so that writing a value finds the shortest text for it. */
const DURATION_UNITS: readonly Unit[] = [
  { name: "d", factor: DAY },
  { name: "h", factor: HOUR },
  { name: "m", factor: MINUTE },
  { name: "s", factor: SECOND },
  { name: "ms", factor: 1 },
];

const SIZE_UNITS: readonly Unit[] = [
  { name: "MiB", factor: MIB },
  { name: "KiB", factor: KIB },
  { name: "B", factor: 1 },
];

type Unit = { readonly name: string; readonly factor: number };

/** Milliseconds of `"250ms"`, `"30s"`, `"5m"`, `"24h"`, `"30d"`; null when it is not such a text. */
export function parseDuration(given: unknown): number | null {
  return parseAmount(given, DURATION_UNITS);
}

/** Bytes of `"512B"`, `"64KiB"`, `"8MiB"`; null when it is not such a text. */
export function parseSize(given: unknown): number | null {
  return parseAmount(given, SIZE_UNITS);
}

/** The shortest text that `parseDuration` reads as these milliseconds. */
export function writeDuration(milliseconds: number): string {
  return milliseconds === 0 ? "0s" : writeAmount(milliseconds, DURATION_UNITS);
}

/** The shortest text that `parseSize` reads as these bytes. */
export function writeSize(bytes: number): string {
  return bytes === 0 ? "0B" : writeAmount(bytes, SIZE_UNITS);
}

function parseAmount(given: unknown, units: readonly Unit[]): number | null {
  if (typeof given !== "string") return null;
  const [, digits, name] = /^(0|[1-9][0-9]*)([A-Za-z]+)$/.exec(given) ?? [];
  const unit = units.find((known) => known.name === name);
  if (unit === undefined) return null;
  const amount = Number(digits) * unit.factor;
  return Number.isSafeInteger(amount) ? amount : null;
}

function writeAmount(amount: number, units: readonly Unit[]): string {
  for (const { name, factor } of units) if (amount % factor === 0) return `${amount / factor}${name}`;
  return `${amount}`;
}
