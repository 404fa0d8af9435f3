/** Small histories of one key: good ones, and for each rule of the checker one that breaks it. */
import type { CrashRule, Fact, History, Operation, Told, Use } from "./history.ts";
import type { Point } from "./points.ts";

const KEY = "key-1-1";

const called = (call: number, use: Use): Fact => ({ kind: "called", key: KEY, call, use });
const tell = (call: number, told: Told): Fact => ({ kind: "told", key: KEY, call, told });
const silence = (call: number): Fact => ({ kind: "silence", key: KEY, call });
const executed = (execution = "execution-1", effect = "effect-1"): Fact => ({
  kind: "executed",
  key: KEY,
  effect,
  execution,
});
const replied = (digest = "d1"): Fact => ({ kind: "replied", key: KEY, digest });
const looked = (state: string | null, effects: readonly string[] = []): Fact => ({
  kind: "looked",
  key: KEY,
  state,
  effects,
  toTell: 0,
});
const arrived = (attempt = 1, effect = `effect-${attempt}`, dedupe: string | null = null): Fact => ({
  kind: "arrived",
  key: KEY,
  effect,
  attempt,
  dedupe,
});
const killed: Fact = {
  kind: "killed",
  kill: 1,
  point: "effect-done",
  executor: "object",
  crashRule: "hold",
  hit: true,
};
const started: Fact = { kind: "started", kill: 1 };

const success = (mark: string, digest = "d1", fields = "x-receipt: execution-1"): Told => ({
  status: 201,
  mark,
  slug: null,
  retryAfterS: null,
  digest,
  fields,
});
const refusal = (status: number, mark: string, slug: string | null, retryAfterS: number | null): Told => ({
  status,
  mark,
  slug,
  retryAfterS,
  digest: slug ?? "",
  fields: "",
});
const unknown = refusal(409, "unknown", "outcome-unknown", 30);
const inFlight = refusal(409, "in-flight", "in-flight", 1);

function describe(facts: Fact[], crashRule: CrashRule = "hold", point: Point = "effect-done"): History {
  const operation: Operation = { key: KEY, executor: "object", crashRule, point, kill: 1, isBrief: false };
  return { operations: [operation], facts };
}

/** The same of an operation of the other executor, or of one whose key is free again soon. */
function change(history: History, changes: Partial<Operation>): History {
  return { ...history, operations: history.operations.map((operation) => ({ ...operation, ...changes })) };
}

const settled = [
  called(1, "first"),
  arrived(),
  executed(),
  replied(),
  tell(1, success("executed")),
  killed,
  started,
];
const replay = [called(2, "retry"), tell(2, success("replayed"))];
const ending = [called(3, "last"), tell(3, success("replayed")), looked("settled")];
const lost = [called(1, "first"), arrived(), executed(), killed, silence(1), started];
const lostAnswer = [called(1, "first"), arrived(), executed(), replied(), killed, silence(1), started];
const held = [called(2, "retry"), tell(2, unknown), called(3, "last"), tell(3, unknown), looked("unknown")];
const incomplete = [called(1, "first"), killed, silence(1), started];
const ran = [called(2, "retry"), arrived(), executed(), replied(), tell(2, success("executed")), ...ending];
const lostThere = [called(1, "first"), arrived(1, "effect-1", "a"), executed(), killed, silence(1), started];
const ranThere = [
  called(2, "retry"),
  arrived(2, "effect-2", "a"),
  replied(),
  tell(2, success("executed")),
  ...ending,
];

const toLater: Fact = { kind: "swapped", to: "later" };
const toThis: Fact = { kind: "swapped", to: "this" };
const refused = refusal(503, "refused", "store-unavailable", 2);
const broken: Fact = { kind: "broken", key: KEY, point: "settled", hit: true };

/** A later build claims it, this one has to leave it alone, and the later one goes on. */
const later = [toLater, ...settled, toThis, called(8, "recheck"), tell(8, refused), toLater];

