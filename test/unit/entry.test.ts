import { describe, expect, it } from "vitest";
import { type Entry, type EntryType, entryText, STREAM_START } from "../../src/core/entry.ts";
import { purgeAt } from "../../src/core/record.ts";
import { ANSWER, apply, fill, lastOf, live, OLD_EFFECT, SCENES, SECOND } from "./step-table.ts";

const PLACE = { stream: "5".repeat(64), seq: 7, prev: "e".repeat(64) };
const ATTEMPT = { at: 1_700_000_000_123, effect: "ef_1", attempt: 2 };
const FP = "f".repeat(64);
const DIGEST = "d".repeat(64);

/** The fixed order, without what the sequencer adds (`shard`, `index`). */
const ORDER =
  "v at type stream seq prev effect_id attempt capability phase target cost digest fp status answer_digest evidence actor code".split(
    " ",
  );

const BARE = {
  capability: "payments.charge",
  phase: "intent",
  target: null,
  cost: null,
  digest: null,
  code: null,
} as const;
const REPORTED = {
  ...BARE,
  phase: "failed",
  target: "acct-1",
  cost: { "money.eur": 12.5 },
  digest: DIGEST,
  code: "declined",
} as const;

const head = (type: EntryType) => headOf(type, "origin.request");
const headOf = (type: EntryType, capability: string) =>
  `{"v":1,"at":1700000000123,"type":"${type}","stream":"${PLACE.stream}","seq":7,"prev":"${PLACE.prev}","effect_id":"ef_1","attempt":2,"capability":"${capability}"`;

const GROUNDS = { code: "checked", target: "ticket-1", digest: DIGEST };

/** One line of every type. The ledger hashes these bytes: a change here is a new format version. */
const GOLDEN: { [T in EntryType]: [Extract<Entry, { type: T }>, string] } = {
  granted: [{ type: "granted", fp: FP, ...ATTEMPT }, `${head("granted")},"phase":"intent","fp":"${FP}"}`],
  settled: [
    { type: "settled", status: 201, answerDigest: DIGEST, actor: "executor", code: null, ...ATTEMPT },
    `${head("settled")},"phase":"committed","status":2,"answer_digest":"${DIGEST}","actor":"executor"}`,
  ],
  released: [
    { type: "released", evidence: "signed-none", actor: "executor", code: "resolved", ...ATTEMPT },
    `${head("released")},"phase":"failed","evidence":"signed-none","actor":"executor","code":"resolved"}`,
  ],
  unknown: [
    { type: "unknown", code: "connection-lost", ...ATTEMPT },
    `${head("unknown")},"code":"connection-lost"}`,
  ],
  fenced: [{ type: "fenced", ...ATTEMPT }, `${head("fenced")}}`],
  late: [{ type: "late", answerDigest: DIGEST, ...ATTEMPT }, `${head("late")},"answer_digest":"${DIGEST}"}`],
  contradiction: [
    { type: "contradiction", answerDigest: DIGEST, ...ATTEMPT },
    `${head("contradiction")},"answer_digest":"${DIGEST}"}`,
  ],
  proposed: [
    { type: "proposed", actor: "operator:op1", ...GROUNDS, ...ATTEMPT },
    `${head("proposed")},"target":"ticket-1","digest":"${DIGEST}","actor":"operator:op1","code":"checked"}`,
  ],
  observed: [{ type: "observed", code: "replayed", ...ATTEMPT }, `${head("observed")},"code":"replayed"}`],
  effect: [
    { type: "effect", ...REPORTED, ...ATTEMPT },
    `${headOf("effect", "payments.charge")},"phase":"failed","target":"acct-1","cost":{"money.eur":12.5},"digest":"${DIGEST}","code":"declined"}`,
  ],
  "effect-contradiction": [
    { type: "effect-contradiction", ...BARE, ...ATTEMPT },
    `${headOf("effect-contradiction", "payments.charge")},"phase":"intent"}`,
  ],
  purged: [{ type: "purged", ...ATTEMPT }, `${head("purged")}}`],
};

const lines = Object.values(GOLDEN).map(([entry, line]) => [entry.type, entry, line] as const);

