/** What holds of a record after any history, and the moves that are not a question of state and event alone. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STREAM_START } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import {
  ABSENT,
  type InFlight,
  type KeyRecord,
  type LiveRecord,
  purgeAt,
  undelivered,
} from "../../src/core/record.ts";
import { type Step, step } from "../../src/core/step.ts";
import {
  apply,
  ELSEWHERE,
  EVENT_NAMES,
  EVENTS,
  type EventName,
  HOLD,
  live,
  RETRY,
  SCENES,
  SECOND,
  START,
  UNASKED,
} from "./step-table.ts";

const RUNS = { numRuns: 400 };

/** Typed arrays can't be frozen; the machine only carries them. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of Object.values(value)) freeze(member);
    Object.freeze(value);
  }
  return value;
}

/** One step of a history. `t` is the time it was judged by. */
type Seen = { before: KeyRecord; event: Event; now: number; t: number; after: Step };

const wait = fc.oneof(
  { weight: 3, arbitrary: fc.nat(3 * SECOND) },
  fc.constantFrom(10 * SECOND, HOLD.leaseMs, HOLD.windowMs, HOLD.quarantineMs),
  fc.integer({ min: -200 * SECOND, max: -1 }),
);
// The moves that carry a life on come more often, so that histories get to its end.
const name = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...EVENT_NAMES) },
  fc.constantFrom("begin", "settle", "acknowledge all", "tick"),
);
const move = fc.tuple(name, wait);
const terms = fc.constantFrom(HOLD, RETRY, ELSEWHERE, UNASKED, { ...RETRY, executionMsMax: HOLD.leaseMs });
/** Half of the histories begin with a second attempt, so that there is an old token that was once the current one. */
const start = fc.constantFrom<[EventName, number][]>(
  [],
  [
    ["begin", 0],
    ["release", SECOND],
    ["begin", SECOND],
  ],
);
const history = fc
  .tuple(start, fc.array(move, { minLength: 1, maxLength: 50 }), terms)
  .map(([first, rest, lifeTerms]) => [[...first, ...rest], lifeTerms] as const);
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

/** A record's time never falls, and a lease runs by the clock wherever that stands: where it is behind, by how far it has gone on since. */
function judgedAt(before: KeyRecord, now: number): number {
  if (before.state === "absent" || before.t <= now) return now;
  return Math.max(before.t, before.state === "in-flight" ? now + before.ahead : now);
}

/** A clock that was behind and has caught up leaves a lease a whole one. */
function prolong(before: InFlight, now: number): InFlight {
  if (before.ahead === 0 || before.t > now) return before;
  const whole = Math.min(now + before.terms.leaseMs, before.executionUntil);
  return { ...before, leaseUntil: Math.max(before.leaseUntil, whole) };
}

function play([moves, lifeTerms]: History, see: (seen: Seen) => void): void {
  let record: KeyRecord = ABSENT;
  let now = START;
  for (const [k, [name, pause]] of moves.entries()) {
    now += pause;
    const before: KeyRecord = freeze(record);
    const event = freeze(EVENTS[name](before, k, lifeTerms));
    const after = step(before, event, now);
    see({ before, event, now, t: judgedAt(before, now), after });
    record = after.record;
  }
}

/** `makeCheck` is called once a history, so that a check can remember what it saw of it. */
function holdsAlways(makeCheck: () => (seen: Seen) => void): void {
  fc.assert(
    fc.property(history, (one) => play(one, makeCheck())),
    RUNS,
  );
}

/** A record without what a remark on a refused event, or a clock that went back, may touch. */
function essence(record: LiveRecord) {
  const { outbox: _outbox, t: _t, ...rest } = { ...record, ahead: 0 };
  return rest;
}

const hasEntries = (stream: { entries: readonly unknown[] }) => stream.entries.length > 0;

const isStale = (event: Event, record: LiveRecord): boolean =>
  "token" in event && (event.token.inc !== record.inc || event.token.n !== record.n);

