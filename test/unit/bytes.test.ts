import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeUtf8,
  encodeUtf8,
  fromBase64,
  fromBase64Url,
  fromHex,
  joinBytes,
  toBase64,
  toBase64Url,
  toHex,
  writeMessage,
} from "../../src/core/bytes.ts";

const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});
const anyPart = fc.oneof(fc.string({ maxLength: 3 }), fc.uint8Array({ maxLength: 3 }));

/** Reads a message back by its framing, written from the description and not from the code. */
function readMessage(message: Uint8Array): string[] {
  const buffer = Buffer.from(message);
  const parts: string[] = [];
  let at = 4;
  for (let left = buffer.readUInt32BE(0); left > 0; left -= 1) {
    const size = buffer.readUInt32BE(at);
    parts.push(buffer.subarray(at + 4, at + 4 + size).toString("hex"));
    at += 4 + size;
  }
  expect(at).toBe(buffer.length);
  return parts;
}

describe("writeMessage", () => {
  it("frames the number of parts, then each length and its bytes", () => {
    expect(toHex(writeMessage(["a", "", Uint8Array.of(255, 0)]))).toBe(
      "00000003" + "0000000161" + "00000000" + "00000002ff00",
    );
  });

  it.each([
    "a".repeat(63),
    "a".repeat(64),
    "a".repeat(65),
    `${"a".repeat(63)}\u00e9`,
    "\u00e9",
    "a\ud83d\ude00",
    `\ud800${"a".repeat(80)}`,
    "a\ud800",
  ])("writes the text %j as encodeUtf8 does", (text) => {
    const [read = ""] = readMessage(writeMessage([text, "next"]));

    expect(read).toBe(toHex(encodeUtf8(text)));
  });

  it("can be read back to exactly the parts that were given", () => {
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 6 }), (parts) => {
        const expected = parts.map((part) => Buffer.from(part).toString("hex"));
        expect(readMessage(writeMessage(parts))).toEqual(expected);
      }),
    );
  });

  it.each([
    [
      ["a", "b"],
      ["ab", ""],
    ],
    [
      ["a:b", "c"],
      ["a", "b:c"],
    ],
    [["a"], ["a", ""]],
    [[], [""]],
    [["\u0000"], ["\u0000\u0000"]],
    [["\ud800"], ["\ufffd"]],
    [["\ud800"], ["\ud801"]],
  ])("keeps %j and %j apart", (one, other) => {
    expect(toHex(writeMessage(one))).not.toBe(toHex(writeMessage(other)));
  });
});

describe("UTF-8", () => {
  it("is the usual encoding for well-formed text and comes back unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(toHex(encodeUtf8(text))).toBe(Buffer.from(text).toString("hex"));
        expect(decodeUtf8(encodeUtf8(text))).toBe(text);
      }),
    );
  });

  it("never gives two texts the same bytes, lone surrogates included", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        fc.pre(one !== other);
        expect(toHex(encodeUtf8(one))).not.toBe(toHex(encodeUtf8(other)));
      }),
    );
    expect(toHex(encodeUtf8("a\ud800b"))).toBe("61eda08062");
  });

  it.each(["ff", "c080", "eda080", "e282"])("refuses the bytes %s", (text) => {
    expect(decodeUtf8(Buffer.from(text, "hex"))).toBeNull();
  });

  it("keeps a byte order mark", () => {
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\ufeffa");
  });
});

describe("text forms of bytes", () => {
  it("agree with Node's and read back to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const buffer = Buffer.from(bytes);
        expect(toHex(bytes)).toBe(buffer.toString("hex"));
        expect(toBase64(bytes)).toBe(buffer.toString("base64"));
        expect(toBase64Url(bytes)).toBe(buffer.toString("base64url"));
        expect(fromHex(toHex(bytes))).toEqual(bytes);
        expect(fromBase64(toBase64(bytes))).toEqual(bytes);
        expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes);
      }),
    );
  });

  it.each(["a", "AA", "0g", " 00", "00\n"])("hex refuses %j", (text) => {
    expect(fromHex(text)).toBeNull();
  });

  it.each(["QQ", "QQ=", "QR==", "Q===", "QQ==\n", "-_-_", "QUJD RA=", "===="])(
    "base64 refuses %j",
    (text) => {
      expect(fromBase64(text)).toBeNull();
    },
  );

  it.each(["QQ==", "QR", "Q", "+/+/", "QQ\n"])("base64url refuses %j", (text) => {
    expect(fromBase64Url(text)).toBeNull();
  });

  it("joins arrays in order", () => {
    expect(joinBytes([Uint8Array.of(1), new Uint8Array(), Uint8Array.of(2, 3)])).toEqual(
      Uint8Array.of(1, 2, 3),
    );
  });
});
