import { describe, expect, it } from "vitest";
import { type Entry, entryText, STREAM_START } from "../../src/core/entry.ts";
import * as limits from "../../src/core/limits.ts";
import type { KeyRecord, LiveRecord } from "../../src/core/record.ts";
import { step } from "../../src/core/step.ts";
import { EVENTS, type EventName, HOLD, SCENES, START, type StateName } from "./step-table.ts";

const KIB = 1024;
const ISOLATE_BYTES = 128 * KIB * KIB;
const PLATFORM_ROW_BYTES = 2_000_000;

describe("the limits", () => {
  it.each(Object.entries(limits))("has %s as a whole positive number", (_name, value) => {
    expect(Number.isSafeInteger(value)).toBe(true);
    expect(value).toBeGreaterThan(0);
  });

  it.each([
    ["the settle margin is shorter than a lease", limits.SETTLE_MARGIN_MS, limits.LEASE_MS_MAX],
    ["an outbox is sent again no sooner than a lease ends", limits.LEASE_MS_MAX - 1, limits.FLUSH_AFTER_MS],
    ["a failed delivery pauses longer than a first one", limits.FLUSH_AFTER_MS, limits.FLUSH_RETRY_MS],
    ["probes pause longer and longer", limits.PROBE_FIRST_MS, limits.PROBE_PAUSE_MS_MAX],
    ["a row is smaller than the platform's", limits.ROW_BYTES_MAX, PLATFORM_ROW_BYTES],
    ["a cached answer was in the record's row", limits.CACHED_ANSWER_BYTES_MAX - 1, limits.INLINE_BYTES_MAX],
    ["the cache holds many answers", 16 * limits.CACHED_ANSWER_BYTES_MAX, limits.CACHE_BYTES_MAX],
    ["the cache leaves an isolate most of its memory", 4 * limits.CACHE_BYTES_MAX, ISOLATE_BYTES],
    [
      "a twin may come back sooner than one whose outcome is unknown",
      limits.RETRY_IN_FLIGHT_S,
      limits.RETRY_UNKNOWN_S,
    ],
    ["the store is tried for less than its Retry-After", storeTriesMs(), limits.RETRY_STORE_S * 1_000],
    ["observations leave room for changes of state", limits.OBSERVED_OUTBOX_MAX, limits.OUTBOX_ENTRIES_MAX],
    ["effect reports outlive a lease", limits.LEASE_MS_MAX, limits.EFFECT_TOKEN_MS],
  ])("agree that %s", (_relation, smaller, larger) => {
    expect(smaller).toBeLessThan(larger);
  });

  it("leave the longest entry under the bytes that one is counted as", () => {
    const entry: Entry = {
      type: "settled",
      status: 599,
      answerDigest: "d".repeat(64),
      actor: `operator:${"o".repeat(64)}`,
      code: "c".repeat(64),
      target: "t".repeat(64),
      digest: "d".repeat(64),
      at: Number.MAX_SAFE_INTEGER,
      effect: "e".repeat(64),
      attempt: Number.MAX_SAFE_INTEGER,
    };
    expect(JSON.stringify(entry).length).toBeLessThan(600);
    const place = { stream: "5".repeat(64), seq: Number.MAX_SAFE_INTEGER, prev: "e".repeat(64) };
    expect(limits.OUTBOX_ENTRIES_MAX * entryText(entry, place).length + limits.INLINE_BYTES_MAX).toBeLessThan(
      limits.ROW_BYTES_MAX,
    );
  });
});

/** Pauses between tries that double from the first one. */
function storeTriesMs(): number {
  return limits.STORE_PAUSE_MS * (2 ** (limits.STORE_TRIES_MAX - 1) - 1);
}

/** The record of a scene, and what an event makes of it some time later. */
function live(state: StateName): LiveRecord {
  const { record } = SCENES[state];
  if (record.state === "absent") throw new Error(`${state} has no record`);
  return record;
}
const apply = (record: KeyRecord, event: EventName, now: number) =>
  step(record, EVENTS[event](record, 99, HOLD), now);

/** The same record with as many undelivered entries as it may hold. */
function fill<R extends LiveRecord>(record: R): R {
  const filler = { type: "purged", at: START, effect: "effect-9", attempt: 1 } as const;
  const entries = Array.from({ length: limits.OUTBOX_ENTRIES_MAX }, () => filler);
  return { ...record, outbox: [{ inc: record.inc, acked: 0, head: STREAM_START, entries }] };
}

describe("a full outbox", () => {
  it.each(["released", "unknown, retry"] as const)("grants nothing new when %s", (state) => {
    const record = fill(live(state));
    expect(apply(record, "begin", record.t)).toMatchObject({ answer: { kind: "full" }, entries: [] });
  });

  it("still takes the truth, and drops remarks on what was refused", () => {
    const record = fill(live("unknown, hold"));
    expect(apply(record, "settle", record.t).entries).toHaveLength(1);
    expect(apply(record, "settle, old attempt", record.t).record).toBe(record);
  });

  it("does not take an operator's word that the ledger is not told", () => {
    const record = fill(live("unknown, hold"));
    const { answer, entries } = apply(record, "resolve, A says committed", record.t);
    expect(answer.kind === "proposed").toBe(entries.length === 1);
  });
});

describe("the pause", () => {
  it("between probes that learn nothing doubles up to its bound", () => {
    let { record, now } = SCENES["unknown, hold"];
    const pauses: number[] = [];
    while (pauses.length < 30 && record.state === "unknown") {
      record = apply(record, "probed silent", now).record;
      if (record.state !== "unknown" || record.probeDue === null) break;
      pauses.push(record.probeDue - now);
      now = record.probeDue;
    }
    const expected = Array.from({ length: 30 }, (_, i) =>
      Math.min(limits.PROBE_FIRST_MS * 2 ** i, limits.PROBE_PAUSE_MS_MAX),
    );
    expect(pauses).toEqual(expected);
  });
});