export const GOOD: readonly [name: string, history: History][] = [
  ["a replayed answer", describe([...settled, ...replay, ...ending])],
  ["a held outcome", describe([...lost, ...held])],
  [
    "a grant that was told again",
    change(describe([...settled, ...replay, ...ending], "hold", "grant-unheard"), { executor: "worker" }),
  ],
  ["a stored answer", describe([...lostAnswer, ...replay, ...ending], "hold", "settled")],
  ["a key that was freed", change(describe([...settled, looked(null)]), { isBrief: true })],
  ["an effect after the kill", describe([...lost.filter((f) => f.kind !== "executed"), executed(), ...held])],
  ["an attempt that the origin never saw", describe([called(1, "first"), killed, silence(1), ...held])],
  ["a claim that ran after half a request", describe([...incomplete, ...ran], "hold", "body-sending")],
  ["a second attempt at an origin that drops repeats", describe([...lostThere, ...ranThere], "retry")],
  ["a lease that had to end first", describe([...lost, called(9, "retry"), tell(9, inFlight), ...held])],
  [
    "a caller whose attempt was closed by the origin's word before it could say anything",
    describe([
      ...[called(1, "first"), arrived(), executed(), replied()],
      ...[tell(1, refusal(503, "unknown", "claim-lost", 2)), ...replay, ...ending],
    ]),
  ],
  [
    "a loss the first caller heard of",
    describe([...lost.slice(0, 3), tell(1, { ...unknown, status: 502 }), killed, ...held]),
  ],
  ["a record of a later build", describe([...later, ...replay, ...ending])],
  [
    "a record that a later build may have stored anew",
    describe([...settled, toLater, toThis, called(8, "recheck"), tell(8, refused), toLater, ...ending]),
  ],
  [
    "a caller who hears of a broken object, and a stored answer",
    change(
      describe(
        [
          called(1, "first"),
          arrived(),
          executed(),
          replied(),
          broken,
          tell(1, { ...unknown, status: 502 }),
        ].concat(replay, ending),
        "hold",
        "settled",
      ),
      { kill: 0 },
    ),
  ],
  [
    "an answer that broke off with its object",
    describe([...lostAnswer.slice(0, 4), broken, silence(1), ...replay, ...ending]),
  ],
  [
    "a call that met nobody between kill and start",
    describe([...lost.slice(0, -1), called(9, "duplicate"), silence(9), started, ...held]),
  ],
];

/** One key's facts under two keys: the second operation is the first one's twin. */
function twin(history: History): History {
  const facts = history.facts.map((fact) => ("key" in fact ? { ...fact, key: "key-1-2" } : fact));
  const operations = history.operations.map((operation) => ({ ...operation, key: "key-1-2" }));
  return {
    operations: [...history.operations, ...operations],
    facts: [...history.facts, ...facts.filter((fact) => "key" in fact)],
  };
}

const again = [arrived(2), executed("execution-2")];

