/**
 * The cases. Each is one request shape sent to a floor and to the gateway; `factor` is the most that the
 * gateway may cost as a multiple of the floor in CPU per request, null where the row is only reported.
 */

const BODY = JSON.stringify({ amount: 1299, currency: "eur", pad: "x".repeat(69) });
const OTHER_BODY = BODY.replace("1299", "1300");

const PATH = "/payments";
const guarded = (more) => [{ id: "bench", match: PATH, key: "required", ...more }];
const send = { path: PATH, body: BODY, keys: 1 };

/**
 * `load` goes to both sides; `measuredBody`, where there is one, replaces the body that the keys
 * were first used with; `expect` is what
 * the gateway must answer to the measured requests. Floors answer 200 to everything. `isPaidLater`: what is put off until after the answers
 * is the point of the row, so that its CPU counts, too.
 */
export const ROWS = [
  {
    id: "new-object",
    title: "new key, object executor",
    factor: 1.25,
    floor: "object-fetch",
    routes: guarded({ executor: "object" }),
    load: { ...send, mode: "fresh" },
    expect: { status: 200, mark: "executed" },
  },
  {
    id: "new-ledger",
    title: "new key, object executor, with the ledger in D1",
    factor: null,
    floor: "object-fetch",
    routes: guarded({ executor: "object" }),
    vars: { LEDGER_SINKS: '["d1"]' },
    load: { ...send, mode: "fresh" },
    expect: { status: 200, mark: "executed" },
  },
  {
    id: "new-worker",
    title: "new key, worker executor",
    factor: 1.25,
    floor: "object-rpc",
    routes: guarded({ executor: "worker" }),
    load: { ...send, mode: "fresh" },
    expect: { status: 200, mark: "executed" },
  },
  {
    id: "replay-hot",
    title: "replay from the object, hot key",
    factor: 1.25,
    floor: "replay-object",
    // The isolate's cache is off where replays must be recorded durably.
    routes: guarded({ audit: "durable" }),
    load: { ...send, mode: "cycle" },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "replay-keys",
    title: "replay from the object, 1,000 keys",
    factor: 1.25,
    floor: "replay-object",
    routes: guarded({ audit: "durable" }),
    load: { ...send, mode: "cycle", keys: 1_000 },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "replay-memory",
    title: "replay from isolate memory",
    factor: 1.5,
    floor: "replay-memory",
    routes: guarded({}),
    load: { ...send, mode: "cycle" },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "replay-logged",
    title: "replay from isolate memory, with its log line",
    factor: null,
    floor: "replay-memory",
    routes: guarded({}),
    vars: { LOG_REQUESTS: "all" },
    load: { ...send, mode: "cycle" },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "replay-eager",
    title: "noted replay, hot key",
    factor: null,
    floor: "replay-noted",
    routes: guarded({ audit: "eager" }),
    vars: { LEDGER_SINKS: '["d1"]' },
    isPaidLater: true,
    load: { ...send, mode: "cycle" },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "replay-eager-keys",
    title: "noted replay, 1,000 keys",
    factor: null,
    floor: "replay-noted",
    routes: guarded({ audit: "eager" }),
    vars: { LEDGER_SINKS: '["d1"]' },
    isPaidLater: true,
    load: { ...send, mode: "cycle", keys: 1_000 },
    expect: { status: 200, mark: "replayed" },
  },
  {
    id: "unguarded",
    title: "unguarded request",
    factor: 1.15,
    floor: "proxy",
    routes: guarded({ match: "/elsewhere" }),
    load: { ...send, mode: "none" },
    expect: { status: 200, mark: null },
  },
  {
    id: "missing-key",
    title: "refusal: missing key",
    factor: null,
    floor: "empty",
    routes: guarded({}),
    load: { ...send, mode: "none" },
    expect: { status: 400, mark: "refused" },
  },
  {
    id: "mismatch",
    title: "refusal: mismatch",
    factor: null,
    floor: "empty",
    routes: guarded({}),
    load: { ...send, mode: "cycle" },
    measuredBody: OTHER_BODY,
    expect: { status: 422, mark: "mismatch" },
  },
];

/**
 * The same rows with the floor on both sides: every ratio must come out as 1.00, give or take what noise
 * there is.
 */
export const SELF_ROWS = ROWS.map((row) => ({
  ...row,
  factor: null,
  routes: null,
}));
