/** How often each property is tried: `FUZZ_RUNS` and `FUZZ_PAIRS` in the environment make a run longer. */
import * as fc from "fast-check";

export const RUNS = readCount("FUZZ_RUNS", 500);
export const PAIRS = readCount("FUZZ_PAIRS", 500_000);

function readCount(name: string, otherwise: number): number {
  const count = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${name} is not a count`);
  return count;
}

export function hold<Values extends [unknown, ...unknown[]]>(property: fc.IProperty<Values>): void {
  void fc.assert(property, { numRuns: RUNS });
}

export async function holdAsync<Values extends [unknown, ...unknown[]]>(
  property: fc.IAsyncPropertyWithHooks<Values>,
): Promise<void> {
  await fc.assert(property, { numRuns: RUNS });
}

/** Texts out of a few pieces, so that near misses of a form are common. */
export function textOf(pieces: readonly string[], maxLength = 10): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...pieces), { maxLength }).map((parts) => parts.join(""));
}

type Change = { at: number; how: "insert" | "remove" | "replace" | "double" | "cut"; piece: string };

/** One sample with a few places changed: a piece put in, taken out, or doubled. */
export function mutated(samples: readonly string[], pieces: readonly string[]): fc.Arbitrary<string> {
  const change: fc.Arbitrary<Change> = fc.record({
    at: fc.nat(4_000),
    how: fc.constantFrom("insert", "remove", "replace", "double", "cut"),
    piece: fc.constantFrom(...pieces),
  });
  return fc
    .tuple(fc.constantFrom(...samples), fc.array(change, { maxLength: 3 }))
    .map(([sample, changes]) => changes.reduce(apply, sample));
}

function apply(text: string, { at, how, piece }: Change): string {
  const place = at % (text.length + 1);
  const [before, after] = [text.slice(0, place), text.slice(place)];
  switch (how) {
    case "insert":
      return before + piece + after;
    case "remove":
      return before + after.slice(1);
    case "replace":
      return before + piece + after.slice(1);
    case "double":
      return before + after.slice(0, 5) + after;
    case "cut":
      return before;
  }
}
