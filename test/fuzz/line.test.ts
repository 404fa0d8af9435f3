// Aim: an entry is a line of the ledger in one spelling only. Method: the reader beside the contract's list of members, over the JSON of the line.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLine } from "../../src/verify/walk/line.mjs";
import { makeLog } from "../support/ledger-log.ts";
import { hold, mutated } from "./runs.ts";

type Is = (value: unknown) => boolean;

const matches =
  (form: RegExp): Is =>
  (value) =>
    typeof value === "string" && form.test(value);
const whole =
  (min: number, max: number): Is =>
  (value) =>
    typeof value === "number" &&
    Number.isInteger(value) &&
    !Object.is(value, -0) &&
    value >= min &&
    value <= max;
const HASH = matches(/^[0-9a-f]{64}$/);
const COUNT = whole(1, 2 ** 32 - 1);
const NUMBER = whole(0, Number.MAX_SAFE_INTEGER);

function isCapability(value: unknown): boolean {
  if (typeof value !== "string" || value.length > 128) return false;
  return value
    .split(".")
    .every((part, i) => /^[a-z0-9][a-z0-9_-]*$/.test(part) && (i > 0 || /^[a-z]/.test(part)));
}

function isCost(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const axes = Object.entries(value);
  const isAxis = ([axis, amount]: [string, unknown]) =>
    isCapability(axis) && typeof amount === "number" && amount >= 0;
  return axes.length >= 1 && axes.length <= 8 && axes.every(isAxis);
}

/** Members in their order; a name that begins with `?` may be left out. */
const MEMBERS: readonly (readonly [name: string, is: Is])[] = [
  ["v", (value) => value === 1],
  ["shard", matches(/^[1-9]\d{0,15}:(0|[1-9]\d{0,15})$/)],
  ["index", NUMBER],
  ["at", NUMBER],
  ["type", matches(/^[a-z][a-z-]{0,31}$/)],
  ["stream", HASH],
  ["seq", COUNT],
  ["prev", HASH],
  ["?effect_id", matches(/^[!-~]{1,64}$/)],
  ["?attempt", COUNT],
  ["?capability", isCapability],
  ["?phase", matches(/^(intent|committed|failed|compensated)$/)],
  ["?target", matches(/^[!-~]{1,128}$/)],
  ["?cost", isCost],
  ["?digest", HASH],
  ["?fp", HASH],
  ["?status", whole(1, 9)],
  ["?answer_digest", HASH],
  [
    "?evidence",
    matches(/^((never-dispatched|(sealed|signed|protocol|observed)-none)|status-list|operator)$/),
  ],
  ["?actor", matches(/^(executor|probe|gateway|origin|ledger|operator:[!-~]{1,64})$/)],
  ["?code", matches(/^[a-z0-9][a-z0-9._-]{0,63}$/)],
];

function isEntry(text: string): boolean {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof given !== "object" || given === null || JSON.stringify(given) !== text || text.length > 4_096)
    return false;
  const left = Object.entries(given);
  for (const [name, is] of MEMBERS) {
    const isThere = left[0]?.[0] === name.replace("?", "");
    if (!isThere && !name.startsWith("?")) return false;
    if (isThere && !is(left.shift()?.[1])) return false;
  }
  return left.length === 0;
}

const CHANGES: readonly Readonly<Record<string, unknown>>[] = [
  { effect_id: "e" },
  { effect_id: "" },
  { effect_id: 'a"\\b' },
  { effect_id: "é" },
  { attempt: 0 },
  { attempt: 2 ** 32 },
  { attempt: 3 },
  { seq: 2 ** 32 - 1 },
  { capability: "a.b" },
  { capability: "a..b" },
  { capability: "a".repeat(129) },
  { phase: "failed" },
  { phase: "Failed" },
  { target: "t".repeat(128) },
  { cost: {} },
  { cost: { a: 1.5, "b.c": 1e21 } },
  { cost: { a: -1 } },
  { cost: { A: 1 } },
  { cost: Object.fromEntries([..."abcdefghi"].map((axis) => [axis, 1])) },
  { cost: { a: { b: 1 } } },
  { digest: "a".repeat(64) },
  { digest: "A".repeat(64) },
  { status: 9 },
  { status: 0 },
  { evidence: "operator" },
  { evidence: "none" },
  { actor: "operator:x" },
  { actor: "operator:" },
  { actor: "origin" },
  { code: "a_b" },
  { code: "-a" },
  { index: Number.MAX_SAFE_INTEGER },
  { index: 2 ** 53 },
  { at: -1 },
  { shard: "0:0" },
  { v: 2 },
  { note: "x" },
  { stream: "" },
  { type: "a-b" },
  { type: "A" },
];
const change = fc.constantFrom(...CHANGES);

/** Members of an entry with some replaced, added in their place or at the end, or taken out. */
function rewrite(line: string, changes: readonly Readonly<Record<string, unknown>>[], left: string): string {
  const given: Record<string, unknown> = Object.assign({}, JSON.parse(line), ...changes);
  delete given[left];
  const order = MEMBERS.map(([name]) => name.replace("?", ""));
  const placeOf = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return JSON.stringify(
    Object.fromEntries(Object.entries(given).sort(([a], [b]) => placeOf(a) - placeOf(b))),
  );
}

describe("a line", () => {
  const { lines } = makeLog(60, 30);
  const rewritten = fc
    .tuple(
      fc.constantFrom(...lines),
      fc.array(change, { maxLength: 3 }),
      fc.constantFrom("", "v", "prev", "effect_id", "fp", "actor"),
    )
    .map(([line, changes, left]) => rewrite(line, changes, left));
  const pieces = [
    '"',
    ",",
    "{",
    "}",
    "0",
    "-0",
    "1e3",
    ".0",
    ":",
    "null",
    '"v":1',
    "\\u0061",
    " ",
    "a",
    "\n",
  ];

  it("is an entry exactly where each member is as the contract lists it, in its order and its one spelling", () => {
    hold(
      fc.property(fc.oneof(rewritten, mutated(lines, pieces)), (text) => {
        expect(readLine(Buffer.from(text)).kind).toBe(isEntry(text) ? "line" : "refused");
      }),
    );
  });

  it("that is refused is told why in few words, without what it says", () => {
    hold(
      fc.property(fc.oneof(rewritten, mutated(lines, pieces), fc.json()), (text) => {
        const read = readLine(Buffer.from(text));
        if (read.kind !== "refused") return;
        expect(read.why.length).toBeLessThan(80);
        expect(read.why).not.toMatch(/[0-9a-f]{64}|"/);
      }),
    );
  });
});
