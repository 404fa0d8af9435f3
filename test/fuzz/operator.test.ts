// Aim: what operators send has one reading or none, and a page's cursor is one that was given out.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeCursor } from "../../src/core/operator/page.ts";
import { readKeyQuery, readResolution, readSample } from "../../src/core/operator/requests.ts";
import { readEffectsQuery } from "../../src/ledger/read/effects.ts";
import { hold, mutated } from "./runs.ts";

describe("a cursor", () => {
  const written = writeCursor([1, "effect", "stream", 0]);
  const place = fc.oneof(
    fc.tuple(fc.maxSafeInteger(), fc.string(), fc.string(), fc.constantFrom(0, 1)),
    fc.array(fc.oneof(fc.integer(), fc.string(), fc.constantFrom(0, 1, -0, 1.5, 1e300)), { maxLength: 5 }),
  );
  const cursor = fc.oneof(
    mutated([written], ["A", "=", "-", "W10", "bnVsbA", " "]),
    place.map((values) => writeCursor(values)),
    place.map((values) => writeCursor([...values, "more"])),
    place.map((values) => Buffer.from(JSON.stringify(values, null, 1)).toString("base64url")),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value, null, 1)).toString("base64url")),
    fc.base64String(),
  );

  /** A time, two names and a mark, in the one spelling of their JSON list. */
  function recognise(text: string): unknown[] | null {
    try {
      const said: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
      if (!Array.isArray(said) || Buffer.from(JSON.stringify(said)).toString("base64url") !== text)
        return null;
      const [at, effect, stream, mark] = said;
      const isPlace = Number.isSafeInteger(at) && typeof effect === "string" && typeof stream === "string";
      return said.length === 4 && isPlace && (mark === 0 || mark === 1) ? said : null;
    } catch {
      return null;
    }
  }

  it("is read exactly where it is one, as the place that it was written of", () => {
    hold(
      fc.property(cursor, (text) => {
        const url = new URL("http://g/operator/effects");
        url.searchParams.set("after", text);
        const after = readEffectsQuery(url)?.after;
        const read =
          after === undefined ? null : [after.changed_at, after.effect_id, after.stream, after.reported];
        expect(read).toEqual(recognise(text));
        if (after !== undefined)
          expect(writeCursor([after.changed_at, after.effect_id, after.stream, after.reported])).toBe(text);
      }),
    );
  });
});

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const has = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));
const isLine = (value: unknown): boolean =>
  typeof value === "string" &&
  value.length >= 1 &&
  [...value].length <= 200 &&
  value.isWellFormed() &&
  ![...value].some((c) => c < " " || (c >= "\u007f" && c <= "\u009f") || c === "\u2028" || c === "\u2029");

const texts = fc.constantFrom<unknown[]>(
  "x",
  "",
  "a b",
  "é",
  "a\nb",
  "\ud800",
  "\u2028",
  "y".repeat(200),
  "y".repeat(201),
  1,
  null,
);

describe("a key to be found", () => {
  const query = fc.record(
    {
      route: texts,
      key: texts,
      principal: fc.constantFrom<unknown[]>(
        null,
        "t",
        {},
        { Authorization: "Bearer a" },
        { n: 1 },
        { n: null },
        [],
        1,
      ),
      other: texts,
    },
    { requiredKeys: [] },
  );

  it("is read exactly where it names route, key and values of a principal, and nothing else", () => {
    hold(
      fc.property(
        fc.oneof(
          query,
          query.map(({ other, ...rest }) => rest),
          fc.jsonValue(),
        ),
        (given) => {
          const read = readKeyQuery(given);
          const isPrincipal = (value: unknown) =>
            value === undefined ||
            value === null ||
            typeof value === "string" ||
            (isMap(value) &&
              Object.values(value).every((each) => typeof each === "string" || typeof each === "number"));
          const isOne =
            isMap(given) &&
            has(given, ["route", "principal", "key"]) &&
            typeof given.route === "string" &&
            typeof given.key === "string" &&
            isPrincipal(given.principal);
          expect(read.kind).toBe(isOne ? "query" : "refused");
          if (read.kind !== "query") return;
          const { kind, ...printed } = read;
          expect(readKeyQuery(JSON.parse(JSON.stringify(printed)))).toEqual(read);
        },
      ),
    );
  });
});

