// Aim: digests of the simulation are SHA-256, also those that it remembers. Method: against Node's own, over inputs that fall on one place.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { digestOf, sha256 } from "./world/digest.ts";

const wanted = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** 300 bytes, of which one differs from those of any other number. */
function inputOf(number: number): Uint8Array {
  const bytes = new Uint8Array(300);
  bytes[number % bytes.length] = 1 + Math.floor(number / bytes.length);
  return bytes;
}

describe("a digest", () => {
  it.each([0, 1, 55, 56, 64, 300, 16_384, 40_000])("of %d bytes is the right one, twice", (size) => {
    const bytes = Uint8Array.from({ length: size }, (_, i) => i * 7);

    for (let time = 0; time < 2; time++) {
      expect(Buffer.from(sha256(bytes)).toString("hex")).toBe(wanted(bytes));
      expect(digestOf(bytes)).toBe(wanted(bytes));
    }
  });

  it("of an input that differs in any one byte is another one", () => {
    for (let number = 0; number < 900; number++) {
      const bytes = inputOf(number);
      expect(digestOf(bytes)).toBe(wanted(bytes));
    }
  });

  it("of parts is that of all of them in a row", () => {
    const parts = [Uint8Array.of(1, 2), new Uint8Array(), Uint8Array.of(3)];

    expect(Buffer.from(sha256(...parts)).toString("hex")).toBe(wanted(Uint8Array.of(1, 2, 3)));
    expect(digestOf(Uint8Array.of(1, 2, 3, 0))).toBe(wanted(Uint8Array.of(1, 2, 3, 0)));
  });

  it.each(["", "a", "é", "\u{1f600}", "x".repeat(20_000)])("of a text is that of its bytes", (text) => {
    expect(digestOf(text)).toBe(wanted(Buffer.from(text)));
  });
});