export const BAD: readonly [rule: string, history: History][] = [
  ["dispatched-twice", describe([...lost, ...again.slice(0, 1), ...held])],
  ["executed-twice", describe([...lost, ...again, ...held])],
  ["dedupe-key-changed", describe([...lost, ...ranThere], "retry")],
  ["dedupe-key-changed", describe([...lostThere, ...held])],
  ["attempt-miscounted", describe([...lostThere, arrived(1, "effect-9", "a"), ...ranThere], "retry")],
  [
    "attempt-without-crash",
    describe([called(1, "first"), arrived(2), executed(), killed, silence(1), ...held]),
  ],
  [
    "effect-id-repeated",
    describe([...lostThere, arrived(2, "effect-1", "a"), ...ranThere.slice(2)], "retry"),
  ],
  ["answer-invented", describe([...settled.filter(({ kind }) => kind !== "replied"), ...replay, ...ending])],
  [
    "answers-differ",
    describe([...settled, replied("d2"), called(2, "retry"), tell(2, success("replayed", "d2")), ...ending]),
  ],
  [
    "answers-differ",
    describe([...settled, called(2, "retry"), tell(2, success("replayed", "d1", "")), ...ending]),
  ],
  [
    "executed-told-twice",
    describe([...settled, called(2, "retry"), tell(2, success("executed")), ...ending]),
  ],
  ["answer-forgotten", describe([...settled, ...held])],
  ["answer-forgotten", describe([...settled, called(2, "retry"), tell(2, inFlight), ...ending])],
  [
    "answer-forgotten",
    describe([
      ...settled,
      called(2, "retry"),
      tell(2, refusal(503, "refused", "store-unavailable", 2)),
      ...ending,
    ]),
  ],
  ["ran-after-answer", describe([...settled, called(2, "retry"), arrived(2), killed, silence(2), ...ending])],
  [
    "ran-after-unknown",
    describe([
      called(1, "first"),
      killed,
      silence(1),
      ...held.slice(0, 2),
      called(4, "retry"),
      ...again,
      ...held.slice(2),
    ]),
  ],
  [
    "answer-unexpected",
    describe([...lost, called(9, "retry"), tell(9, refusal(500, "refused", null, null)), ...held]),
  ],
  [
    "answer-unexpected",
    describe([...lost, called(9, "retry"), tell(9, refusal(422, "mismatch", "key-reused", null)), ...held]),
  ],
  [
    "answer-unexpected",
    describe([...lost, called(9, "retry"), tell(9, { ...unknown, retryAfterS: null }), ...held]),
  ],
  ["silence-without-kill", describe([...lost, called(9, "retry"), silence(9), ...held])],
  ["unclaimed-claimed", describe([...incomplete, ...held], "hold", "body-sending")],
  [
    "unclaimed-claimed",
    describe([called(1, "first"), arrived(), killed, silence(1), ...held], "hold", "body-sending"),
  ],
  [
    "unclaimed-claimed",
    describe([...incomplete, called(2, "retry"), tell(2, inFlight), ...ran], "hold", "begin-received"),
  ],
  ["settled-lost", describe([...lostAnswer, ...held], "hold", "settled")],
  [
    "settled-lost",
    describe([...lostAnswer, called(9, "retry"), tell(9, inFlight), ...replay], "hold", "answer-ready"),
  ],
  [
    "settled-lost",
    change(describe([...lostAnswer.slice(0, 4), broken, silence(1), ...held], "hold", "settled"), {
      kill: 0,
    }),
  ],
  ["later-read", describe([toLater, ...settled, toThis, ...replay, toLater, ...ending])],
  [
    "later-read",
    describe([toLater, ...lost, toThis, called(8, "retry"), arrived(2), tell(8, refused), toLater, ...held]),
  ],
  [
    "answer-forgotten",
    describe([...settled, toLater, toThis, called(8, "retry"), tell(8, unknown), toLater, ...ending]),
  ],
  ["answer-forgotten", describe([...later, called(9, "retry"), tell(9, refused), ...ending])],
  [
    "grant-not-repeated",
    change(describe([...lost, ...held], "hold", "grant-unheard"), { executor: "worker" }),
  ],
  ["key-not-freed", change(describe([...settled, looked("expired")]), { isBrief: true })],
  ["key-not-freed", change(describe([...settled, looked("unknown")]), { isBrief: true })],
  ["key-not-freed", change(describe([...settled]), { isBrief: true })],
  ["unsettled", describe([...lost, called(3, "last"), tell(3, inFlight), looked("in-flight")])],
  ["unsettled", describe([...lost, called(3, "last"), killed, silence(3), looked("unknown")])],
  ["retry-unanswered", describe([...lostThere, ...held], "retry")],
  [
    "success-without-effect",
    describe([...settled.filter(({ kind }) => kind !== "executed"), ...replay, ...ending]),
  ],
  ["state-contradicts", describe([...lost, ...held.slice(0, -1), looked("settled")])],
  ["state-contradicts", describe([...settled, ...replay, ...ending.slice(0, -1), looked("unknown")])],
  ["state-contradicts", describe([...lost, ...held.slice(0, -1), looked(null)])],
  ["effect-id-shared", twin(describe([...lost, ...held]))],
  ["operation-unobserved", describe([killed])],
];
