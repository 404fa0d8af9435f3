/** Small histories of one key whose origin can be asked: good ones, and for each rule about that one that breaks it. */
import type { Fact, History } from "./history.ts";

const KEY = "key-1-1";
const EFFECT = "effect-1";

const probed = (outcome: "committed" | "none" | "void"): Fact => ({
  kind: "probed",
  effect: EFFECT,
  outcome,
});
const executed: Fact = { kind: "executed", key: KEY, effect: EFFECT, execution: "execution-1" };
const released: Fact = { kind: "entered", stream: "s", effect: EFFECT, type: "released", at: 0 };
const looked = (state: string): Fact => ({
  kind: "looked",
  key: KEY,
  state,
  effects: [EFFECT],
  toTell: 0,
});
const paused: Fact = { kind: "paused", ms: 9_000, point: "effect-done", hit: true };
const killed: Fact = {
  kind: "killed",
  kill: 1,
  point: "probe-heard",
  executor: "object",
  crashRule: "probe",
  hit: true,
};

function describe(...facts: Fact[]): History {
  const operation = {
    key: KEY,
    executor: "object",
    crashRule: "probe",
    point: "probe-heard",
    kill: 1,
  } as const;
  return { operations: [{ ...operation, isBrief: false }], facts };
}

export const GOOD_PROBES: readonly [name: string, history: History][] = [
  ["an effect that was found", describe(executed, killed, probed("committed"), looked("settled"))],
  [
    "an attempt that was voided",
    describe(killed, probed("none"), probed("void"), released, looked("released")),
  ],
  [
    "a word that was lost with a process",
    describe(executed, probed("committed"), killed, probed("committed")),
  ],
  [
    "a word that was said while the process was being killed",
    describe(executed, killed, probed("committed"), { kind: "started", kill: 1 }, probed("committed")),
  ],
  [
    "a word that came while nobody listened",
    describe(executed, probed("committed"), paused, probed("committed")),
  ],
  [
    "a word that was lost at the end of the run",
    describe(probed("void"), { kind: "restarting" }, probed("void"), { kind: "restarted" }, probed("void")),
  ],
  ["an origin that has not seen it yet", describe(probed("none"), probed("none"), probed("void"))],
  [
    "an outcome that was unknown for a while",
    describe(looked("unknown"), probed("void"), looked("released")),
  ],
];

export const BAD_PROBES: readonly [rule: string, history: History][] = [
  ["asked-again", describe(executed, killed, probed("committed"), probed("committed"))],
  ["asked-again", describe(killed, probed("none"), probed("void"), probed("none"), probed("void"))],
  ["asked-again", describe(paused, probed("void"), probed("void"))],
  ["asked-again", describe({ kind: "restarting" }, { kind: "restarted" }, probed("void"), probed("void"))],
  ["released-executed", describe(executed, killed, released)],
  ["left-unknown", describe(killed, looked("unknown"))],
  ["left-unknown", describe(killed, looked("in-flight"))],
];
