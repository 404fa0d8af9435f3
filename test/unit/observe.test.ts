// Aim: what callers were told is kept as long as there is room, and is never in the way of anything else.
import { describe, expect, it } from "vitest";
import { observe, type Seen } from "../../src/core/audit/observe.ts";
import { FLUSH_AFTER_MS, OBSERVED_OUTBOX_MAX } from "../../src/core/limits.ts";
import { type LiveRecord, undelivered } from "../../src/core/record.ts";
import { alarmOf, redeliveryOf, step } from "../../src/core/step.ts";
import { apply, live, STATE_NAMES, type StateName } from "./step-table.ts";

const LIVING = STATE_NAMES.filter((name) => name !== "absent" && !name.includes("quarantine over"));

/** As many refusals as fit, and all of them in the outbox. */
function crowd(state: StateName): LiveRecord {
  const record = live(state);
  const seen = new Array<Seen>(OBSERVED_OUTBOX_MAX - undelivered(record)).fill("key-reused");
  const { record: told, answer } = observe(record, seen, record.t + 1);
  if (told.state === "absent" || answer.kind !== "done") throw new Error("they fit");
  return told;
}

describe("an observation", () => {
  it.each(LIVING)("of [%s] changes the time and the outbox and nothing else", (state) => {
    const { outbox: _o, t: _t, ...rest } = live(state);
    const { outbox, t, ...told } = crowd(state);
    expect(told).toEqual(rest);
    expect(t).toBe(live(state).t + 1);
    expect(outbox.at(-1)?.entries.at(-1)).toEqual({
      type: "observed",
      code: "key-reused",
      at: t,
      effect: told.effect,
      attempt: told.n,
    });
  });

  it.each(LIVING)("of [%s] arms no alarm", (state) => {
    const { t } = live(state);
    expect(alarmOf(crowd(state), t)).toBe(alarmOf(live(state), t));
  });

  it("is sent again after a while, if it was not taken", () => {
    const record = live("settled, in window");
    const empty = apply(record, "acknowledge all", record.t).record;
    expect(redeliveryOf(empty, record.t)).toBeNull();
    const told = observe(empty, ["replayed"], record.t + 7).record;
    expect(redeliveryOf(told, record.t + 7)).toBe(record.t + 7 + FLUSH_AFTER_MS);
    expect(alarmOf(told, record.t)).toBe(alarmOf(empty, record.t));
  });

  it.each(LIVING)("that is one too many of [%s] is refused and leaves the record as it is", (state) => {
    const record = crowd(state);
    expect(observe(record, ["key-reused"], record.t)).toMatchObject({ answer: { kind: "full" } });
    expect(observe(record, ["key-reused"], record.t).record).toBe(record);
  });

  it("is taken with all that come with it, or with none of them", () => {
    const record = live("released");
    const seen = new Array<Seen>(OBSERVED_OUTBOX_MAX - undelivered(record) + 1).fill("key-reused");
    expect(observe(record, seen, record.t)).toMatchObject({ record, answer: { kind: "full" } });
  });

  it.each([
    ["in-flight, lease live", "settle", ["settled"]],
    ["unknown, hold", "release", ["released"]],
    ["unknown, retry", "begin", ["fenced", "granted"]],
    ["released", "begin", ["granted"]],
    ["unknown, hold", "resolve, A says committed", ["proposed"]],
    ["settled, in window", "settle, old attempt", ["late"]],
  ] as const)("is not in the way of [%s] when [%s]", (state, event, types) => {
    const record = crowd(state);
    expect(apply(record, event, record.t).entries.map(({ type }) => type)).toEqual(types);
  });

  it("comes before the lapse that the same step finds", () => {
    const record = live("in-flight, lease over");
    if (record.state !== "in-flight") throw new Error("it is in flight");
    const done = step(record, { do: "observe", seen: ["in-flight"] }, record.leaseUntil);
    expect(done.entries.map(({ type }) => type)).toEqual(["observed", "unknown"]);
  });
});
