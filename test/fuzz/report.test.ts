// Aim: of what an origin reports, exactly what the contract's table allows gets any further.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readReport } from "../../src/core/effect/read-report.ts";
import { readEntry } from "../../src/core/effect/report.ts";
import { isOneJson } from "./recognise-json.ts";
import { hold, mutated, textOf } from "./runs.ts";

const PHASES = ["intent", "committed", "failed", "compensated"];
const ids = fc.constantFrom<unknown[]>(
  "e1",
  "e",
  "x".repeat(64),
  "x".repeat(65),
  "",
  "a b",
  "é",
  1,
  null,
  undefined,
  "e\n",
);
const capabilities = fc.constantFrom<unknown[]>(
  "payments.charge",
  "a",
  "a.b-c_d.0",
  "A.b",
  "a..b",
  ".a",
  "a.",
  "0a",
  "a".repeat(128),
  "a".repeat(129),
  "origin.request",
  "",
  1,
  undefined,
);
const costs = fc.constantFrom<unknown[]>(
  ...[
    undefined,
    {},
    { a: 0 },
    { "a.b": 1.5, c: 2 },
    { a: -1 },
    { a: Number.POSITIVE_INFINITY },
    { a: "1" },
    { A: 1 },
    [],
    null,
    1,
  ],
  Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`a${i}`, i])),
  Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`a${i}`, i])),
);
const members = fc.record(
  {
    effect_id: ids,
    capability: capabilities,
    phase: fc.constantFrom<unknown[]>(...PHASES, "Intent", "", 1, null),
    target: fc.constantFrom<unknown[]>("card_1", "x".repeat(128), "x".repeat(129), "", "a b", 1, null),
    cost: costs,
    digest: fc.constantFrom<unknown[]>("a".repeat(64), "A".repeat(64), "a".repeat(63), "", null),
    error: fc.constantFrom<unknown[]>(
      { code: "declined" },
      { code: "declined", message: "x" },
      { code: "A" },
      { code: "" },
      { code: "x".repeat(65) },
      {},
      "declined",
      null,
      [],
    ),
    note: fc.string(),
  },
  { requiredKeys: [] },
);

const SOUND = {
  effect_id: "e1",
  capability: "payments.charge",
  phase: "intent",
  target: "card_1",
  cost: { a: 1 },
};

/** A sound entry in which up to two members are something else, or one of anything. */
const entry: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  members,
  fc
    .tuple(
      members,
      fc.subarray(["effect_id", "capability", "phase", "target", "cost", "digest", "error"], {
        maxLength: 2,
      }),
    )
    .map(([other, names]) => ({
      ...SOUND,
      ...Object.fromEntries(Object.entries(other).filter(([name]) => names.includes(name))),
    })),
);

/** The table of the contract, member by member. */
function isEntry(given: Record<string, unknown>): boolean {
  const isCapability = (value: unknown) =>
    typeof value === "string" &&
    value.length <= 128 &&
    /^[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*$/.test(value);
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const has = (name: string, form: RegExp) =>
    typeof given[name] === "string" && form.test(String(given[name]));
  const { cost, error } = given;
  return (
    has("effect_id", /^[!-~]{1,64}$/) &&
    isCapability(given.capability) &&
    given.capability !== "origin.request" &&
    (given.phase === undefined || PHASES.includes(String(given.phase))) &&
    (given.target === undefined || has("target", /^[!-~]{1,128}$/)) &&
    (given.digest === undefined || has("digest", /^[0-9a-f]{64}$/)) &&
    (cost === undefined ||
      (isMap(cost) &&
        Object.keys(cost).length <= 8 &&
        Object.entries(cost).every(
          ([axis, amount]) =>
            isCapability(axis) &&
            typeof amount === "number" &&
            amount >= 0 &&
            amount < Number.POSITIVE_INFINITY,
        ))) &&
    (error === undefined ||
      (isMap(error) && typeof error.code === "string" && /^[a-z0-9][a-z0-9._-]{0,63}$/.test(error.code)))
  );
}

describe("an entry of a report", () => {
  it("is read exactly where every member is as the table says, and read again it is the same", () => {
    hold(
      fc.property(entry, (given) => {
        const read = readEntry(given);
        expect(read.kind).toBe(isEntry(given) ? "told" : "refused");
        if (read.kind === "refused") return;
        const { id, code, ...rest } = read.told;
        const members = { effect_id: id, ...rest, error: code === null ? null : { code } };
        const printed = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
        expect(readEntry(JSON.parse(JSON.stringify(printed)))).toEqual(read);
      }),
    );
  });

  it("is refused and nothing more, whatever JSON comes", () => {
    hold(
      fc.property(fc.jsonValue(), (given) => {
        expect(["told", "refused"]).toContain(readEntry(given).kind);
      }),
    );
  });
});

describe("a report", () => {
  const lines = [
    '{"effect_id":"e1","capability":"a.b"}',
    '{"effect_id":"e2","capability":"a","phase":"committed"}',
  ];
  const pieces = [
    "\n",
    "\r\n",
    "\n\n",
    " ",
    lines[0] ?? "",
    "{",
    "}",
    '"capability":"b",',
    ",",
    "null",
    "[]",
    '"',
    "\ufeff",
    "1",
  ];
  const text = fc.oneof(
    mutated([lines.join("\n"), `${lines.join("\n")}\n`, lines[0] ?? ""], pieces),
    textOf(pieces),
  );

  it("is read exactly where it is one sound entry, or each line is one, and printed line by line it is the same", () => {
    hold(
      fc.property(text, (body) => {
        const read = readReport(Buffer.from(body));
        const entries = isWhole(body) ? [body] : body.split(/\n/).filter((line) => /\S/.test(line));
        const isSound = entries.length > 0 && entries.every((line) => isOneJson(line) && isEntryText(line));
        expect(read.kind).toBe(isSound ? "report" : "refused");
        if (read.kind === "refused") return;
        expect(read.entries.length).toBe(entries.length);
        expect(readReport(Buffer.from(entries.join("\n\n")))).toEqual(read);
      }),
    );
  });

  it("of more entries than an attempt may tell is refused at the first that is too many", () => {
    const body = Buffer.from(`${lines[0]}\n`.repeat(1_001));
    expect(readReport(body)).toEqual({ kind: "refused", index: 1_000, field: "report" });
    expect(readReport(body.subarray(0, -2 - (lines[0] ?? "").length))).toMatchObject({ kind: "report" });
  });

  it("of any bytes is read or refused, and nothing more", () => {
    hold(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void readReport(bytes)));
  });
});

/** Legible as one value, of one reading or with a member twice. */
function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isEntryText(text: string): boolean {
  const given: unknown = JSON.parse(text);
  const isMap = typeof given === "object" && given !== null && !Array.isArray(given);
  return isMap && isEntry(given as Record<string, unknown>);
}
