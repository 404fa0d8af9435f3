// Aim: by which time a record is judged; a clock that was far ahead once, and has come back, holds nobody up, and lets nothing run sooner.
import { describe, expect, it } from "vitest";
import { FLUSH_AFTER_MS, PROBE_FIRST_MS } from "../../src/core/limits.ts";
import { ABSENT, type KeyRecord, purgeAt, type Terms, windowEnd } from "../../src/core/record.ts";
import { alarmOf, step } from "../../src/core/step.ts";
import {
  apply,
  ELSEWHERE,
  EVENTS,
  type EventName,
  HOLD,
  live,
  RETRY,
  SCENES,
  SECOND,
  START,
} from "./step-table.ts";

const YEARS = 10 * 365 * 24 * 3_600 * SECOND;
const { leaseMs } = HOLD;

type Moment = readonly [at: number, name: EventName];

function play(moments: readonly Moment[], terms: Terms = ELSEWHERE, from: KeyRecord = ABSENT) {
  let record = from;
  let answer: string = "";
  // Nobody who comes later is the same call made again.
  const first = from.state === "absent" ? 0 : 100;
  for (const [i, [at, name]] of moments.entries()) {
    const k = first + i;
    const made = step(record, EVENTS[name](record, k, terms), START + at);
    record = made.record;
    answer = made.answer.kind;
  }
  return { record, answer };
}

/** Everything that was written before the clock came back is of a time in ten years. */
const BORN: Moment[] = [[YEARS, "begin"]];
const LEAPT: Moment[] = [
  [0, "begin"],
  [YEARS, "release"],
];

describe("a lease", () => {
  it.each<[string, Moment[], number]>([
    ["that was granted by a clock that was ahead", [...BORN, [0, "tick"]], leaseMs],
    ["of a record that has seen a clock that was ahead", [...LEAPT, [0, "begin"]], leaseMs],
    ["that was renewed since", [...LEAPT, [0, "begin"], [20 * SECOND, "renew"]], 20 * SECOND + leaseMs],
  ])("%s ends when its time by the clock is over", (_claim, moments, end) => {
    const { record } = play(moments);
    expect(alarmOf(record, START)).toBe(START + Math.min(end, FLUSH_AFTER_MS));
    expect(play([[end - 1, "begin"]], ELSEWHERE, record)).toMatchObject({ answer: "in-flight" });
    const over = play([[end, "begin"]], ELSEWHERE, record);
    expect(over).toMatchObject({ answer: "unknown", record: { state: "unknown", reason: "lease-over" } });
  });

  it("is not renewed past the longest execution by the clock", () => {
    const renewals = Array.from({ length: 30 }, (_, i): Moment => [i * 10 * SECOND, "renew"]);
    const { record } = play([...LEAPT, [0, "begin"], ...renewals, [290 * SECOND, "acknowledge all"]]);
    expect(record).toMatchObject({ state: "in-flight" });
    expect(alarmOf(record, START + 290 * SECOND)).toBe(START + HOLD.executionMsMax);
  });

  it("of a clock that goes back by no more than a lease ends when the clock has caught up", () => {
    const { record } = play([
      [0, "begin"],
      [-leaseMs, "tick"],
    ]);
    expect(record).toMatchObject({ state: "in-flight", ahead: 0, leaseUntil: START + leaseMs });
  });

  it("of a clock that went back and forth is a whole one from then on, by that clock", () => {
    const { record } = play([
      [0, "begin"],
      [-YEARS, "tick"],
      [10 * SECOND, "tick"],
    ]);
    const now = START + 10 * SECOND;
    expect(record).toMatchObject({ state: "in-flight", t: now, ahead: 0, leaseUntil: now + leaseMs });
    const settled = play([[11 * SECOND, "settle"]], ELSEWHERE, record).record;
    expect(settled).toMatchObject({ state: "settled", settledAt: START + 11 * SECOND });
  });

  it("that was counted by a clock that was behind is over when it is over by the right one", () => {
    const { record } = play([
      [0, "begin"],
      [-YEARS, "tick"],
      [HOLD.executionMsMax, "tick"],
    ]);
    expect(record).toMatchObject({ state: "unknown", since: START + HOLD.executionMsMax });
  });

  it("that was granted so is not ended at once by a caller who may run again", () => {
    const moments: Moment[] = [
      [0, "begin"],
      [YEARS, "report"],
      [0, "begin"],
      [SECOND, "begin"],
    ];
    expect(play(moments, RETRY)).toMatchObject({ answer: "in-flight", record: { n: 2 } });
  });
});