describe("a record over any history", () => {
  it("never sees time run backwards within a life", () => {
    holdsAlways(() => ({ before, after }) => {
      if (before.state === "absent" || after.record.state === "absent") return;
      if (before.inc === after.record.inc) expect(after.record.t).toBeGreaterThanOrEqual(before.t);
    });
  });

  it("keeps with every write the time by which it was judged", () => {
    holdsAlways(() => ({ before, t, now, after }) => {
      if (after.record === before || after.record.state === "absent") return;
      const isNewLife = before.state !== "absent" && before.inc !== after.record.inc;
      expect(after.record.t).toBe(isNewLife ? now : t);
    });
  });

  it("grants tokens that count up by one within a life and never come again", () => {
    holdsAlways(() => {
      const highest = new Map<string, number>();
      return ({ after }) => {
        if (after.answer.kind !== "run" || after.answer.repeated) return;
        const { inc, n } = after.answer.grant.token;
        expect(n).toBe((highest.get(inc) ?? 0) + 1);
        highest.set(inc, n);
      };
    });
  });

  it("grants only what nothing stored forbids", () => {
    holdsAlways(() => ({ before, t, after }) => {
      if (after.answer.kind !== "run" || after.answer.repeated || before.state === "absent") return;
      const mayRetry = before.state !== "settled" && before.terms.onCrash === "retry";
      const isOver = (purgeAt(before) ?? Number.POSITIVE_INFINITY) <= t;
      expect(before.state === "released" || isOver || mayRetry).toBe(true);
    });
  });

  it("is not changed by a token that is not the current one", () => {
    holdsAlways(() => ({ before: stored, event, now, t, after }) => {
      if (stored.state === "absent" || !isStale(event, stored)) return;
      const before = stored.state === "in-flight" ? prolong(stored, now) : stored;
      expect(after.answer.kind).toBe("fenced");
      if (after.record.state === "absent") throw new Error("a stale token wiped the record");
      if (before.state === "in-flight" && before.leaseUntil <= t) {
        expect(after.record).toMatchObject({ state: "unknown", reason: "lease-over", n: before.n });
      } else {
        expect(essence(after.record)).toEqual(essence(before));
      }
    });
  });

  it("does not leave in-flight or unknown because time passes", () => {
    const years = fc.integer({ min: 0, max: 3_000_000_000_000 });
    fc.assert(
      fc.property(history, years, (one, later) => {
        play(one, ({ after }) => {
          const { state } = after.record;
          if (state !== "in-flight" && state !== "unknown") return;
          const ticked = step(after.record, { do: "tick" }, START + later).record.state;
          expect(state === "unknown" ? ["unknown"] : ["in-flight", "unknown"]).toContain(ticked);
        });
      }),
      RUNS,
    );
  });

  it("leaves storage only when it is finished, its quarantine is over and nothing is left to tell", () => {
    holdsAlways(() => ({ before, t, after }) => {
      if (before.state === "absent" || after.record.state !== "absent") return;
      expect(["settled", "released"]).toContain(before.state);
      expect(purgeAt(before)).toBeLessThanOrEqual(t);
      expect(undelivered(before)).toBe(0);
      expect(after.entries.map((entry) => entry.type)).toEqual(["purged"]);
    });
  });

  it("holds in its outbox, without a gap, every entry a step returned and the ledger has not acknowledged", () => {
    holdsAlways(() => {
      const told = new Map<string, unknown[]>();
      return ({ before, event, after }) => {
        const { record } = after;
        if (record.state === "absent") return;
        const added = before.state !== "absent" && before.inc !== record.inc ? 1 : 0;
        const ended = before.state === "absent" ? record.inc : before.inc;
        told.set(ended, [...(told.get(ended) ?? []), ...after.entries.slice(0, added)]);
        told.set(record.inc, [...(told.get(record.inc) ?? []), ...after.entries.slice(added)]);
        for (const stream of record.outbox) {
          expect(stream.entries).toEqual(told.get(stream.inc)?.slice(stream.acked));
        }
        if (before.state === "absent" || event.do === "acknowledge") return;
        const kept = record.outbox.map((stream) => stream.inc);
        const owed = [...before.outbox.filter(hasEntries).map(({ inc }) => inc), ended];
        expect(kept).toEqual(expect.arrayContaining(owed));
        for (const stream of record.outbox.slice(0, -1)) expect(stream.entries.at(-1)?.type).toBe("purged");
      };
    });
  });

  it("names in every entry the effect of the attempt that the entry numbers", () => {
    holdsAlways(() => {
      const attempts = new Map<string, number>();
      return ({ event, after }) => {
        if (after.answer.kind === "run") attempts.set(after.answer.grant.effect, after.answer.grant.token.n);
        for (const { type, effect, attempt } of after.entries) {
          // Of an older attempt only its executor knows the effect.
          if (type === "late") expect(event).toMatchObject({ do: "settle", effect, token: { n: attempt } });
          // Reported effects have ids of their own.
          else if (type === "effect") expect(event).toMatchObject({ do: "tell", attempt: { n: attempt } });
          else expect([effect, attempt]).toEqual([effect, attempts.get(effect)]);
        }
      };
    });
  });

  it("keeps fingerprint, owner, terms and birth for the whole of a life", () => {
    holdsAlways(() => ({ before, after: { record } }) => {
      if (before.state === "absent" || record.state === "absent" || before.inc !== record.inc) return;
      const { v, fp, owner, route, terms, bornAt } = before;
      expect(record).toMatchObject({ v, fp, owner, route, terms, bornAt });
    });
  });

  it("has a time for the next probe exactly where its outcome is unknown and its origin can be asked", () => {
    holdsAlways(() => ({ after: { record } }) => {
      if (record.state !== "unknown") return;
      expect(record.probeDue === null).toBe(record.terms.probeDelayMs === null);
    });
  });

  it("asks for an alarm no later than anything is due", () => {
    holdsAlways(() => ({ after: { record, alarm } }) => {
      if (record.state === "absent") return;
      const latest = Math.min(
        record.state === "in-flight" ? record.leaseUntil : Number.POSITIVE_INFINITY,
        record.state === "unknown" && record.probeDue !== null ? record.probeDue : Number.POSITIVE_INFINITY,
        purgeAt(record) ?? Number.POSITIVE_INFINITY,
      );
      // What was only observed is delivered by whoever wrote it, or by the next access.
      const isOwed = record.outbox.some(({ entries }) => entries.some(({ type }) => type !== "observed"));
      if (record.state === "in-flight" || isOwed) expect(alarm).not.toBeNull();
      if (Number.isFinite(latest)) expect(alarm).toBeLessThanOrEqual(latest);
    });
  });

  it("is made anew, the same for the same input, and the input stays as it was", () => {
    holdsAlways(() => ({ before, event, now, after }) => {
      const copy = structuredClone(before);
      expect(step(before, event, now)).toEqual(after);
      expect(before).toEqual(copy);
    });
  });

  it("never makes a step throw, whatever the clock says", () => {
    const anyTime = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(history, anyTime, fc.constantFrom(...EVENT_NAMES), (one, now, name) => {
        play(one, ({ after }) => {
          expect(() => step(after.record, EVENTS[name](after.record, 999, HOLD), now)).not.toThrow();
        });
      }),
      RUNS,
    );
  });

  it("meets every state and every answer but a full outbox in these histories", () => {
    const met = new Set<string>();
    for (const one of fc.sample(history, { numRuns: 1_000, seed: 1 })) {
      play(one, ({ before, after }) => {
        if ("inc" in before && "inc" in after.record && before.inc !== after.record.inc) met.add("next life");
        met.add(after.record.state);
        met.add(`answer ${after.answer.kind}`);
        for (const entry of after.entries) met.add(`entry ${entry.type}`);
      });
    }
    const states = ["absent", "in-flight", "unknown", "settled", "released"];
    const answers =
      "run replay authorize mismatch in-flight expired unknown done lapsed fenced proposed stale";
    const entries =
      "granted settled released unknown fenced late observed contradiction effect proposed purged";
    expect([...met].sort()).toEqual(
      [
        "next life",
        ...states,
        ...answers.split(" ").map((kind) => `answer ${kind}`),
        ...entries.split(" ").map((type) => `entry ${type}`),
      ].sort(),
    );
  });
});

