// Aim: a setting's text has one reading or none.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDuration, parseSize, writeDuration, writeSize } from "../../src/config/units.ts";
import {
  readBrowserOrigin,
  readHeaderName,
  readOriginUrl,
  readPointer,
  readTemplate,
} from "../../src/config/words.ts";
import { readPointerTokens } from "../../src/core/fingerprint/pointer.ts";
import { readEffectsQuery } from "../../src/ledger/read/effects.ts";
import { hold, mutated, textOf } from "./runs.ts";

const amount = textOf(
  ["0", "1", "9", "ms", "s", "m", "h", "d", "B", "KiB", "MiB", "kb", " ", ".", "-", "+", "\n", "e"],
  5,
);
const MS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
const BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 * 1024 };

function recogniseAmount(text: string, units: Readonly<Record<string, number>>): number | null {
  const unit = Object.keys(units).find(
    (name) => text.endsWith(name) && /\d$/.test(text.slice(0, -name.length)),
  );
  const digits = unit === undefined ? "" : text.slice(0, -unit.length);
  if (unit === undefined || String(BigInt(/^\d+$/.test(digits) ? digits : 0)) !== digits) return null;
  return Number(digits) * (units[unit] ?? 0);
}

describe("an amount", () => {
  it("is read exactly where it is a whole number and a unit, and the text written of it is read as the same", () => {
    hold(
      fc.property(amount, (text) => {
        const [duration, size] = [parseDuration(text), parseSize(text)];
        expect(duration).toBe(recogniseAmount(text, MS));
        expect(size).toBe(recogniseAmount(text, BYTES));
        if (duration !== null) expect(parseDuration(writeDuration(duration))).toBe(duration);
        if (size !== null) expect(parseSize(writeSize(size))).toBe(size);
      }),
    );
  });
});

describe("a pointer", () => {
  it("is one for the settings exactly where it is one for bodies and points inside", () => {
    hold(
      fc.property(textOf(["/", "~", "~0", "~1", "a", "é", "\n", "0"], 6), (text) => {
        expect(readPointer(text) !== null).toBe(text !== "" && readPointerTokens(text) !== null);
      }),
    );
  });
});

describe("an address", () => {
  const pieces = ["/", "//", "..", ".", "?", "#", "@", ":", "\\", " ", "%2e", "%", "é", "\t", "http:", "x"];
  const address = mutated(["https://api.example/v2", "http://127.0.0.1:9000", "http://h/"], pieces);

  it("of an origin is called as it is written", () => {
    hold(
      fc.property(address, (text) => {
        const read = readOriginUrl(text);
        if (read === null) return;
        const url = new URL(`${read.base}${read.prefix}/pay?x=1`);
        expect(url.href).toBe(`${read.base}${read.prefix}/pay?x=1`);
        expect(url.username + url.password + url.hash).toBe("");
        expect(readOriginUrl(`${read.base}${read.prefix}`)).toEqual(read);
      }),
    );
  });

  it("of a browser is its origin", () => {
    hold(
      fc.property(address, (text) => {
        const read = readBrowserOrigin(text);
        if (read !== null) expect(new URL(read).origin).toBe(text);
      }),
    );
  });

  it("below the origin stays below it", () => {
    hold(
      fc.property(
        mutated(["/effects/{effect_id}", "/e/{attempt}/void?o={operation_id}"], ["{", "}", ...pieces]),
        (text) => {
          const read = readTemplate(text);
          if (read === null) return;
          const filled = read.replace(/\{\w+\}/g, "0");
          expect(new URL(`http://origin.test/v2${filled}`).href).toBe(`http://origin.test/v2${filled}`);
        },
      ),
    );
  });
});

describe("a field's name", () => {
  it("is a token", () => {
    hold(
      fc.property(textOf(["a", "Z", "-", "_", "!", ":", " ", "é", "\n", "(", "0"], 5), (text) => {
        const isToken =
          text !== "" && [...text].every((c) => /[A-Za-z0-9]/.test(c) || "!#$%&'*+-.^_`|~".includes(c));
        expect(readHeaderName(text)).toBe(isToken ? text.toLowerCase() : null);
      }),
    );
  });
});

describe("a cursor", () => {
  const cursor = Buffer.from(JSON.stringify([1, "effect", "stream", 0])).toString("base64url");

  it("is a place or nothing, whatever comes", () => {
    hold(
      fc.property(
        fc.oneof(mutated([cursor], ["A", "=", "-", "W10", "bnVsbA"]), fc.base64String()),
        (text) => {
          const url = new URL("http://g/operator/effects");
          url.searchParams.set("after", text);
          const read = readEffectsQuery(url);
          if (read === null) return;
          const { changed_at, effect_id, stream, reported } = read.after;
          const said = JSON.parse(Buffer.from(text, "base64url").toString());
          expect(said.slice(0, 4)).toEqual([changed_at, effect_id, stream, reported]);
          expect(read.limit).toBe(100);
        },
      ),
    );
  });
});
