/** Histories that must be rejected, each by one invariant: a sound one with one thing changed. */
import type { Answered, Datum, History, LedgerView, Left, Remains, Row, Stored } from "./history.ts";

const RULES = { windowMs: 30_000, quarantineMs: 10_000, executionMsMax: 20_000, onCrash: "hold" } as const;

export function stored(changes: Partial<Stored> = {}): Stored {
  return {
    v: 1,
    state: "in-flight",
    inc: "life1",
    n: 1,
    effect: "e1",
    fp: "fp",
    t: 10,
    nonce: "nonce",
    leaseUntil: 5_010,
    ahead: 0,
    answer: null,
    owed: 0,
    told: 1,
    entries: [],
    actor: null,
    evidence: null,
    reason: null,
    ...changes,
  };
}

const settled = (changes: Partial<Stored> = {}): Stored =>
  stored({
    state: "settled",
    t: 50,
    leaseUntil: null,
    ahead: 0,
    answer: "kept 201 b1",
    told: 2,
    actor: "executor",
    ...changes,
  });

function answered(changes: Partial<Answered> = {}): Answered {
  return {
    status: 201,
    mark: "executed",
    slug: "",
    body: "b1",
    fields: "content-type: application/json",
    others: "idempotency-expires: then",
    ...changes,
  };
}

const refused = (slug: string, status = 409): Answered =>
  answered({ status, slug, mark: "refused", body: "problem", others: "" });

/** A call of key `k0` with its answer; null: none came. */
function called(
  call: number,
  from: number,
  to: number,
  answer: Answered | null,
  mayAsk = true,
  variant = 0,
): [number, Datum][] {
  const asked: Datum = { do: "call", call, client: "client0", key: "k0", variant, mayAsk };
  const ended: Datum =
    answer === null ? { do: "silence", call, key: "k0" } : { do: "return", call, key: "k0", answer };
  return [
    [from, asked],
    [to, ended],
  ];
}

function granted(at: number, effect: string): [number, Datum] {
  return [at, { do: "granted", key: "k0", clock: at, seenFrom: at, effect, rules: RULES }];
}

export function change(
  at: number,
  before: Stored | null,
  after: Stored | null,
  token: { inc: string; n: number } | null = null,
): [number, Datum] {
  return [at, { do: "stored", key: "k0", clock: at, method: "settle", token, before, after, reads: 1 }];
}

function arrived(at: number, effect: string, variant = 0): [number, Datum] {
  return [at, { do: "arrive", key: "k0", effect, attempt: 1, dedupe: "", variant }];
}

const executed = (at: number, effect: string, execution = 1): [number, Datum] => [
  at,
  { do: "execute", key: "k0", effect, execution },
];
const replied = (at: number, effect: string, body: string): [number, Datum] => [
  at,
  { do: "reply", key: "k0", effect, status: 201, body, whole: true },
];

/** One operation that goes well, in order of time. */
export const SOUND: readonly [number, Datum][] = [
  ...called(1, 0, 60, answered()),
  granted(10, "e1"),
  change(10, null, stored()),
  arrived(20, "e1"),
  executed(30, "e1"),
  replied(40, "e1", "b1"),
  change(50, stored(), settled()),
  ...called(2, 100, 110, answered({ mark: "replayed" })),
];

const NOTHING_REMAINS: Remains = { objects: [], shards: [], timers: [], calls: [], hasDatabase: false };
const GONE = { name: "k0", kind: "key", isAlarmLost: false, values: [], alarm: null } as const;

function withRemains(changes: Partial<Remains>): History {
  return historyOf(SOUND, { remains: { ...NOTHING_REMAINS, ...changes } });
}

const NO_LEDGER: LedgerView = { lines: null, database: null, shown: [], retentionMs: 1_000 };

export function historyOf(rows: readonly [number, Datum][], changes: Partial<History> = {}): History {
  const inOrder = rows.map(([at, row], i) => ({ at, row, i })).toSorted((a, b) => a.at - b.at || a.i - b.i);
  return {
    seed: 0,
    rows: inOrder.map(({ at, row }) => ({ at, ...row }) as Row),
    ledger: NO_LEDGER,
    left: [],
    rested: null,
    probing: "sealed",
    clocks: { backMs: 0, whose: new Set() },
    asksRights: false,
    mayReach: ["https://origin.example/"],
    quota: null,
    remains: NOTHING_REMAINS,
    endedAt: 1_000_000,
    cameToRest: true,
    marks: new Map(),
    digest: 0,
    events: 0,
    ...changes,
  };
}

function left(changes: Stored, clock = 1_000): Left[] {
  return [{ key: "k0", stored: changes, isUnreadable: false, alarm: null, clock }];
}

export const more = (...rows: readonly (readonly [number, Datum])[]): History =>
  historyOf([...SOUND, ...(rows as [number, Datum][])]);

const unknown = stored({ state: "unknown", leaseUntil: null, told: 2 });
const TOKEN = { inc: "life0", n: 1 };

