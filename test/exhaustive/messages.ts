/** All that may arrive at a key. */
import type { Seen } from "../../src/core/audit/observe.ts";
import type { Grounds } from "../../src/core/entry.ts";
import type { Event } from "../../src/core/event.ts";
import { type Outcome, type Token, timeOf } from "../../src/core/record.ts";
import { followClock } from "../../src/core/step.ts";
import { makeAnswer } from "../model/world.ts";
import { type Case, type Doing, type Granted, isOut, type Key, UNIT } from "./place.ts";

/**
 * A message about one attempt may arrive once it can have been said: `isSayable` of what goes on there. `make` gives the event
 * that it is to a key, or null where the key is such that nobody sends it.
 */
export type Message =
  | { about: "attempt"; place: number; name: string; isSayable: (doing: Doing) => boolean; make: Make }
  | { about: "key"; name: string; make: (key: Key) => Event | null };

type Make = (key: Key, doing: Doing) => Event | null;
/** The same for any attempt. */
type Kind = {
  name: string;
  isSayable: (doing: Doing) => boolean;
  make: (attempt: Granted, doing: Doing, key: Key) => Event;
};

const LOST: Outcome = { kind: "committed", word: "lost", answer: { kind: "lost" } };
const GROUNDS: Grounds = { code: null, target: null, digest: "d".repeat(64) };
const NOT_COMMITTED: Outcome = { kind: "not-committed" };

export function listMessages(about: Case, attemptsMax: number): readonly Message[] {
  const kinds = [...listWordsOfExecutors(), ...listWordsOfOrigins(about), ...listWordsOfOperators(about)];
  const places = [...Array(attemptsMax).keys()];
  const ofAttempts = places.flatMap((place) =>
    kinds.map(({ name, isSayable, make }): Message => {
      const makeOf: Make = (key, doing) => {
        const attempt = key.attempts[place];
        return attempt === undefined ? null : make(attempt, doing, key);
      };
      return { about: "attempt", place, name: `${name} ${place + 1}`, isSayable, make: makeOf };
    }),
  );
  return [...listBegins(about), ...ofAttempts, ...places.flatMap(listAcknowledgements), ...listOwn()];
}

/** Two clients; the second also comes with another request under the same key, and once without the right to ask. */
function listBegins({ terms }: Case): readonly Message[] {
  const begin = (client: 0 | 1, fp: string, authorized: boolean): Message => {
    const nonce = client === 0 ? "a" : "b";
    const make = ({ attempts: { length } }: Key): Event => {
      const names = { inc: `l${length + 1}`, effect: `e${length + 1}`, owner: "o", route: "r" };
      return { do: "begin", nonce, fp, authorized, fresh: { ...names, terms: terms[client] } };
    };
    return { about: "key", name: `${nonce} begins ${fp}${authorized ? "" : " without the right"}`, make };
  };
  return [begin(0, "f", true), begin(1, "f", true), begin(1, "g", true), begin(1, "f", false)];
}

const always = (): boolean => true;
const hasHappened = ({ fate }: Doing): boolean => fate === "happened";
const tokenOf = ({ inc, n }: Granted): Token => ({ inc, n });

function listWordsOfExecutors(): readonly Kind[] {
  return [
    { name: "renew", isSayable: always, make: (one) => ({ do: "renew", token: tokenOf(one) }) },
    {
      name: "settle",
      isSayable: hasHappened,
      make: (one) => ({
        ...{ do: "settle", token: tokenOf(one), effect: one.effect, answer: makeAnswer(one.effect, 0) },
      }),
    },
    {
      name: "report",
      isSayable: ({ dispatch }) => dispatch === "sent",
      make: (one) => ({ do: "report", token: tokenOf(one), reason: "timeout" }),
    },
    {
      name: "release",
      isSayable: ({ fate }) => fate === "none" || fate === "out",
      make: (one) => ({ do: "release", token: tokenOf(one), evidence: "signed-none" }),
    },
    {
      name: "release, unsent,",
      isSayable: ({ dispatch, fate }) => dispatch === "never" || fate === "out",
      make: (one) => ({ do: "release", token: tokenOf(one), evidence: "never-dispatched" }),
    },
  ];
}

