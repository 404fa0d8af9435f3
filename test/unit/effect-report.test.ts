/** What an origin may report of its effects: every member at its bound and past it, and what a report makes of what is known. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/core/bytes.ts";
import { judgeReport, type KnownEffects, type Word } from "../../src/core/effect/judge.ts";
import { readEntry, type Told } from "../../src/core/effect/report.ts";
import { charsOf, reportedEntry } from "../../src/core/effect/told.ts";
import { entryText, STREAM_START } from "../../src/core/entry.ts";
import { REPORTED_CHARS_MAX, REPORTED_OF_ATTEMPT_MAX, REPORTED_OF_LIFE_MAX } from "../../src/core/limits.ts";
import { step } from "../../src/core/step.ts";
import { live } from "./step-table.ts";

const ENTRY = { effect_id: "charge-1", capability: "payments.charge" };
const DIGEST = "d".repeat(64);
const axes = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`axis.n${i}`, i]));

describe("an entry of a report", () => {
  it("has the phase intent and nothing else where it doesn't say", () => {
    expect(readEntry(ENTRY)).toEqual({
      kind: "told",
      told: {
        id: "charge-1",
        capability: "payments.charge",
        phase: "intent",
        target: null,
        cost: null,
        digest: null,
        code: null,
      },
    });
  });

  it("loses members that no entry has, and messages of errors", () => {
    const read = readEntry({ ...ENTRY, note: "secret", error: { code: "declined", message: "secret" } });
    expect(read).toMatchObject({ kind: "told", told: { code: "declined" } });
    expect(JSON.stringify(read)).not.toContain("secret");
  });

  it.each<[string, Record<string, unknown>]>([
    ["an id of 1 character", { effect_id: "!" }],
    ["an id of 64", { effect_id: "~".repeat(64) }],
    ["a capability of 1 character", { capability: "a" }],
    ["a capability of 128", { capability: `a.${"b".repeat(126)}` }],
    ["phase intent", { phase: "intent" }],
    ["phase committed", { phase: "committed" }],
    ["phase failed", { phase: "failed" }],
    ["phase compensated", { phase: "compensated" }],
    ["a target of 1 character", { target: "x" }],
    ["a target of 128", { target: "x".repeat(128) }],
    ["no axes", { cost: {} }],
    ["8 axes", { cost: axes(8) }],
    ["a cost of 0", { cost: { eur: 0 } }],
    ["the largest cost", { cost: { eur: Number.MAX_VALUE } }],
    ["a digest of 64 digits", { digest: DIGEST }],
    ["a code of 1 character", { error: { code: "x" } }],
    ["a code of 64", { error: { code: "x".repeat(64) } }],
  ])("may have %s", (_what, changes) => {
    expect(readEntry({ ...ENTRY, ...changes })).toMatchObject({ kind: "told" });
  });

  it.each<[string, string, unknown]>([
    ["effect_id", "of no character", ""],
    ["effect_id", "of 65", "x".repeat(65)],
    ["effect_id", "with a space", "a b"],
    ["effect_id", "with a line feed at its end", "a\n"],
    ["effect_id", "that is not ASCII", "é"],
    ["effect_id", "that is a number", 7],
    ["effect_id", "that is missing", undefined],
    ["capability", "of no character", ""],
    ["capability", "of 129", `a.${"b".repeat(127)}`],
    ["capability", "in upper case", "Payments.charge"],
    ["capability", "that begins with a digit", "1st.charge"],
    ["capability", "with an empty part", "payments..charge"],
    ["capability", "with a dot at its end", "payments."],
    ["capability", "of the gateway's own dispatches", "origin.request"],
    ["capability", "of the ledger itself", "ledger.prune"],
    ["capability", "that is missing", undefined],
    ["phase", "that is none", "started"],
    ["phase", "in upper case", "Intent"],
    ["phase", "that is null", null],
    ["target", "of no character", ""],
    ["target", "of 129", "x".repeat(129)],
    ["target", "with a space", "two words"],
    ["target", "that is null", null],
    ["cost", "of 9 axes", axes(9)],
    ["cost", "below 0", { eur: -0.01 }],
    ["cost", "that is not finite", { eur: Number.POSITIVE_INFINITY }],
    ["cost", "that is a text", { eur: "1" }],
    ["cost", "with an axis that is no capability", { EUR: 1 }],
    ["cost", "that is a list", [1]],
    ["cost", "that is a number", 1],
    ["digest", "of 63 digits", "d".repeat(63)],
    ["digest", "of 65 digits", "d".repeat(65)],
    ["digest", "in upper case", "D".repeat(64)],
    ["error", "without a code", {}],
    ["error", "that is a text", "declined"],
    ["error", "with a code of 65", { code: "x".repeat(65) }],
    ["error", "with a code of no character", { code: "" }],
    ["error", "with words for a code", { code: "card was declined" }],
  ])("may not have %s %s", (field, _what, value) => {
    expect(readEntry({ ...ENTRY, [field]: value })).toEqual({ kind: "refused", field });
  });

  it.each([
    ["null", null],
    ["a list", [ENTRY]],
    ["a text", "{}"],
    ["nothing", undefined],
  ])("is not %s", (_what, value) => {
    expect(readEntry(value)).toEqual({ kind: "refused", field: "entry" });
  });
});

const NONE: KnownEffects = { v: 1, inc: "life", attempts: [], effects: [] };
const FIRST = { n: 1, effect: "dispatch-1" };

const tell = (id: string, phase: Told["phase"], changes: Partial<Told> = {}): Word => {
  const told = {
    id,
    capability: "a.b",
    phase,
    target: null,
    cost: null,
    digest: null,
    code: null,
    ...changes,
  };
  return { told, word: JSON.stringify(told) };
};

/** Judges reports one after the other; gives the last judgement. */
function judge(...reports: Word[][]) {
  let known = NONE;
  let judged = judgeReport(known, FIRST, []);
  for (const report of reports) {
    judged = judgeReport(known, FIRST, report);
    if (judged.kind === "taken") known = judged.known;
  }
  return judged;
}

