// Aim: a pause lasts until its end, and a clock that goes back doesn't make it longer.
import { describe, expect, it } from "vitest";
import { pausedUntil } from "../../src/core/pause.ts";

const NOW = 1_000_000;
const LONGEST_MS = 60_000;

describe("a pause", () => {
  it.each([
    ["that is over stays over", NOW - 1, NOW - 1],
    ["that ends now is over", NOW, NOW],
    ["that has begun goes on", NOW + 1, NOW + 1],
    ["as long as any goes on", NOW + LONGEST_MS, NOW + LONGEST_MS],
    ["longer than any is over", NOW + LONGEST_MS + 1, NOW],
    ["of a clock that was years ahead is over", Number.MAX_SAFE_INTEGER, NOW],
  ])("%s", (_what, written, until) => {
    expect(pausedUntil(written, NOW, LONGEST_MS)).toBe(until);
  });
});