export const PLANTED: readonly [invariant: string, what: string, history: History][] = [
  [
    "I1",
    "two effects in one window",
    more(
      granted(200, "e2"),
      change(200, settled(), stored({ effect: "e2", n: 2 })),
      arrived(210, "e2"),
      executed(220, "e2", 2),
    ),
  ],
  ["I1", "one attempt that arrives twice", more(arrived(25, "e1"))],
  ["I1", "an arrival that nobody was granted", more(arrived(25, "e9"))],
  [
    "I2",
    "two answers in one window",
    more(...called(3, 200, 210, answered({ mark: "replayed", status: 200 }))),
  ],
  [
    "I2",
    "a cookie in a replay",
    more(
      ...called(
        3,
        200,
        210,
        answered({ mark: "replayed", others: "idempotency-expires: then\nset-cookie: a=b" }),
      ),
    ),
  ],
  [
    "I3",
    "an old token that settles",
    historyOf([
      granted(10, "e1"),
      change(10, null, stored()),
      replied(40, "e1", "b1"),
      change(50, stored(), settled(), TOKEN),
    ]),
  ],
  [
    "I7",
    "a replay for one who may not have it",
    historyOf([...SOUND, ...called(3, 200, 210, answered({ mark: "replayed" }), false)], {
      asksRights: true,
    }),
  ],
  [
    "I8",
    "the answer to another request",
    historyOf(SOUND.map(([at, row]) => [at, row.do === "arrive" ? { ...row, variant: 7 } : row])),
  ],
  [
    "I8 told",
    "another request that is told of a twin",
    more(...called(3, 55, 58, refused("in-flight"), true, 7)),
  ],
  ["I9", "an open record that is gone", more(change(5_000, unknown, null))],
  ["I9", "a settled record that is gone in its quarantine", more(change(30_100, settled(), null))],
  [
    "I9 window",
    "a replay after the window",
    more(...called(3, 35_000, 35_010, answered({ mark: "replayed" }))),
  ],
  [
    "I14 lease",
    "a lease without end",
    historyOf([granted(10, "e1"), change(10, null, stored({ leaseUntil: 99_000 }))]),
  ],
  ["I10", "an unknown after an answer", more(...called(3, 200, 210, refused("outcome-unknown")))],
  ["I10", "a grant after an answer", more(granted(300, "e2"))],
  [
    "I11",
    "an answer that the origin never gave",
    historyOf([granted(10, "e1"), change(10, null, stored()), change(50, stored(), settled())]),
  ],
  [
    "I12",
    "a released attempt that was executed",
    historyOf([
      granted(10, "e1"),
      change(10, null, stored()),
      arrived(20, "e1"),
      executed(30, "e1"),
      change(50, stored(), stored({ state: "released", leaseUntil: null, evidence: "sealed-none" })),
    ]),
  ],
  [
    "I13",
    "an attempt's number twice",
    historyOf([
      granted(10, "e1"),
      change(10, null, stored()),
      granted(20, "e2"),
      change(20, stored({ state: "released", leaseUntil: null }), stored({ effect: "e2" })),
    ]),
  ],
  [
    "I14",
    "a record whose time falls",
    historyOf([granted(10, "e1"), change(10, null, stored()), change(12, stored(), stored({ t: 5 }))]),
  ],
  [
    "T25",
    "a write over a later build's record",
    more([200, { do: "future", key: "k0", isThere: true }], change(210, settled(), settled({ told: 3 }))),
  ],
  [
    "I17",
    "a connection to a host that a request has named",
    more([200, { do: "connect", to: "https://origin.example.elsewhere.example/pay/k0" }]),
  ],
  [
    "quota",
    "two new keys in a minute of one",
    historyOf([...SOUND, change(300, null, stored({ inc: "life2", effect: "e2" }))], {
      quota: { newKeysPerMinute: 1, clock: 0 },
    }),
  ],
  [
    "T25",
    "a record of the next build that this one has ended",
    more(change(60_000, settled({ v: 2 }), null)),
  ],
  ["thrown", "a promise that nobody listens to", more([200, { do: "defect", text: "nobody listened" }])],
  [
    "I4 operators",
    "an outcome by the word of one",
    historyOf([
      granted(10, "e1"),
      change(10, null, stored()),
      change(20, stored(), unknown),
      replied(25, "e1", "b1"),
      [30, { do: "resolve", key: "k0", effect: "e1", operator: "op1", outcome: "committed" }],
      change(40, unknown, settled({ actor: "operator:op1" })),
    ]),
  ],
  [
    "linear",
    "an answer, and then a twin that still runs",
    more(...called(3, 200, 210, refused("in-flight"))),
  ],
  ["L1", "a record that stays in flight", historyOf(SOUND, { left: left(stored()) })],
  ["L2", "an unknown that could be asked about", historyOf(SOUND, { left: left(unknown) })],
  ["L4", "a record that stays after its end", historyOf(SOUND, { left: left(settled(), 900_000) })],
  ["L5", "a last call that got no answer", more(...called(3, 200, 210, null))],
  [
    "L6",
    "a value that a record has left behind",
    withRemains({ objects: [{ ...GONE, values: ["body:0"] }] }),
  ],
  ["L6", "an alarm of a key that is gone", withRemains({ objects: [{ ...GONE, alarm: 5 }] })],
  [
    "L6",
    "who counts and never forgets",
    withRemains({ objects: [{ ...GONE, kind: "quota", values: ["count"] }] }),
  ],
  [
    "L6",
    "lines of a bundle that has been full for long",
    withRemains({ shards: [{ shard: "1:0", size: 9, bundleLines: 4, staged: [{ first: 0, count: 8 }] }] }),
  ],
  ["L6", "a timer without an end", withRemains({ timers: [{ process: "worker1", label: "timer" }] })],
  ["L6", "a call that is never answered", withRemains({ calls: ["worker1"] })],
  ["rest", "a run without an end", historyOf(SOUND, { cameToRest: false })],
];