describe("the text of an entry", () => {
  it.each(lines)("of type %s is the stored line", (_type, entry, line) => {
    expect(entryText(entry, PLACE)).toBe(line);
  });

  it.each(lines)("of type %s has its members in the contract's order", (_type, entry) => {
    const members = Object.keys(JSON.parse(entryText(entry, PLACE)));
    expect(members).toEqual(ORDER.filter((name) => members.includes(name)));
  });

  it.each(lines)(
    "of type %s is one line and the same whatever order the entry's fields were in",
    (_t, entry) => {
      const reversed = Object.fromEntries(Object.entries(entry).reverse());
      expect(entryText({ ...reversed, ...entry }, PLACE)).toBe(entryText(entry, PLACE));
      expect(entryText(entry, PLACE)).not.toContain("\n");
    },
  );

  it("leaves out status and digest of an answer that nobody has", () => {
    const lost: Entry = {
      type: "settled",
      status: null,
      answerDigest: null,
      actor: "operator:op2",
      code: null,
      target: null,
      digest: DIGEST,
      ...ATTEMPT,
    };
    expect(entryText(lost, PLACE)).toBe(
      `${head("settled")},"phase":"committed","digest":"${DIGEST}","actor":"operator:op2"}`,
    );
  });

  it.each(["late", "contradiction"] as const)(
    "of type %s has no digest where nobody has the answer",
    (type) => {
      const rest = { answerDigest: null, ...ATTEMPT };
      const entry: Entry = type === "late" ? { type, ...rest } : { type, ...rest };
      expect(entryText(entry, PLACE)).toBe(`${head(type)}}`);
    },
  );

  it.each([
    [200, 2],
    [299, 2],
    [304, 3],
    [422, 4],
    [500, 5],
    [599, 5],
  ])("tells status %i as class %i", (status, expected) => {
    const entry: Entry = {
      type: "settled",
      status,
      answerDigest: DIGEST,
      actor: "executor",
      code: null,
      ...ATTEMPT,
    };
    expect(JSON.parse(entryText(entry, PLACE)).status).toBe(expected);
  });

  it("begins a stream with 64 zeros for the entry before", () => {
    expect(STREAM_START).toMatch(/^0{64}$/);
  });
});

describe("a late answer", () => {
  it.each([
    ["settle, old attempt", 1],
    ["settle, old life", 2],
  ] as const)("of [%s] is told under the effect and the number it was dispatched with", (event, attempt) => {
    const record = live("settled, in window");
    expect(apply(record, event, record.t).entries).toMatchObject([
      { type: "late", effect: OLD_EFFECT, attempt, answerDigest: ANSWER.digest },
    ]);
  });

  it("is not told where the outbox is full", () => {
    const record = fill(live("settled, in window"));
    expect(apply(record, "settle, old attempt", record.t).record).toBe(record);
  });
});

describe("a proposal", () => {
  it("is not taken where the outbox is full: nobody would hear of it", () => {
    const record = fill(live("unknown, hold"));
    const after = apply(record, "resolve, A says committed", record.t);
    expect(after).toMatchObject({ answer: { kind: "full" }, entries: [] });
    expect(after.record).toBe(record);
  });
});

describe("the end of a life", () => {
  it("is the same entry, in the same place, by a tick and by the next life's begin", () => {
    const { record, now } = SCENES["settled, quarantine over, outbox empty"];
    if (record.state === "absent") throw new Error("no record");
    const { record: next } = apply(record, "begin", now + SECOND);
    expect(apply(record, "tick", now).entries).toEqual([lastOf(record)]);
    expect(next).toMatchObject({
      outbox: [{ ...record.outbox.at(-1), entries: [lastOf(record)] }, { inc: "life-99" }],
    });
  });

  it("waits with a full outbox", () => {
    const record = fill(live("settled, quarantine over, outbox not empty"));
    const after = apply(record, "begin", purgeAt(record) ?? 0);
    expect(after).toMatchObject({ record: { inc: record.inc }, answer: { kind: "full" }, entries: [] });
  });
});
