/** The things that can happen to one key, as fast-check commands. */
import * as fc from "fast-check";
import type { Seen } from "../../src/core/audit/observe.ts";
import type { Evidence, Grounds, UnknownReason } from "../../src/core/entry.ts";
import type { Verdict } from "../../src/core/event.ts";
import type { Answer, Outcome, Terms } from "../../src/core/record.ts";
import { endOf } from "./reference.ts";
import { describeAnswer } from "./words.ts";
import { type Fate, type Held, makeAnswer, SECOND, type World } from "./world.ts";

export type Model = Record<string, never>;

class Action implements fc.Command<Model, World> {
  readonly name: string;
  readonly act: (world: World) => void;

  constructor(name: string, act: (world: World) => void) {
    this.name = name;
    this.act = act;
  }

  check(): boolean {
    return true;
  }

  run(_model: Model, world: World): void {
    this.act(world);
  }

  toString(): string {
    return this.name;
  }
}

type Arb = fc.Arbitrary<Action>;

/** An action with data: its name shows them, so that a counterexample reads as a story. */
function action<T extends readonly (string | number | boolean)[]>(
  name: string,
  data: fc.Arbitrary<T>,
  act: (world: World, ...data: T) => void,
): Arb {
  return data.map((values) => new Action(`${name}(${values.join(",")})`, (world) => act(world, ...values)));
}

/** Mostly the last grant (0), sometimes one or two before it. */
const age = fc.constantFrom(0, 0, 0, 0, 0, 1, 2);

function holder(world: World, back: number): Held | undefined {
  return world.held.at(-1 - back);
}

/** For those that need a grant: a key that nobody began has none. */
function withHolder(
  act: (world: World, held: Held, back: number) => void,
): (world: World, back: number) => void {
  return (world, back) => {
    const held = holder(world, back);
    if (held !== undefined) act(world, held, back);
  };
}

function begins(terms: readonly [Terms, Terms]): Arb {
  const client = fc.constantFrom("a", "b", "c");
  // A client that repeats its nonce repeats its call; one that raises it makes a new one.
  const call = fc.constantFrom(0, 0, 1, 2);
  const fp = fc.constantFrom("fp", "fp", "fp", "fp", "other");
  const fate = fc.constantFrom<Fate>("now", "now", "later", "never");
  const data = fc.tuple(client, call, fp, fc.constantFrom(true, true, true, false), fc.nat(1), fate);
  return action("begin", data, (world, from, number, print, authorized, which, how) =>
    world.begin(`${from}${number}`, print, authorized, terms[which === 0 ? 0 : 1], how),
  );
}

const renew = action(
  "renew",
  fc.tuple(age),
  withHolder((world, { token }) => void world.send({ do: "renew", token })),
);

/** An executor stores what the origin said: true, a second time, late, or with an old token. */
const settle = action(
  "settle",
  fc.tuple(age, fc.constantFrom(0, 0, 0, 0, 1, 2, 3)),
  (world, back, variant) => {
    const held = holder(world, back);
    if (held === undefined || !world.hasHappened(held.effect)) return;
    const { effect } = held.effect;
    world.send({ do: "settle", token: held.token, effect, answer: world.say(held.effect, variant) });
  },
);

const reason = fc.constantFrom<UnknownReason>("timeout", "connection-lost", "server-error");
const report = action("report", fc.tuple(age, reason), (world, back, why) => {
  const held = holder(world, back);
  if (held !== undefined) world.send({ do: "report", token: held.token, reason: why });
});

/** Evidence is true: it comes only for effects that never happen. */
const evidence = fc.constantFrom<Evidence>("never-dispatched", "signed-none", "protocol-none", "status-list");
const release = action("release", fc.tuple(age, evidence), (world, back, proof) => {
  const held = holder(world, back);
  if (held === undefined || held.effect.happensAt !== null) return;
  world.send({ do: "release", token: held.token, evidence: proof });
});

function askOrigin(world: World, held: Held, how: "ask" | "seal" | "forgot" | "silent"): Verdict {
  if (how === "silent") return { kind: "silent" };
  if (how === "seal") world.seal(held.effect);
  if (!world.hasHappened(held.effect)) return { kind: "none", sealed: how === "seal", ageMs: 0 };
  return { kind: "committed", answer: how === "forgot" ? { kind: "lost" } : world.say(held.effect, 0) };
}

const asking = fc.constantFrom(
  "ask" as const,
  "ask" as const,
  "seal" as const,
  "forgot" as const,
  "silent" as const,
);
/** A probe's answer may be long on its way: an effect can come about after the question. */
const delay = fc.constantFrom(0, 0, 0, 1, 15 * SECOND);
const probe = action("probe", fc.tuple(age, asking, delay), (world, back, how, ageMs) => {
  const held = holder(world, back);
  if (held === undefined) return;
  const verdict = askOrigin(world, held, how);
  world.advance(ageMs);
  const aged: Verdict = verdict.kind === "none" ? { ...verdict, ageMs } : verdict;
  world.send({ do: "probed", token: held.token, verdict: aged, jitter: 0 });
});

const sayCommitted = (answer: Answer): Outcome => ({
  kind: "committed",
  word: describeAnswer(answer),
  answer,
});

/** The truth about an effect, where there is one yet; `mistaken` turns it round. */
function outcomeOf(world: World, { effect }: Held, isMistaken: boolean): Outcome | null {
  const isOpen = effect.happensAt !== null && !world.hasHappened(effect);
  if (isOpen) return null;
  if (effect.happensAt === null) {
    return isMistaken ? sayCommitted(makeAnswer(effect.effect, 1)) : { kind: "not-committed" };
  }
  return isMistaken ? { kind: "not-committed" } : sayCommitted(world.say(effect, 0));
}

