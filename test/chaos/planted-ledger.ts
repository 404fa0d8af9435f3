/** Small histories of one key and its ledger: a good one, and for each rule about the ledger one that breaks it. */
import type { Fact, History, Told } from "./history.ts";

const KEY = "key-1-1";
const EFFECT = "effect-1";

const told = (status: number, mark: string, slug: string | null): Told => ({
  status,
  mark,
  slug,
  retryAfterS: slug === null ? null : 30,
  digest: "d1",
  fields: "",
});
const success = told(201, "executed", null);
const replay = told(201, "replayed", null);
const unknown = told(409, "unknown", "outcome-unknown");

const called = (call: number): Fact => ({
  kind: "called",
  key: KEY,
  call,
  use: call === 1 ? "first" : "last",
});
const tell = (call: number, answer: Told): Fact => ({ kind: "told", key: KEY, call, told: answer });
const looked = (state: string | null, toTell = 0): Fact => ({
  kind: "looked",
  key: KEY,
  state,
  effects: state === null ? [] : [EFFECT],
  toTell,
});
const arrived: Fact = { kind: "arrived", key: KEY, effect: EFFECT, attempt: 1, dedupe: null };
const executed: Fact = { kind: "executed", key: KEY, effect: EFFECT, execution: "execution-1" };
const replied: Fact = { kind: "replied", key: KEY, digest: "d1" };
const killed: Fact = {
  kind: "killed",
  kill: 1,
  point: "appended",
  executor: "object",
  crashRule: "hold",
  hit: true,
};
const started: Fact = { kind: "started", kill: 1 };
const entered = (type: string, effect = EFFECT): Fact => ({
  kind: "entered",
  stream: "s",
  effect,
  type,
  at: 0,
});
const verified = (kill: number, size: number, verdict = "sound"): Fact => ({
  kind: "verified",
  kill,
  verdict,
  sizes: { "1:0": size },
});
const shown = (size: number, root = "r"): Fact => ({ kind: "shown", shard: "1:0", size, root });
const kept = (size: number, root = "r"): Fact => ({ kind: "kept", shard: "1:0", size, root });

function describe(facts: readonly Fact[], isBrief = false): History {
  const operation = { key: KEY, executor: "object", crashRule: "hold", point: "appended", kill: 1 } as const;
  return { operations: [{ ...operation, isBrief }], facts: [...facts] };
}

const ran = [called(1), arrived, executed, replied, tell(1, success), killed, started];
const settled = [...ran, called(2), tell(2, replay), looked("settled")];
const lost = [called(1), arrived, executed, killed, { kind: "silence", key: KEY, call: 1 } as const, started];
const held = [...lost, called(2), tell(2, unknown), looked("unknown")];
const both = [entered("granted"), entered("settled")];

export const GOOD_LEDGERS: readonly [name: string, history: History][] = [
  ["a settled key", describe([...settled, looked("settled", 2), verified(1, 2), shown(2), ...both, kept(2)])],
  ["a held key", describe([...held, verified(1, 2), entered("granted"), entered("unknown")])],
  ["a key that was freed", describe([...ran, looked(null), ...both, entered("purged")], true)],
  ["a shard that nobody has used", describe([...settled, shown(0, ""), ...both])],
];

export const BAD_LEDGERS: readonly [rule: string, history: History][] = [
  ["ledger-unsound", describe([...settled, verified(1, 2, "root at 1:0 1: it differs"), ...both])],
  ["ledger-unsound", describe([...settled, verified(1, 2, "not checked: it can't be read"), ...both])],
  ["ledger-shrunk", describe([...settled, verified(1, 3), verified(2, 2), ...both])],
  ["checkpoint-forgotten", describe([...settled, shown(2), ...both])],
  ["checkpoint-forgotten", describe([...settled, shown(2, "other"), ...both, kept(2)])],
  ["entry-missing", describe([...settled, entered("settled")])],
  ["entry-missing", describe([...settled, entered("granted")])],
  ["entry-missing", describe([...held, entered("granted")])],
  ["entry-missing", describe([...ran, looked(null), ...both], true)],
  ["entry-twice", describe([...settled, ...both, entered("granted")])],
  ["entry-twice", describe([...settled, ...both, entered("settled")])],
  ["entry-contradicts", describe([...held, ...both, entered("unknown")])],
  ["entry-contradicts", describe([...settled.filter((fact) => fact !== executed), ...both])],
  ["outbox-left", describe([...ran, called(2), tell(2, replay), looked("settled", 3), ...both])],
];