describe("an unknown outcome", () => {
  const LOST: Moment[] = [
    [0, "begin"],
    [SECOND, "report"],
  ];
  const born: Moment[] = [...BORN, [YEARS + leaseMs, "tick"]];

  it("is asked about at once by a clock that has come back, and then after pauses that double", () => {
    let { record } = play(born, HOLD);
    expect(alarmOf(record, START)).toBe(START);
    for (const pause of [1, 2, 4, 8]) {
      record = play([[0, "probed silent"]], HOLD, record).record;
      const acknowledged = play([[0, "acknowledge all"]], HOLD, record).record;
      expect(alarmOf(acknowledged, START)).toBe(START + pause * PROBE_FIRST_MS);
    }
  });

  it("is not taken for none because time has passed, until the clock has caught up", () => {
    const { record } = play(born, HOLD);
    const late: Moment = [YEARS + leaseMs - 1, "probed none, observed late"];
    expect(play([late], HOLD, record).record.state).toBe("unknown");
    const later: Moment = [YEARS + leaseMs + (HOLD.probeDelayMs ?? 0), "probed none, observed late"];
    expect(play([later], HOLD, record).record.state).toBe("released");
  });

  it("is not taken for none by what an hour of a clock that was ahead has written", () => {
    const hour = 3_600 * SECOND;
    const record = play([...LOST, [hour, "probed silent"]], HOLD).record;
    const late: Moment = [2 * leaseMs, "probed none, observed late"];
    expect(play([late], HOLD, record).record.state).toBe("unknown");
    const later: Moment = [hour, "probed none, observed late"];
    expect(play([later], HOLD, record).record.state).toBe("released");
  });
});

describe("what is settled", () => {
  const settled = play([...BORN, [0, "settle"]], HOLD).record;

  it("keeps the time that its record has seen: neither window nor quarantine gets shorter", () => {
    if (settled.state !== "settled") throw new Error(settled.state);
    expect(windowEnd(settled)).toBe(START + YEARS + HOLD.windowMs);
    const last = (purgeAt(settled) ?? 0) - START - 1;
    expect(play([[last, "tick"]], HOLD, settled).record.state).toBe("settled");
  });

  it("is delivered to the ledger by the clock as it is", () => {
    expect(alarmOf(settled, START)).toBe(START + FLUSH_AFTER_MS);
  });
});

describe("a record's time", () => {
  it("of a lease that is over is its end, whenever that is noticed", () => {
    const { record, now } = SCENES["in-flight, lease over"];
    const after = apply(record, "tick", now + 5 * SECOND);
    expect(after.record).toMatchObject({ since: now, t: now + 5 * SECOND });
    expect(after.entries).toMatchObject([{ type: "unknown", at: now + 5 * SECOND }]);
  });

  it("of an executor's report is when it came", () => {
    const record = live("in-flight, lease live");
    expect(apply(record, "report", record.t + SECOND).record).toMatchObject({ since: record.t + SECOND });
  });

  it("moves on with an acknowledgement", () => {
    const record = live("settled, in window");
    expect(apply(record, "acknowledge some", record.t + SECOND).record).toMatchObject({
      t: record.t + SECOND,
    });
  });

  it("is the record's own where the clock is behind it", () => {
    const record = live("unknown, hold");
    expect(apply(record, "settle", 0).record).toMatchObject({ t: record.t, settledAt: record.t });
  });

  it("gives the purge of a record the same entry however late it is repeated", () => {
    const { record, now } = SCENES["settled, quarantine over, outbox empty"];
    expect(apply(record, "tick", now + 1)).toEqual(apply(record, "tick", now + HOLD.windowMs));
  });
});
