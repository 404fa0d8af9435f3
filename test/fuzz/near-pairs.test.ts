// Aim: two requests have one fingerprint exactly where they say the same. `FUZZ_PAIRS=10000000` is the long form.
import { describe, expect, it } from "vitest";
import { fingerprintMessage } from "../../src/core/fingerprint/message.ts";
import { type Draw, drawFrom, makeJson, makeMultipart, makeRaw, type Sample } from "./near-pairs.ts";
import { PAIRS } from "./runs.ts";

const KINDS: readonly [string, (draw: Draw) => Sample][] = [
  ["raw", makeRaw],
  ["json", makeJson],
  ["multipart", makeMultipart],
];

/** What one fingerprint may stand for is compared within groups of this size: each pair in a group is one pair tried. */
const GROUP = 64;

/** The first two requests of a group that meet and should not, or don't and should. */
function findFault(make: (draw: Draw) => Sample, seed: number): string | null {
  const draw = drawFrom(seed);
  const meanings = new Map<string, string>();
  const messages = new Map<string, string>();
  for (let i = 0; i < GROUP; i += 1) {
    const { input, says } = make(draw);
    const message = Buffer.from(fingerprintMessage(input)).toString("latin1");
    const meaning = meanings.get(message) ?? says;
    if (meaning !== says) return `seed ${seed}: ${says} meets ${meaning}`;
    const known = messages.get(says) ?? message;
    if (known !== message) return `seed ${seed}: ${says} has two fingerprints`;
    meanings.set(message, says);
    messages.set(says, message);
  }
  return null;
}

describe.each(KINDS)("requests whose body counts as %s", (_kind, make) => {
  it("have one fingerprint exactly where they say the same", { timeout: 600_000 }, () => {
    const groups = Math.ceil(PAIRS / ((GROUP * (GROUP - 1)) / 2));
    const faults: string[] = [];
    for (let seed = 0; seed < groups && faults.length === 0; seed += 1) {
      const fault = findFault(make, seed);
      if (fault !== null) faults.push(fault);
    }
    expect(faults).toEqual([]);
  });

  it("are often the same, and often nearly so", () => {
    const draw = drawFrom(1);
    const all = Array.from({ length: 2_000 }, () => make(draw));
    const distinct = new Set(all.map(({ says }) => says)).size;
    const bodies = new Set(all.map(({ input }) => `${input.contentType}${Buffer.from(input.body)}`)).size;
    expect(distinct).toBeGreaterThan(100);
    expect(distinct).toBeLessThan(1_900);
    expect(bodies).toBeGreaterThan(100);
  });
});
