import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JSON_NESTING_MAX, writeCanonicalJson } from "../../src/core/fingerprint/json.ts";
import { readPointerTokens } from "../../src/core/fingerprint/pointer.ts";

function canonical(text: string, ignore: readonly string[] = []): string | null {
  const bytes = writeCanonicalJson(Buffer.from(text), ignore);
  return bytes === null ? null : Buffer.from(bytes).toString();
}

/** A JSON value that knows its numbers only as text, and can be spelt in many ways. */
type Tree =
  | { kind: "atom"; text: string }
  | { kind: "text"; value: string }
  | { kind: "list"; items: Tree[] }
  | { kind: "map"; members: [string, Tree][] };

const numberText = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.bigInt({ min: 1n, max: 10n ** 25n }).map(String)),
    fc.constantFrom("", ".0", ".50", ".05"),
    fc.constantFrom("", "e0", "E0", "e+1", "e-1", "e01"),
  )
  .map((pieces) => pieces.join(""));
const name = fc.oneof(
  fc.constantFrom("a", "b", "__proto__", "", "é", "\ud83d\ude00", "~/", '"\\'),
  fc.string(),
);
const tree = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .oneof(fc.constantFrom("true", "false", "null"), numberText)
      .map((text): Tree => ({ kind: "atom", text })),
    fc.string({ unit: "binary" }).map((value): Tree => ({ kind: "text", value })),
    fc.array(tie("tree"), { maxLength: 4 }).map((items): Tree => ({ kind: "list", items })),
    fc
      .uniqueArray(fc.tuple(name, tie("tree")), { maxLength: 5, selector: ([member]) => member })
      .map((members): Tree => ({ kind: "map", members })),
  ),
})).tree;

/** Spells a tree; each draw decides about order, white space and escapes. */
function spell(value: Tree, draw: () => number): string {
  const space = () => ["", "", " ", "\n", "\t\r "][draw() % 5] ?? "";
  const quote = (text: string) =>
    `"${[...text].map((character) => escapeCharacter(character, draw)).join("")}"`;
  const join = (open: string, items: string[], close: string) =>
    `${open}${space()}${items.map((item) => item + space()).join(`,${space()}`)}${close}`;
  switch (value.kind) {
    case "atom":
      return value.text;
    case "text":
      return quote(value.value);
    case "list":
      return join(
        "[",
        value.items.map((item) => spell(item, draw)),
        "]",
      );
    case "map": {
      const members = value.members.map(([member, item]) => ({ member, item, rank: draw() }));
      members.sort((one, other) => one.rank - other.rank);
      const spelt = members.map(
        ({ member, item }) => `${quote(member)}${space()}:${space()}${spell(item, draw)}`,
      );
      return join("{", spelt, "}");
    }
  }
}

function escapeCharacter(character: string, draw: () => number): string {
  const plain = JSON.stringify(character).slice(1, -1);
  if (draw() % 4 > 0) return plain;
  if (character === "/") return "\\/";
  const units = character.split("").map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
  return units.map((unit) => `\\u${draw() % 2 > 0 ? unit.toUpperCase() : unit}`).join("");
}

const draws = fc.infiniteStream(fc.nat({ max: 999 })).map((stream) => () => stream.next().value ?? 0);

/** What the tree says, with nothing of its spelling: objects become maps without order, numbers stay text. */
function meaning(value: Tree): unknown {
  switch (value.kind) {
    case "atom":
      return { atom: value.text };
    case "text":
      return value.value;
    case "list":
      return value.items.map(meaning);
    case "map":
      return new Map(value.members.map(([member, item]) => [member, meaning(item)]));
  }
}

