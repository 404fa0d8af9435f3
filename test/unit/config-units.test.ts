// Aim: one reading for every duration and size. Method: rows at the limits, and properties over what is
// written.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDuration, parseSize, writeDuration, writeSize } from "../../src/config/units.ts";

const NOT_AMOUNTS: readonly unknown[] = [
  "",
  "30",
  "s",
  " 30s",
  "30s ",
  "30 s",
  "30s\n",
  "1.5s",
  "-1s",
  "+1s",
  "1e3s",
  "030s",
  "0x1s",
  "1_000s",
  "1s500ms",
  "30S",
  "30sec",
  "٣s",
  "9007199254740992ms",
  "9007199254740992B",
  "99999999999999999999999d",
  30,
  Number.NaN,
  null,
  undefined,
  true,
  ["30s"],
  { s: 30 },
];

describe("parseDuration", () => {
  it.each([
    ["0ms", 0],
    ["0s", 0],
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["24h", 86_400_000],
    ["30d", 2_592_000_000],
    ["9007199254740991ms", Number.MAX_SAFE_INTEGER],
  ])("reads %s as %d milliseconds", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([...NOT_AMOUNTS, "1w", "1MiB", "1y"])("refuses %j", (given) => {
    expect(parseDuration(given)).toBeNull();
  });

  it("reads what writeDuration writes", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 12 }), (milliseconds) => {
        expect(parseDuration(writeDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});

describe("parseSize", () => {
  it.each([
    ["0B", 0],
    ["512B", 512],
    ["64KiB", 65_536],
    ["8MiB", 8_388_608],
  ])("reads %s as %d bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each([...NOT_AMOUNTS, "1KB", "1MB", "1GiB", "1mib", "1k", "30s"])("refuses %j", (given) => {
    expect(parseSize(given)).toBeNull();
  });

  it("reads what writeSize writes", () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 40 }), (bytes) => {
        expect(parseSize(writeSize(bytes))).toBe(bytes);
      }),
    );
  });
});

describe("writeDuration and writeSize", () => {
  it.each([
    [0, "0s"],
    [1, "1ms"],
    [1_500, "1500ms"],
    [60_000, "1m"],
    [86_400_000, "1d"],
    [90_000, "90s"],
  ])("writes %d milliseconds as %s", (milliseconds, text) => {
    expect(writeDuration(milliseconds)).toBe(text);
  });

  it.each([
    [0, "0B"],
    [1_025, "1025B"],
    [65_536, "64KiB"],
    [1_048_576, "1MiB"],
  ])("writes %d bytes as %s", (bytes, text) => {
    expect(writeSize(bytes)).toBe(text);
  });
});