const GROUNDS: Grounds = { code: "checked", target: null, digest: "d".repeat(64) };

/** Operators 1 and 2 speak the truth, 0 may be mistaken, so that no two of them agree on a falsehood. */
const speaker = fc.constantFrom(0, 0, 0, 1, 2);
const speech = fc.tuple(age, speaker, fc.constantFrom(true, true, false), fc.constantFrom(2, 2, 2, 2, 1, 3));
const resolve = action("resolve", speech, (world, back, who, isWrong, operatorsRequired) => {
  const held = holder(world, back);
  if (held === undefined) return;
  const isMistaken = who === 0 && isWrong && operatorsRequired > 1;
  const outcome = outcomeOf(world, held, isMistaken);
  if (outcome === null) return;
  const { effect } = held.effect;
  world.send({ do: "resolve", effect, operator: `op${who}`, grounds: GROUNDS, outcome, operatorsRequired });
});

/** The ledger acknowledges everything, one entry, something old, or more than it can have seen. */
const extent = fc.constantFrom(
  "all" as const,
  "all" as const,
  "one" as const,
  "old" as const,
  "beyond" as const,
);
const acknowledge = action("acknowledge", fc.tuple(extent), (world, how) => {
  for (const [inc, { made, acked }] of [...world.streams]) {
    const seq = { all: made, one: Math.min(made, acked + 1), old: Math.max(0, acked - 1), beyond: made + 2 }[
      how
    ];
    world.send({ do: "acknowledge", inc, seq, head: `head${seq}` });
  }
});

/** What a caller was told, which may be of another life or another state by the time it is noted. */
const code = fc.constantFrom<Seen>("replayed", "in-flight", "outcome-unknown", "key-expired", "key-reused");
const observe = action("observe", fc.tuple(code, code), (world, first, second) => {
  world.send({ do: "observe", seen: [first, second] });
});

/** An object that comes back looks only for attempts of its own executor. */
const crash = action("crash", fc.tuple(), (world) => {
  if (world.reference.life?.terms.executor !== "worker") world.send({ do: "orphan" });
});
const tick = action("tick", fc.tuple(), (world) => void world.send({ do: "tick" }));

/** To the very moment something is due, or one millisecond before it. */
function toEdge(world: World, edge: "lease" | "window" | "quarantine" | "probe"): number {
  const life = world.reference.life;
  if (life === null) return 0;
  const windowEnd = life.closedAt + life.terms.windowMs;
  const delay = life.terms.probeDelayMs ?? 0;
  const at = {
    lease: life.grant.until,
    window: windowEnd,
    quarantine: endOf(life) ?? 0,
    probe: life.grant.until + delay,
  };
  return at[edge] - world.clock;
}

const edge = fc.constantFrom("lease" as const, "window" as const, "quarantine" as const, "probe" as const);
const wait = action("wait until", fc.tuple(edge, fc.nat(1)), (world, to, early) => {
  const ms = toEdge(world, to) - early;
  if (ms > 0) world.advance(ms);
});

const span = fc.constantFrom(1, 5 * SECOND, 12 * SECOND, 31 * SECOND, 210 * SECOND, 400 * SECOND);
const advance = action("advance", fc.tuple(span), (world, ms) => world.advance(ms));
const turnBack = action("turn back", fc.tuple(fc.constantFrom(1, 20 * SECOND, 300 * SECOND)), (world, ms) =>
  world.advance(-ms),
);

/** Everything is delivered and the key left alone until its record may go. */
const rest = action("rest", fc.tuple(), (world) => {
  for (const [inc, { made }] of [...world.streams]) {
    world.send({ do: "acknowledge", inc, seq: made, head: `head${made}` });
  }
  world.advance(Math.max(0, toEdge(world, "quarantine")));
  world.send({ do: "tick" });
});

/** Up to `most` commands on a key whose lives follow one of two sets of terms. */
export function commandsArb(
  terms: readonly [Terms, Terms],
  most: number,
): fc.Arbitrary<Iterable<fc.Command<Model, World>>> {
  const weighed: readonly (readonly [number, Arb])[] = [
    [8, begins(terms)],
    [2, renew],
    [4, settle],
    [2, report],
    [2, release],
    [1, crash],
    [3, probe],
    [3, resolve],
    [3, acknowledge],
    [3, observe],
    [2, tick],
    [2, wait],
    [3, advance],
    [1, turnBack],
    [1, rest],
  ];
  const all = weighed.flatMap(([weight, arb]) => Array.from({ length: weight }, () => arb));
  return fc.commands(all, { maxCommands: most, size: "max" });
}

export const termsArb: fc.Arbitrary<Terms> = fc.record({
  fingerprint: fc.constant("1"),
  executor: fc.constantFrom("object" as const, "worker" as const),
  onCrash: fc.constantFrom("hold" as const, "hold" as const, "retry" as const),
  probeDelayMs: fc.constantFrom(null, 20 * SECOND, 60 * SECOND),
  windowMs: fc.constantFrom(200 * SECOND, 90 * SECOND),
  quarantineMs: fc.constantFrom(0, 60 * SECOND),
  leaseMs: fc.constant(30 * SECOND),
  executionMsMax: fc.constantFrom(75 * SECOND, 30 * SECOND),
});