describe("a grant", () => {
  it("is the same for the call repeated, with the time that is left", () => {
    const record = live("in-flight, lease live");
    const one = apply(record, "begin, same nonce", record.t + SECOND).answer;
    const two = apply(record, "begin, same nonce", record.t + 4 * SECOND).answer;
    if (one.kind !== "run" || two.kind !== "run") throw new Error("not granted");
    expect(one).toMatchObject({ repeated: true, grant: { token: { n: 2 }, leaseMs: 29 * SECOND } });
    expect(two.grant).toEqual({
      ...one.grant,
      leaseMs: one.grant.leaseMs - 3 * SECOND,
      executionMs: one.grant.executionMs - 3 * SECOND,
    });
  });

  it("is renewed until the execution's end and no further", () => {
    let { record } = SCENES["in-flight, lease live"];
    for (let now = START + 10 * SECOND; record.state === "in-flight"; now += 10 * SECOND) {
      record = apply(record, "renew", now).record;
      if (record.state === "in-flight") expect(record.leaseUntil).toBeLessThanOrEqual(record.executionUntil);
      else expect(now).toBe(START + 2 * SECOND + HOLD.executionMsMax + 8 * SECOND);
    }
    expect(record.state).toBe("unknown");
  });

  it("of a new life carries what an earlier one has to tell, until that is acknowledged", () => {
    const { record, now } = SCENES["settled, quarantine over, outbox not empty"];
    const { record: next } = apply(record, "begin", now);
    if (record.state === "absent" || next.state === "absent") throw new Error("no record");
    expect(next.outbox.map((stream) => [stream.inc, stream.entries.length])).toEqual([
      [record.inc, 5],
      ["life-99", 1],
    ]);
    const acked = step(next, { do: "acknowledge", inc: record.inc, seq: 5, head: STREAM_START }, now).record;
    expect(acked).toMatchObject({ outbox: [{ inc: "life-99", acked: 0 }] });
  });
});