describe("a report", () => {
  it.each<[string, Word[], string]>([
    ["intent", [tell("e", "intent")], "intent"],
    ["intent and outcome", [tell("e", "intent"), tell("e", "committed")], "committed"],
    ["a failure", [tell("e", "intent"), tell("e", "failed", { code: "declined" })], "failed"],
    [
      "all three phases",
      [tell("e", "intent"), tell("e", "committed"), tell("e", "compensated")],
      "compensated",
    ],
  ])("is taken with %s, at once or one by one", (_what, words, phase) => {
    const expected = { kind: "taken", known: { effects: [{ id: "e", phase, isFlagged: false }] } };
    expect(judge(words)).toMatchObject(expected);
    expect(judge(...words.map((word) => [word]))).toMatchObject(expected);
  });

  it.each<[string, Word[], number, string]>([
    ["an outcome before its intent", [tell("e", "committed")], 0, "phase"],
    ["a failure before its intent", [tell("x", "intent"), tell("e", "failed")], 1, "phase"],
    ["a compensation of nothing", [tell("e", "compensated")], 0, "phase"],
    ["a compensation before the outcome", [tell("e", "intent"), tell("e", "compensated")], 1, "phase"],
    [
      "a compensation of a failure",
      [tell("e", "intent"), tell("e", "failed"), tell("e", "compensated")],
      2,
      "phase",
    ],
    ["the id of its own dispatch", [tell("dispatch-1", "intent")], 0, "effect_id"],
  ])("is refused with %s", (_what, words, index, field) => {
    expect(judge(words)).toEqual({ kind: "refused", index, field });
  });

  it("that is repeated records nothing more", () => {
    const words = [tell("e", "intent"), tell("e", "committed")];
    expect(judge(words, words)).toMatchObject({ kind: "taken", noted: [], repeated: 2 });
    expect(judge([...words, ...words])).toMatchObject({ noted: [{}, {}], repeated: 2 });
  });

  it.each<[string, Word[], Word, string]>([
    ["a second outcome", [tell("e", "intent"), tell("e", "committed")], tell("e", "failed"), "committed"],
    [
      "an outcome after a failure",
      [tell("e", "intent"), tell("e", "failed")],
      tell("e", "committed"),
      "failed",
    ],
    ["another intent", [tell("e", "intent")], tell("e", "intent", { target: "other" }), "intent"],
    ["another capability", [tell("e", "intent")], tell("e", "committed", { capability: "c.d" }), "intent"],
    [
      "the same outcome in other words",
      [tell("e", "intent"), tell("e", "committed")],
      tell("e", "committed", { digest: DIGEST }),
      "committed",
    ],
  ])(
    "with %s is recorded as a contradiction, once, and the first truth stays",
    (_what, words, other, phase) => {
      const judged = judge(words, [other]);
      expect(judged).toMatchObject({
        kind: "taken",
        noted: [{ isContradiction: true }],
        known: { effects: [{ phase, capability: "a.b", isFlagged: true }] },
      });
      expect(judge(words, [other], [other])).toMatchObject({ noted: [], repeated: 1 });
    },
  );

  it("can't go over the bound of an attempt, and repeats don't count", () => {
    const full = Array.from({ length: REPORTED_OF_ATTEMPT_MAX }, (_, i) => tell(`e${i}`, "intent"));
    expect(judge(full)).toMatchObject({ kind: "taken" });
    expect(judge(full, full)).toMatchObject({ kind: "taken", noted: [] });
    expect(judge(full, [tell("e0", "intent"), tell("more", "intent")])).toEqual({
      kind: "refused",
      index: 1,
      field: "report",
    });
  });

  it("of one attempt doesn't count for another, but for all of a life together", () => {
    const count = REPORTED_OF_ATTEMPT_MAX;
    const attempts = [1, 2, 3, 4].map((n) => ({ n, effect: `dispatch-${n}`, count }));
    const words = [tell("e", "intent")];
    const fewer = { ...NONE, attempts: attempts.slice(0, 3) };
    expect(4 * count).toBe(REPORTED_OF_LIFE_MAX);
    expect(judgeReport(fewer, { n: 4, effect: "dispatch-4" }, words)).toMatchObject({ kind: "taken" });
    expect(judgeReport({ ...NONE, attempts }, { n: 5, effect: "dispatch-5" }, words)).toMatchObject({
      kind: "refused",
      field: "report",
    });
  });
});