describe("canonical JSON", () => {
  it.each([
    ['{"a":1,"b":{"x":1,"y":2}}', '{"a":1,"b":{"x":1,"y":2}}'],
    ['{"b":{"y":2,"x":1},"a":1}', '{"a":1,"b":{"x":1,"y":2}}'],
    [' [ 1 , "a" , { } , [ ] ]\r\n\t', '[1,"a",{},[]]'],
    ['"\\u0061\\/\\"\\\\\\b\\u001F\\u00e9\\ud83d\\ude00"', '"a/\\"\\\\\\b\\u001fé\ud83d\ude00"'],
    ['{"\\u0062":1,"a":2,"B":3}', '{"B":3,"a":2,"b":1}'],
    ['{"\uff5e":1,"\ud83d\ude00":2}', '{"\ud83d\ude00":2,"\uff5e":1}'],
    ['{"A":1,"\\n":2,"\\u0022":3}', '{"\\n":2,"\\"":3,"A":1}'],
    ['{"__proto__":1,"constructor":{}}', '{"__proto__":1,"constructor":{}}'],
    ["-0.0e-00", "-0.0e-00"],
    ["12345678901234567891", "12345678901234567891"],
    ["null", "null"],
  ])("of %j is %j", (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  it.each([
    ["1", "1.0"],
    ["1", "1e0"],
    ["1e0", "1E0"],
    ["0", "-0"],
    ["12345678901234567890", "12345678901234567891"],
    ["1e400", "1e401"],
    ["1", '"1"'],
    ["null", '"null"'],
    ['"e\u0301"', '"\u00e9"'],
    ['{"a":null}', "{}"],
    ["[1,[2]]", "[[1],2]"],
    ['["a,b"]', '["a","b"]'],
    ['{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
  ])("tells %s and %s apart", (one, other) => {
    expect(canonical(one)).not.toBeNull();
    expect(canonical(one)).not.toBe(canonical(other));
  });

  it.each([
    '{"amount":1,"amount":500}',
    '{"amount":1,"amount":1}',
    '{"a":1,"\\u0061":1}',
    '[{"b":{"x":1,"y":2,"x":3}}]',
    '{"__proto__":1,"__proto__":2}',
    '"\\ud800"',
    '"\\ude00\\ud83d"',
    '{"\\ud800":1}',
    "\ufeff{}",
    "",
    " ",
    "not json",
    "{} {}",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "-",
    "NaN",
    "[1,]",
    "[,1]",
    '{"a":1,}',
    '{"a"}',
    "{a:1}",
    "{'a':1}",
    '"a',
    '"\\',
    '"\\"',
    '"\\x41"',
    '"\\u12"',
    '"\t"',
    '"\u0000"',
    "\u00a01",
    "1\u2028",
    "\v1",
    "tru",
    "nulll",
    "[1}",
    "/**/1",
  ])("is not made of %j", (text) => {
    expect(canonical(text)).toBeNull();
  });

  it.each(["22ff22", "22c08022", "22eda08022", "efbbbf31", "310031", "fffe3100"])(
    "is not made of the bytes %s",
    (bytes) => {
      expect(writeCanonicalJson(Buffer.from(bytes, "hex"), [])).toBeNull();
    },
  );

  it("is made up to the bound of nesting and not beyond", () => {
    const nest = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const nestMembers = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect(canonical(nest(JSON_NESTING_MAX))).toBe(nest(JSON_NESTING_MAX));
    expect(canonical(nest(JSON_NESTING_MAX + 1))).toBeNull();
    expect(canonical(nestMembers(JSON_NESTING_MAX))).toBe(nestMembers(JSON_NESTING_MAX));
    expect(canonical(nestMembers(JSON_NESTING_MAX + 1))).toBeNull();
    expect(canonical("[".repeat(1_000_000))).toBeNull();
  });

  it("is the same for every spelling of a document, and reads as the same document", () => {
    fc.assert(
      fc.property(tree, draws, draws, (value, oneDraw, otherDraw) => {
        const one = spell(value, oneDraw);
        const text = canonical(one);
        expect(text).not.toBeNull();
        expect(canonical(spell(value, otherDraw))).toBe(text);
        expect(JSON.parse(text ?? "")).toEqual(JSON.parse(one));
        expect(canonical(text ?? "")).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it("differs between documents that say different things", () => {
    fc.assert(
      fc.property(tree, tree, draws, (one, other, draw) => {
        const alike = isSame(meaning(one), meaning(other));
        expect(canonical(spell(one, draw)) === canonical(spell(other, draw))).toBe(alike);
      }),
      { numRuns: 500 },
    );
  });

  it("never merges two number texts", () => {
    fc.assert(
      fc.property(numberText, numberText, (one, other) => {
        expect(canonical(`[${one}]`) === canonical(`[${other}]`)).toBe(one === other);
      }),
    );
  });

  it("is made of exactly what JSON.parse accepts, less repeated members and lone surrogates", () => {
    const token = fc.constantFrom(
      ...'{ } [ ] , : " \\ \\u0061 \\ud83d \\ude00 \\n a b true null 0 1 - . e + \t \u0001 é {"a": "b" [1 ]}'.split(
        " ",
      ),
      " ",
    );
    const soup = fc.array(token, { maxLength: 9 }).map((tokens) => tokens.join(""));
    const nearly = fc
      .tuple(tree, draws, fc.nat(), fc.nat({ max: 2 }), token)
      .map(([value, draw, at, cut, patch]) => {
        const text = spell(value, draw);
        const place = at % (text.length + 1);
        return text.slice(0, place) + patch + text.slice(place + cut);
      })
      .filter((text) => text.isWellFormed());
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(soup, nearly), (text) => {
        const expected = isAcceptable(text);
        if (expected) accepted += 1;
        expect(canonical(text) !== null).toBe(expected);
      }),
      { numRuns: 5000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});

/** Repeated members show as more colons outside strings than members of the parsed value. */
function isAcceptable(text: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;
  const seen = countMembers(value);
  return colons === seen.members && seen.wellFormed;
}

function countMembers(value: unknown): { members: number; wellFormed: boolean } {
  if (typeof value === "string") return { members: 0, wellFormed: value.isWellFormed() };
  if (typeof value !== "object" || value === null) return { members: 0, wellFormed: true };
  const inside = Object.entries(value).map(([member, item]) => ({ name: member, ...countMembers(item) }));
  const own = Array.isArray(value) ? 0 : inside.length;
  return {
    members: inside.reduce((sum, item) => sum + item.members, own),
    wellFormed: inside.every((item) => item.wellFormed && item.name.isWellFormed()),
  };
}

function isSame(one: unknown, other: unknown): boolean {
  try {
    expect(one).toStrictEqual(other);
    return true;
  } catch {
    return false;
  }
}

describe("ignored pointers", () => {
  it.each([
    ['{"id":1,"op":"pay"}', ["/id"], '{"op":"pay"}'],
    ['{"op":"pay"}', ["/id"], '{"op":"pay"}'],
    ['{"\\u0069d":1,"op":"pay"}', ["/id"], '{"op":"pay"}'],
    ['{"a":{"id":1},"id":2}', ["/id"], '{"a":{"id":1}}'],
    ['{"a":{"id":1,"x":2},"id":2}', ["/a/id"], '{"a":{"x":2},"id":2}'],
    ['{"a":[{"id":1},{"id":2}]}', ["/a/1/id"], '{"a":[{"id":1},{}]}'],
    ["[1,2,3]", ["/1"], "[1,3]"],
    ["[1,2,3]", ["/01", "/-", "/3", "/x"], "[1,2,3]"],
    ['{"0":1,"1":2}', ["/1"], '{"0":1}'],
    ['{"a/b":1,"m~n":2,"~1":3}', ["/a~1b", "/m~0n"], '{"~1":3}'],
    ['{"~1":3,"/":4}', ["/~01"], '{"/":4}'],
    ['{"a\\"b":1,"a":2}', ['/a"b'], '{"a":2}'],
    ['{"":1,"a":2}', ["/"], '{"a":2}'],
    ['{"":{"":1,"b":2}}', ["//"], '{"":{"b":2}}'],
    ['{"a":1}', [""], ""],
    ['{"a":{"b":1}}', ["/a/b/c"], '{"a":{"b":1}}'],
    ['{"__proto__":1,"a":2}', ["/__proto__"], '{"a":2}'],
    ['{"a":1,"b":2}', ["/a", "/a/x", "/b/x"], '{"b":2}'],
    ['{"a":1}', ["a", "/a~2", "/~"], '{"a":1}'],
  ])("leave out of %s what %j points at", (text, ignore, expected) => {
    expect(canonical(text, ignore)).toBe(expected);
  });

  it.each(['{"id":1,"id":2}', '{"id":[1,]}', '{"id":"\\ud800"}', '{"id":01}'])(
    "do not make %s readable",
    (text) => {
      expect(canonical(text, ["/id"])).toBeNull();
    },
  );
});

describe("readPointer", () => {
  it.each([
    ["", []],
    ["/", [""]],
    ["/a/0", ["a", "0"]],
    ["/a~1b/~0/~01", ["a/b", "~", "~1"]],
  ])("reads %j", (text, tokens) => {
    expect(readPointerTokens(text)).toEqual(tokens);
  });

  it.each(["a", "#/a", "/~", "/~2", "/a~"])("refuses %j", (text) => {
    expect(readPointerTokens(text)).toBeNull();
  });
});
