// Aim: a soak that finds nothing has looked. Method: figures of a gateway that keeps something, one of each kind.
import { describe, expect, it } from "vitest";
import { CACHE_BYTES_MAX } from "../../../src/core/limits.ts";
import { judgeSoak, type Rest, type SoakFigures } from "./judge-soak.ts";

const KEYS = 1_000;
const KIBIBYTE = 1_024;
const MEBIBYTE = 1_024 * KIBIBYTE;

const warm: Rest = {
  ...{ at: 60, megabytes: 150, descriptors: 58 },
  ...{ aliveBytes: 3 * MEBIBYTE, cachedBytes: MEBIBYTE, keys: KEYS },
};
const sound: SoakFigures = {
  first: { at: 0, megabytes: 94, descriptors: 60 },
  warm,
  last: { ...warm, at: 180, megabytes: 160, cachedBytes: 5 * MEBIBYTE, keys: 2 * KEYS },
  calls: 6 * KEYS,
  successes: 6 * KEYS,
  rowsLeft: 0,
};

const changed = (last: Partial<Rest>, rest: Partial<SoakFigures> = {}): SoakFigures => ({
  ...sound,
  ...rest,
  last: { ...sound.last, ...last },
});

const BAD: readonly [name: string, figures: SoakFigures, text: RegExp][] = [
  ["half a KiB of every key", changed({ aliveBytes: warm.aliveBytes + KEYS * 520 }), /bytes more are alive/],
  [
    "more answers than its memory may hold",
    changed({ cachedBytes: CACHE_BYTES_MAX + 1 }),
    /of answers are kept/,
  ],
  ["memory that is not its heap's", changed({ megabytes: warm.megabytes + 40 }), /MB more are resident/],
  ["descriptors", changed({ descriptors: 101 }), /descriptors are left/],
  ["rows", changed({}, { rowsLeft: 1 }), /rows are left/],
];

describe("a soak", () => {
  it("accepts a gateway that has only answers in its memory", () => {
    expect(judgeSoak(sound)).toEqual([]);
  });

  it.each(BAD)("finds %s", (_name, figures, text) => {
    expect(judgeSoak(figures)).toEqual([expect.stringMatching(text)]);
  });

  it.each([
    ["refuses its calls", changed({}, { successes: 5 * KEYS })],
    ["is called by nobody behind the warm-up", changed({ keys: KEYS })],
    ["can't be measured", changed({ aliveBytes: Number.NaN })],
  ])("shows nothing of a gateway that %s", (_name, figures) => {
    expect(judgeSoak(figures)).toHaveLength(1);
  });
});