describe("the room for reported entries", () => {
  const large = {
    told: {
      id: '"'.repeat(64),
      capability: "c".repeat(128),
      phase: "compensated",
      target: '"'.repeat(128),
      cost: Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [`${"x".repeat(127)}${"abcdefgh"[i]}`, 1.2345678901234568e-300]),
      ),
      digest: DIGEST,
      code: "e".repeat(64),
    },
    isContradiction: true,
  } as const;

  it("counts at least what the ledger writes of the largest entry", () => {
    const entry = reportedEntry(large, 2 ** 31, Number.MAX_SAFE_INTEGER);
    const place = { stream: "5".repeat(64), seq: 2 ** 31, prev: STREAM_START };
    const text = entryText(entry, place);
    expect(charsOf([entry])).toBeGreaterThanOrEqual(encodeUtf8(text).byteLength);
    // The verifier takes no longer line, with shard and index.
    expect(text.length + 64).toBeLessThan(4_096);
  });

  it("is bounded: what goes beyond it changes nothing", () => {
    const record = live("unknown, hold");
    const each = charsOf([reportedEntry(large, record.n, record.t)]);
    const attempt = { n: record.n, effect: record.effect };
    const noted = new Array(Math.floor(REPORTED_CHARS_MAX / each)).fill(large);
    const taken = step(record, { do: "tell", attempt, noted }, record.t);
    expect(taken.answer.kind).toBe("done");
    const over = step(taken.record, { do: "tell", attempt, noted: [large] }, record.t);
    expect(over.answer.kind).toBe("full");
    expect(over.record).toBe(taken.record);
  });
});
