// Aim: whatever the key's state machine tells is legal to the verifier, though the two share no code. Method: random events on the machine;
// its entries as a log of the tests' own writer.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Seen } from "../../../src/core/audit/observe.ts";
import { type Entry, entryText } from "../../../src/core/entry.ts";
import type { Event } from "../../../src/core/event.ts";
import { ABSENT, type Answer, type KeyRecord, type Terms } from "../../../src/core/record.ts";
import { step } from "../../../src/core/step.ts";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { emptyLog, sha256, storeLogs, Writer } from "../../support/ledger-log.ts";

const FP = "f".repeat(64);
const STREAM_START = "0".repeat(64);

const terms = (onCrash: "hold" | "retry"): Terms => ({
  fingerprint: "1",
  executor: "object",
  onCrash,
  probeDelayMs: 10,
  windowMs: 100,
  quarantineMs: 50,
  leaseMs: 30,
  executionMsMax: 60,
});

const answers: Answer[] = [
  { kind: "lost" },
  { kind: "not-kept", status: 201, size: 9, digest: "a".repeat(64) },
  { kind: "not-kept", status: 500, size: 9, digest: "b".repeat(64) },
];

const codes: Seen[] = [
  "replayed",
  "in-flight",
  "outcome-unknown",
  "key-expired",
  "key-reused",
  "not-authorized",
];

type Move = { what: number; age: number; pick: number; wait: number };

/** An event of an attempt up to two back. The tokens are those that were granted. */
function makeEvent(
  { what, age, pick }: Move,
  grants: readonly Token[],
  count: number,
  onCrash: "hold" | "retry",
): Event {
  const { token, effect } = grants.at(-1 - age) ?? { token: { inc: "none", n: 1 }, effect: "none" };
  const answer = answers[pick % answers.length] ?? { kind: "lost" };
  const fresh = {
    inc: `inc-${count}`,
    effect: `effect-${count}`,
    owner: "o",
    route: "r",
    terms: terms(onCrash),
  };
  const grounds = { code: "checked", target: pick % 2 === 0 ? "ticket-1" : null, digest: "a".repeat(64) };
  const events: Event[] = [
    { do: "begin", nonce: `nonce-${count}`, fp: FP, authorized: true, fresh },
    { do: "settle", token, effect, answer },
    { do: "report", token, reason: "timeout" },
    { do: "release", token, evidence: "status-list" },
    { do: "orphan" },
    { do: "probed", token, verdict: { kind: "committed", answer }, jitter: 0 },
    { do: "probed", token, verdict: { kind: "none", sealed: pick % 2 === 0, ageMs: 0 }, jitter: 0 },
    {
      do: "resolve",
      effect,
      operator: `op${pick % 3}`,
      grounds,
      outcome: { kind: "not-committed" },
      operatorsRequired: 2,
    },
    {
      do: "resolve",
      effect,
      operator: `op${pick % 3}`,
      grounds,
      outcome: { kind: "committed", word: JSON.stringify(answer), answer },
      operatorsRequired: 2,
    },
    { do: "observe", seen: [codes[pick % codes.length] ?? "replayed", codes[age] ?? "replayed"] },
    { do: "tick" },
  ];
  return events[what % events.length] ?? { do: "tick" };
}

type Token = { token: { inc: string; n: number }; effect: string };
type Told = { inc: string; entry: Entry };

/** All that the machine tells of one key, in order, each with its life. What is told is acknowledged at once. */
function play(moves: readonly Move[], onCrash: "hold" | "retry"): Told[] {
  const told: Told[] = [];
  const grants: Token[] = [];
  let record: KeyRecord = ABSENT;
  let t = 1_000;
  for (const [count, move] of moves.entries()) {
    t += move.wait;
    const inc = record.state === "absent" ? "" : record.inc;
    const done = step(record, makeEvent(move, grants, count, onCrash), t);
    record = done.record;
    if (done.answer.kind === "run")
      grants.push({ token: done.answer.grant.token, effect: done.answer.grant.effect });
    for (const entry of done.entries) {
      const isOld = record.state === "absent" || entry.type === "purged";
      told.push({ inc: isOld || record.state === "absent" ? inc : record.inc, entry });
    }
    if (record.state === "absent") continue;
    for (const { inc: life, acked, entries } of record.outbox) {
      const seq = acked + entries.length;
      record = step(record, { do: "acknowledge", inc: life, seq, head: STREAM_START }, t).record;
      if (record.state === "absent") break;
    }
  }
  return told;
}

it("the verifier finds nothing illegal in what the machine tells", async () => {
  const move = fc.record({
    what: fc.nat(10),
    age: fc.oneof({ arbitrary: fc.constant(0), weight: 4 }, { arbitrary: fc.nat(2), weight: 1 }),
    pick: fc.nat(5),
    wait: fc.oneof(fc.nat(20), fc.nat(200)),
  });
  const seen = new Set<string>();

  await fc.assert(
    fc.asyncProperty(
      fc.array(move, { minLength: 20, maxLength: 60 }),
      fc.constantFrom("hold", "retry"),
      async (moves, onCrash) => {
        const writer = new Writer(emptyLog());
        for (const { inc, entry } of play(moves, onCrash)) {
          seen.add(entry.type);
          const stream = sha256(inc).toString("hex");
          const {
            at,
            type,
            v: _v,
            stream: _s,
            seq: _q,
            prev: _p,
            ...rest
          } = JSON.parse(entryText(entry, { stream, seq: 1, prev: STREAM_START }));
          writer.add(stream, { type, ...rest }, at);
        }
        writer.checkpoint();
        const { verdict } = await verifyLedger(readDatabase(storeLogs([writer.log])), {
          key: writer.log.key.vkey,
        });

        expect(verdict).toMatchObject({ verdict: "sound", entries: writer.log.lines.length });
      },
    ),
    { numRuns: 200 },
  );

  const all = [
    "contradiction",
    "fenced",
    "granted",
    "late",
    "observed",
    "proposed",
    "purged",
    "released",
    "settled",
    "unknown",
  ];
  expect([...seen].sort()).toEqual(all);
});
