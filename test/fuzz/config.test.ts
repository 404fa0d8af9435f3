// Aim: a setting's text has one reading or none.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { parseDuration, parseSize, writeDuration, writeSize } from "../../src/config/units.ts";
import {
  readBrowserOrigin,
  readHeaderName,
  readOriginUrl,
  readPointer,
  readTemplate,
} from "../../src/config/words.ts";
import { readPointerTokens } from "../../src/core/fingerprint/pointer.ts";
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

describe("settings", () => {
  const key = Buffer.alloc(32, 7).toString("base64");
  const route = {
    match: "/pay/*",
    key: "required",
    window: "1h",
    principal: { from: "jwt", secret: "S", issuer: "i", audience: "a" },
    probe: { url: "/e/{effect_id}", not_found: "none", max_origin_delay: "60s" },
  };
  const sound = {
    ORIGIN_URL: "https://api.example/v2",
    NAMING_KEY: key,
    SEALING_KEY: key,
    S: "a secret of more than thirty-two characters",
    ROUTES: [route],
    LEDGER_SHARDS: 4,
    LEDGER_SINKS: ["d1"],
    OPERATOR_TOKENS: [{ id: "op1", sha256: "a".repeat(64), roles: ["read"] }],
    CORS_ORIGINS: ["https://shop.example"],
  };
  const places = placesIn(sound);
  const junk = fc.oneof(
    fc.constantFrom<unknown[]>(
      undefined,
      null,
      "",
      0,
      -1,
      1.5,
      Number.NaN,
      [],
      {},
      true,
      "x\ny",
      "long ".repeat(999),
      "1h",
      "*",
      [null],
    ),
    fc.anything({ maxDepth: 2 }),
  );
  const changed = fc
    .array(fc.tuple(fc.constantFrom(...places), junk), { maxLength: 3 })
    .map((changes) => changes.reduce<unknown>((env, [place, value]) => put(env, place, value), sound));

  it("that are sound are, as values and as the JSON text of them", () => {
    expect(loadConfig(sound, "w")).toMatchObject({ kind: "sound" });
    const texts = { ...sound, ROUTES: JSON.stringify(sound.ROUTES), LEDGER_SHARDS: "4" };
    expect(loadConfig(texts, "w")).toEqual(loadConfig(sound, "w"));
  });

  it("are sound or have mistakes, one line each, of bounded length and without a secret in them", () => {
    hold(
      fc.property(changed, (env) => {
        const read = loadConfig(env as Readonly<Record<string, unknown>>, "w");
        if (read.kind === "sound") {
          const { ROUTES } = env as Readonly<Record<string, unknown>>;
          const asText = {
            ...(env as object),
            ROUTES: Array.isArray(ROUTES) ? JSON.stringify(ROUTES) : ROUTES,
          };
          expect(loadConfig(asText, "w")).toEqual(read);
          return;
        }
        expect(read.mistakes.length).toBeGreaterThan(0);
        for (const mistake of read.mistakes) {
          expect(mistake).not.toMatch(/[\r\n\u2028\u2029]/);
          expect(mistake.length).toBeLessThan(2_000);
          expect(mistake).not.toContain(key);
        }
      }),
    );
  });
});

type Path = readonly string[];

function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const below = Object.entries(value).flatMap(([name, member]) => placesIn(member, [...path, name]));
  return path.length === 0 ? below : [path, ...below];
}

/** A copy in which one place has another value; where there is no such place any more, the same. */
function put(target: unknown, [name = "", ...rest]: Path, value: unknown): unknown {
  if (typeof target !== "object" || target === null) return target;
  const copy: unknown = Array.isArray(target) ? [...target] : { ...target };
  const table = copy as Record<string, unknown>;
  table[name] = rest.length === 0 ? value : put(table[name], rest, value);
  return copy;
}
