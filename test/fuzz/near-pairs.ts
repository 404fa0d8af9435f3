/**
 * Pairs of requests that nearly collide, and what they say by recognisers of their own: two requests are the same exactly where these
 * are equal. Made from numbers alone, so that ten million of them take minutes and one number makes one pair again.
 */
import type { FingerprintInput } from "../../src/core/fingerprint/message.ts";

/** `says`: what has to count, in a form of its own. */
export type Sample = { input: FingerprintInput; says: string };

/** Numbers below a bound, from a seed (xorshift; Marsaglia 2003). */
export type Draw = (below: number) => number;

export function drawFrom(seed: number): Draw {
  // Neighbouring seeds have to give unlike numbers; zero would give nothing but zeros.
  let state = Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bd1e995 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function pick<Value>(draw: Draw, values: readonly Value[]): Value {
  const value = values[draw(values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

/** Separators, framing and letters that other ways of joining would confuse. */
const PIECES = [
  "",
  "a",
  "b",
  "A",
  "ab",
  ":",
  "=",
  "&",
  "?",
  ",",
  ", ",
  "\0",
  "\n",
  "\r\n",
  "1",
  "01",
  "\u00e9",
  "e\u0301",
  "\ufeff",
  "absent",
];

function text(draw: Draw, most: number): string {
  let made = "";
  for (let count = draw(most + 1); count > 0; count -= 1) made += pick(draw, PIECES);
  return made;
}

/** Spellings of one media type stand together: what has no meaning there does not count (RFC 9110 section 8.3.1). */
const TYPES: readonly (readonly (string | null)[])[] = [
  [null],
  [""],
  ["text/plain", "Text/PLAIN", " text/plain "],
  ["text/plain;charset=utf-8", 'text/plain; charset="UTF-8"', "text/plain;Charset=utf-8;"],
  ["text/plain;x=a", 'text/plain; x="a"', 'text/plain;x="\\a"'],
  ["text/plain;x=A"],
  ['text/plain;x="a;y=b"'],
  ["text/plain;x=a;y=b", "text/plain;y=b;x=a"],
  ["text/plain;x=a;x=a"],
  ["text/html"],
];

/** Method, target, type, a field that counts and raw bytes. */
export function makeRaw(draw: Draw): Sample {
  const type = draw(TYPES.length);
  const contentType = pick(draw, TYPES[type] ?? [null]);
  const header = draw(3) === 0 ? null : text(draw, 1);
  const override = draw(8) === 0 ? pick(draw, ["PUT", ""]) : null;
  const method = pick(draw, ["POST", "PATCH"]);
  const path = `/${text(draw, 1)}`;
  const search = pick(draw, ["", "?", "?a", "?a=", "?A"]);
  const body = text(draw, 2);
  const fields: Readonly<Record<string, string | null>> = {
    "x-a": header,
    "x-http-method-override": override,
  };
  const input: FingerprintInput = {
    ...{ method, path, search, contentType },
    field: (name) => fields[name] ?? null,
    rule: { body: "raw", ignore: [], headers: ["x-a"] },
    body: Buffer.from(body),
  };
  return { input, says: JSON.stringify([method, path, search, type, header, override, body]) };
}

/** A value, and one of its spellings. */
type Spelt = { says: string; text: string };

const NUMBERS = ["0", "-0", "1", "1.0", "1e0", "10e-1", "9007199254740993", "9007199254740992", "1E0"];
const STRINGS: readonly (readonly [value: string, ...spellings: string[]])[] = [
  ["", '""'],
  ["a", '"a"', '"\\u0061"'],
  ["A", '"A"'],
  ["\u00e9", '"\u00e9"', '"\\u00e9"', '"\\u00E9"'],
  ["e\u0301", '"e\u0301"', '"e\\u0301"'],
  ["1", '"1"'],
  ["/", '"/"', '"\\/"'],
  ["\n", '"\\n"', '"\\u000a"'],
  ["\u{1f600}", '"\u{1f600}"', '"\\ud83d\\ude00"'],
  ["null", '"null"'],
  ["__proto__", '"__proto__"'],
];

function spellString(draw: Draw): { value: string; text: string } {
  const [value, ...spellings] = pick(draw, STRINGS);
  return { value, text: pick(draw, spellings) };
}

function spellValue(draw: Draw, depth: number): Spelt {
  const kind = draw(depth > 0 ? 6 : 4);
  const space = () => pick(draw, ["", "", " ", "\n\t"]);
  if (kind === 0) {
    const word = pick(draw, ["null", "true", "false"]);
    return { says: word, text: word };
  }
  if (kind === 1) {
    const number = pick(draw, NUMBERS);
    return { says: `#${number}`, text: number };
  }
  if (kind < 4) {
    const { value, text: spelt } = spellString(draw);
    return { says: `$${JSON.stringify(value)}`, text: spelt };
  }
  const count = draw(3);
  if (kind === 4) {
    const items = Array.from({ length: count }, () => spellValue(draw, depth - 1));
    const joined = items.map(({ text: item }) => `${space()}${item}${space()}`).join(",");
    return { says: `[${items.map(({ says }) => says).join()}]`, text: `[${joined}]` };
  }
  const members = Array.from({ length: count }, () => ({
    name: spellString(draw),
    value: spellValue(draw, depth - 1),
  }));
  const names = new Set(members.map(({ name }) => name.value));
  const joined = members
    .map(({ name, value }) => `${space()}${name.text}${space()}:${value.text}${space()}`)
    .join(",");
  const told = members.map(({ name, value }) => `${JSON.stringify(name.value)}:${value.says}`);
  const isTwice = names.size < count;
  return { says: isTwice ? "twice" : `{${told.sort().join()}}`, text: `{${joined}}` };
}

/** One member twice: which one counts is for the origin to say. */
function spellTwice(draw: Draw): Spelt {
  const member = (): string => `${pick(draw, ['"a"', '"\\u0061"'])}:${pick(draw, ["1", "2"])}`;
  return { says: "twice", text: `{${pick(draw, ["", " "])}${member()},${member()}}` };
}

/** JSON bodies: what only differs in spelling is the same, and a member that is there twice makes the bytes count. */
export function makeJson(draw: Draw): Sample {
  const { says, text: spelt } = draw(8) === 0 ? spellTwice(draw) : spellValue(draw, 2);
  const isBroken = draw(20) === 0;
  const body = isBroken ? `${spelt}${pick(draw, [",", "}", "\0", "\ufeff", "x"])}` : spelt;
  const isRaw = isBroken || says.includes("twice");
  const input: FingerprintInput = {
    ...{ method: "POST", path: "/", search: "", contentType: "application/json" },
    field: () => null,
    rule: { body: "json", ignore: [], headers: [] },
    body: Buffer.from(body),
  };
  return { input, says: isRaw ? `raw ${body}` : says };
}

const PART_NAMES = ["a", "A", "content-type", "Content-Type", "x"];
const PART_VALUES = ["", " a", " A", "a", ' form-data; name="f"', ' form-data; name="F"', " a: b"];
const CONTENTS = ["", "a", "A", "\r\n", "\r\n\r\n", "--", "--x", "a: b\r\n\r\n", "\0", "-", "\n"];

/** Multipart bodies: a new boundary and the letters of a part's field names don't count; all else does. */
export function makeMultipart(draw: Draw): Sample {
  const boundary = pick(draw, ["b", "bb", "xb", "b1"]);
  const parts = Array.from({ length: draw(3) }, () => ({
    headers: Array.from(
      { length: draw(3) },
      () => [pick(draw, PART_NAMES), pick(draw, PART_VALUES)] as const,
    ),
    content: Array.from({ length: draw(3) }, () => pick(draw, CONTENTS)).join(""),
  }));
  const before = pick(draw, ["", "", "note\r\n"]);
  const after = pick(draw, ["", "", "\r\n", "\r\nend"]);
  const written = parts.map(({ headers, content }) => {
    const lines = headers.map(([name, value]) => `${name}:${value}\r\n`).join("");
    return `--${boundary}\r\n${lines}\r\n${content}\r\n`;
  });
  const body = `${before}${written.join("")}--${boundary}--${after}`;
  const isOne = body.split(`--${boundary}`).length === parts.length + 2;
  const told = parts.map(({ headers, content }) => [
    headers.map(([name, value]) => [name.toLowerCase(), value]),
    content,
  ]);
  const input: FingerprintInput = {
    ...{ method: "POST", path: "/", search: "", contentType: `multipart/form-data; boundary=${boundary}` },
    field: () => null,
    rule: { body: "raw", ignore: [], headers: [] },
    body: Buffer.from(body),
  };
  return { input, says: isOne ? JSON.stringify([before, told, after]) : `raw ${boundary} ${body}` };
}