function listWordsOfOrigins({ probe }: Case): readonly Kind[] {
  if (probe === "none") return [];
  const word = (
    name: string,
    isSayable: Kind["isSayable"],
    verdictOf: (one: Granted, doing: Doing, key: Key) => Extract<Event, { do: "probed" }>["verdict"],
  ): Kind => ({
    name: `a probe says ${name} of`,
    isSayable,
    make: (one, doing, key) => ({
      ...{ do: "probed", token: tokenOf(one), verdict: verdictOf(one, doing, key), jitter: 0 },
    }),
  });
  const words = [
    word("nothing", always, () => ({ kind: "silent" })),
    word("committed", hasHappened, ({ effect }) => ({ kind: "committed", answer: makeAnswer(effect, 0) })),
    word("committed, answer lost,", hasHappened, () => ({ kind: "committed", answer: { kind: "lost" } })),
  ];
  if (probe === "seal") {
    const isVoid = ({ fate }: Doing): boolean => fate === "void" || fate === "out";
    return [...words, word("void", isVoid, () => ({ kind: "none", sealed: true, ageMs: 0 }))];
  }
  const hasNot = (doing: Doing): boolean => !hasHappened(doing);
  return [
    ...words,
    word("none", hasNot, () => ({ kind: "none", sealed: false, ageMs: 0 })),
    word("none, as long as there was none,", hasHappened, (_, doing, key) => ({
      ...{ kind: "none", sealed: false, ageMs: ageOf(doing, key) },
    })),
  ];
}

/**
 * How old the youngest question is that met no effect yet. Where nobody looks at when the effect came about: the youngest one
 * that is too old for its answer to be believed. A younger one was answered before the effect, and that was another way here.
 */
function ageOf({ happenedAgo }: Doing, { record: stored, now }: Key): number {
  if (happenedAgo !== null) return happenedAgo + 1;
  const record = followClock(stored, now);
  const t = timeOf(record, now);
  const ended = record.state === "in-flight" && record.ahead === 0 ? record.leaseUntil : t;
  const since = record.state === "unknown" ? record.since : ended;
  return Math.max(0, t - (since + UNIT.delay - 1));
}

/** Operator x says anything, operator y the truth, once it is known. Two have to agree. */
function listWordsOfOperators(about: Case): readonly Kind[] {
  const word = (operator: string, outcome: Outcome, isSayable: Kind["isSayable"]): Kind => ({
    name: `${operator} says ${outcome.kind} of`,
    isSayable,
    make: ({ effect }) => ({
      ...{ do: "resolve", effect, operator, grounds: GROUNDS, outcome, operatorsRequired: 2 },
    }),
  });
  return [
    word("x", LOST, always),
    word("x", NOT_COMMITTED, always),
    word("y", LOST, hasHappened),
    word("y", NOT_COMMITTED, (doing) => isOut(doing, about)),
  ];
}

/** What the ledger may say of one stream: it has all, all but the last, or what it has said before. */
function listAcknowledgements(place: number): readonly Message[] {
  const say = (what: string, seqOf: (made: number, acked: number) => number | null): Message => ({
    about: "key",
    name: `the ledger has ${what} of stream ${place + 1}`,
    make: ({ told }) => {
      const stream = told[place];
      const seq = stream === undefined ? null : seqOf(stream.made, stream.acked);
      return stream === undefined || seq === null
        ? null
        : { do: "acknowledge", inc: stream.inc, seq, head: what };
    },
  });
  return [
    say("all", (made, acked) => (made > acked ? made : null)),
    say("all but the last", (made, acked) => (made > acked + 1 ? made - 1 : null)),
    say("what it had", (_, acked) => (acked > 0 ? acked : null)),
  ];
}

/** What the object does by itself, and what gateways tell it that callers were told. One that restarts has lost the attempt it ran. */
function listOwn(): readonly Message[] {
  const observe = (code: Seen): Message => ({
    ...{ about: "key", name: `a caller was told: ${code}`, make: () => ({ do: "observe", seen: [code] }) },
  });
  return [
    observe("in-flight"),
    observe("replayed"),
    { about: "key", name: "tick", make: () => ({ do: "tick" }) },
    {
      about: "key",
      name: "the object restarts",
      make: ({ record }) => (record.state === "in-flight" ? { do: "orphan" } : null),
    },
  ];
}