describe("a word on an effect", () => {
  const word = fc.record(
    {
      effect_id: fc.constantFrom<unknown[]>("e1", "", "a b", "x".repeat(64), "x".repeat(65), 1),
      outcome: fc.constantFrom<unknown[]>("committed", "not-committed", "none", null),
      reason: texts,
      evidence: texts,
      answer: fc.constantFrom<unknown[]>(
        { status: 201 },
        { status: 201, body: "{}" },
        { status: 99 },
        { status: 201, x: 1 },
        null,
      ),
    },
    { requiredKeys: ["effect_id", "outcome", "reason", "evidence"] },
  );

  it("is read exactly where each member is what it has to be, and read again it is the same", () => {
    hold(
      fc.property(fc.oneof(word, fc.jsonValue()), (given) => {
        const read = readResolution(given);
        const isAnswer = (value: unknown) => isMap(value) && value.status === 201 && !("x" in value);
        const isOne =
          isMap(given) &&
          has(given, ["effect_id", "outcome", "answer", "reason", "evidence"]) &&
          typeof given.effect_id === "string" &&
          /^[!-~]{1,64}$/.test(given.effect_id) &&
          ["committed", "not-committed"].includes(String(given.outcome)) &&
          isLine(given.reason) &&
          isLine(given.evidence) &&
          (given.answer === undefined || (given.outcome === "committed" && isAnswer(given.answer)));
        expect(read.kind).toBe(isOne ? "resolution" : "refused");
        if (read.kind === "resolution")
          expect(readResolution(JSON.parse(JSON.stringify(given)))).toEqual(read);
      }),
    );
  });
});

describe("a request that is not made", () => {
  const request = fc.record(
    {
      method: fc.constantFrom<unknown[]>("POST", "X", "post", "", "M".repeat(17), 1),
      target: fc.constantFrom<unknown[]>("/a", "a", "", "//b", 1),
      headers: fc.constantFrom<unknown[]>([], [["a", "b"]], [["a", "\n"]], [["a"]], {}, null),
      body: fc.constantFrom<unknown[]>("", "{}", "é", "\ud800", 1),
      body_base64: fc.constantFrom<unknown[]>("", "e30=", "e30", 1),
    },
    { requiredKeys: ["method", "target"] },
  );

  it("is read exactly where each member is what it has to be, and read again it is the same", () => {
    hold(
      fc.property(request, (given) => {
        const read = readSample({ request: given });
        const {
          method,
          target,
          headers,
          body,
          body_base64: encoded,
        } = given as Readonly<Record<string, unknown>>;
        const isHeaders =
          headers === undefined ||
          JSON.stringify(headers) === "[]" ||
          JSON.stringify(headers) === '[["a","b"]]';
        const isOne =
          (method === "POST" || method === "X") &&
          typeof target === "string" &&
          target.startsWith("/") &&
          isHeaders &&
          (body === undefined || (typeof body === "string" && body.isWellFormed())) &&
          (encoded === undefined || (body === undefined && (encoded === "" || encoded === "e30=")));
        expect(read.kind).toBe(isOne ? "sample" : "refused");
        if (read.kind !== "sample") return;
        const printed = {
          ...read,
          kind: undefined,
          body: undefined,
          body_base64: Buffer.from(read.body).toString("base64"),
        };
        expect(readSample(JSON.parse(JSON.stringify({ request: printed })))).toEqual(read);
      }),
    );
  });

  it("is refused and nothing more, whatever JSON comes", () => {
    hold(fc.property(fc.jsonValue(), (given) => void expect(readSample(given).kind).toBe("refused")));
  });
});
