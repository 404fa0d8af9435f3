/**
 * What must be true of a history, whatever was killed when. Pure: facts in, violations out. A rule looks at one key at
 * a time; the promises are those of the public contract, not of the code.
 */
import { type History, isSuccess, isUnknown, selectFacts, type Told } from "./history.ts";
import { checkLater, isRefused, listUnread } from "./later-rules.ts";
import { checkLedger } from "./ledger-rules.ts";
import { checkPauses } from "./pause-rules.ts";
import { groupOf, type Point } from "./points.ts";
import { checkProbes } from "./probe-rules.ts";
import { checkReconciliation } from "./reconcile-rules.ts";
import { callsAfterSuccess, callsCutByKill, lastTold, listStories, type Story } from "./stories.ts";

export type Violation = { rule: string; key: string; text: string };

/** Null where the rule holds; else what is wrong. */
type Rule = (story: Story) => string | null;

const RULES = {
  /** At most one dispatch under `hold`, with or without an effect. */
  "dispatched-twice": ({ operation, facts }) => {
    const count = selectFacts(facts, "arrived").length;
    return operation.crashRule === "hold" && count > 1 ? `the origin got ${count} requests` : null;
  },

  /** Under `retry` the origin drops repeats itself, so its own count is the measure there too. */
  "executed-twice": ({ facts }) => {
    const count = selectFacts(facts, "executed").length;
    return count > 1 ? `${count} executions` : null;
  },

  "dedupe-key-changed": ({ operation, facts }) => {
    const keys = selectFacts(facts, "arrived").map((arrived) => arrived.dedupe);
    if (operation.crashRule !== "retry") {
      return keys.some((key) => key !== null) ? "the origin got a key that its route doesn't send" : null;
    }
    return keys.includes(null) || new Set(keys).size > 1
      ? `the origin got the keys ${keys.join(", ")}`
      : null;
  },

  "attempt-miscounted": ({ facts }) => {
    const attempts = selectFacts(facts, "arrived").map(({ attempt }) => attempt);
    const isRising = attempts.every((attempt, i) => attempt > (attempts[i - 1] ?? 0));
    return isRising ? null : `attempts ${attempts.join(", ")}`;
  },

  /** An attempt that the origin never heard of may have the number before. */
  "attempt-without-crash": ({ operation, facts }) => {
    const attempts = selectFacts(facts, "arrived").map(({ attempt }) => attempt);
    const isFirst = attempts.every((attempt) => attempt === 1);
    return operation.crashRule === "hold" && !isFirst ? `attempt ${attempts.join(", ")}` : null;
  },

  "effect-id-repeated": ({ facts }) => {
    const effects = selectFacts(facts, "arrived").map(({ effect }) => effect);
    return new Set(effects).size < effects.length ? `effect ids ${effects.join(", ")}` : null;
  },

  /** A success is one of the origin's own answers for this key, and was sent before it was given. */
  "answer-invented": ({ facts }) => {
    const replied = new Set<string>();
    for (const fact of facts) {
      if (fact.kind === "replied") replied.add(fact.digest);
      if (fact.kind === "told" && isSuccess(fact.told) && !replied.has(fact.told.digest)) {
        return `call ${fact.call} got bytes that the origin never sent`;
      }
    }
    return null;
  },

  "answers-differ": ({ facts }) => {
    const successes = selectFacts(facts, "told").filter(({ told }) => isSuccess(told));
    const shapes = successes.map(({ told }) => `${told.status} ${told.digest} ${told.fields}`);
    return new Set(shapes).size > 1 ? `${new Set(shapes).size} different answers` : null;
  },

  /** Only one call can be the one that executed. */
  "executed-told-twice": ({ facts }) => {
    const calls = selectFacts(facts, "told").filter(({ told }) => told.mark === "executed");
    return calls.length > 1 ? `calls ${calls.map(({ call }) => call).join(", ")}` : null;
  },

  /** Once a client has a success, every call that begins later gets that answer as a replay. */
  "answer-forgotten": ({ facts }) => {
    const later = callsAfterSuccess(facts);
    const { may } = listUnread(facts);
    const wrong = selectFacts(facts, "told").find(
      ({ call, told }) =>
        later.has(call) &&
        !(isSuccess(told) && told.mark === "replayed") &&
        !(may.has(call) && isRefused(told)),
    );
    return wrong === undefined ? null : `call ${wrong.call} got ${describe(wrong.told)} after a success`;
  },

  /** Nothing reaches the origin once a client has a success. */
  "ran-after-answer": ({ facts }) => {
    const first = facts.findIndex((fact) => fact.kind === "told" && isSuccess(fact.told));
    const again = first >= 0 && facts.slice(first).some((fact) => fact.kind === "arrived");
    return again ? "the origin got a request after a client had a success" : null;
  },

  /**
   * Unknown ends by evidence alone: never by running again under `hold`. A call whose own object broke is told so too, before
   * anybody can know that nothing was sent.
   */
  "ran-after-unknown": ({ operation, facts }) => {
    const first = facts.findIndex(
      (fact, i) =>
        fact.kind === "told" &&
        isUnknown(fact.told) &&
        (fact.told.status === 409 || facts.slice(0, i).some(({ kind }) => kind === "arrived")),
    );
    const again = first >= 0 && facts.slice(first).some((fact) => fact.kind === "arrived");
    return operation.crashRule === "hold" && again
      ? "the origin got a request after a client was told unknown"
      : null;
  },

  /** Every answer is one that the contract allows for a correct client's call. */
  "answer-unexpected": ({ facts }) => {
    const wrong = selectFacts(facts, "told").find(({ told }) => !isExpected(told));
    return wrong === undefined ? null : `call ${wrong.call} got ${describe(wrong.told)}`;
  },

  /** A call ends without an answer only where the gateway was dead for some of its time, or its object broke. */
  "silence-without-kill": ({ facts }) => {
    const excused = callsCutByKill(facts);
    const causeless = selectFacts(facts, "silence").find(({ call }) => !excused.has(call));
    return causeless === undefined ? null : `call ${causeless.call} got no answer, and nothing was killed`;
  },

  /** What was killed before its claim was stored claims nothing: it is as if it had not come, and the retry runs. */
  "unclaimed-claimed": ({ operation, facts }) => {
    if (!UNCLAIMED.has(groupOf(operation.point))) return null;
    const killed = facts.findIndex((fact) => fact.kind === "killed" && fact.kill === operation.kill);
    const kill = facts[killed];
    if (kill?.kind !== "killed" || !kill.hit) return null;
    if (facts.slice(0, killed).some((fact) => fact.kind === "arrived"))
      return "the origin got a request before its claim";
    const refused = selectFacts(facts, "told").find(
      ({ told }) => isUnknown(told) || told.mark === "in-flight",
    );
    return refused === undefined ? null : `call ${refused.call} got ${describe(refused.told)}`;
  },

  /** What was killed, or broken, after its answer was stored has that answer. */
  "settled-lost": ({ operation, facts }) => {
    if (!SETTLED.has(operation.point)) return null;
    const stopped = facts.findIndex(
      (fact) =>
        (fact.kind === "killed" && fact.kill === operation.kill && fact.hit) ||
        (fact.kind === "broken" && fact.hit),
    );
    if (stopped < 0) return null;
    const { may } = listUnread(facts);
    const later = new Set(selectFacts(facts.slice(stopped), "called").map(({ call }) => call));
    const wrong = selectFacts(facts.slice(stopped), "told")
      // Who called an object that breaks may hear of that before anything else.
      .filter(({ call }) => operation.kill > 0 || later.has(call))
      .find(({ call, told }) => !isSuccess(told) && !(may.has(call) && isRefused(told)));
    return wrong === undefined ? null : `call ${wrong.call} got ${describe(wrong.told)}`;
  },

  /** What a later build has claimed this one refuses, and sends nothing for. */
  "later-read": ({ facts }) => {
    const { must, sent } = listUnread(facts);
    if (sent.length > 0) return "the origin got a request from a build that can't read its record";
    const wrong = must.find(({ told }) => !isRefused(told));
    if (wrong === undefined) return null;
    return `call ${wrong.call} got ${describe(wrong.told)} from a build that can't read its record`;
  },

  /** An object that breaks before it has said that a claim is granted says so to the same caller when it is asked again. */
  "grant-not-repeated": ({ operation, facts }) => {
    if (operation.point !== "grant-unheard" || operation.executor !== "worker") return null;
    const [first] = selectFacts(facts, "told");
    const isRun = first !== undefined && isSuccess(first.told) && first.told.mark === "executed";
    return isRun ? null : "its first call was not the one that ran";
  },

  /** Every key ends: a success, or an honest unknown. */
  unsettled: ({ operation, facts }) => {
    const last = lastTold(facts);
    if (operation.isBrief) return null;
    if (last === null) return "its last call got no answer";
    return isSuccess(last) || isUnknown(last) ? null : `its last call got ${describe(last)}`;
  },

  "retry-unanswered": ({ operation, facts }) => {
    if (operation.isBrief) return null;
    const last = lastTold(facts);
    const isAnswered = last !== null && isSuccess(last);
    return operation.crashRule !== "hold" && !isAnswered ? "its last call got no success" : null;
  },

  "success-without-effect": ({ facts }) => {
    const last = lastTold(facts);
    const count = selectFacts(facts, "executed").length;
    return last !== null && isSuccess(last) && count === 0 ? "a success, and nothing was executed" : null;
  },

  /** The status endpoint says the same as the last answer. */
  "state-contradicts": ({ operation, facts }) => {
    if (operation.isBrief) return null;
    const last = lastTold(facts);
    const state = selectFacts(facts, "looked").at(-1)?.state ?? null;
    if (last === null) return null;
    const isAgreed = (isSuccess(last) && state === "settled") || (isUnknown(last) && state === "unknown");
    return isAgreed ? null : `the state is ${state} and the last answer ${describe(last)}`;
  },

  /** A key whose window is over is free, whatever was killed while it was being freed. */
  "key-not-freed": ({ operation, facts }) => {
    if (!operation.isBrief) return null;
    const seen = selectFacts(facts, "looked").at(-1);
    // What is unknown never ends by time.
    const isLost = selectFacts(facts, "told").every(({ told }) => !isSuccess(told));
    if (seen === undefined) return "nobody looked";
    return seen.state === null || (isLost && seen.state === "unknown") ? null : `its state is ${seen.state}`;
  },
} as const satisfies Record<string, Rule>;

/** Nothing was claimed before these. */
const UNCLAIMED = new Set<string>(["c1", "c2"]);
/** The answer was stored before these. */
const SETTLED = new Set<Point>(["settled", "answer-ready", "answer-given", "outbox-full", "acknowledged"]);

/** Names of all rules about keys, for a test that plants a bad history for each. */
export const RULE_NAMES: readonly string[] = [
  ...Object.keys(RULES),
  "effect-id-shared",
  "operation-unobserved",
];

/** Everything that is wrong with a history; none where every promise was kept. */
export function checkHistory(history: History): Violation[] {
  return [
    ...checkKeys(history),
    ...checkLedger(history),
    ...checkProbes(history),
    ...checkPauses(history),
    ...checkLater(history),
    ...checkReconciliation(history),
  ];
}

/** What is wrong key by key, by what clients and the origin saw. */
export function checkKeys(history: History): Violation[] {
  const stories = listStories(history);
  const found = stories.flatMap((story) => checkStory(story));
  return [...found, ...findUnobserved(stories), ...findSharedEffects(stories)];
}

function checkStory(story: Story): Violation[] {
  return Object.entries<Rule>(RULES).flatMap(([rule, check]) => {
    const text = check(story);
    return text === null ? [] : [{ rule, key: story.operation.key, text }];
  });
}

/** A key that nobody called proves nothing. */
function findUnobserved(stories: readonly Story[]): Violation[] {
  return stories
    .filter(({ facts }) => selectFacts(facts, "called").length === 0)
    .map(({ operation }) => ({ rule: "operation-unobserved", key: operation.key, text: "never called" }));
}

function findSharedEffects(stories: readonly Story[]): Violation[] {
  const owners = new Map<string, string>();
  return stories.flatMap(({ operation, facts }) =>
    selectFacts(facts, "arrived").flatMap(({ effect }) => {
      const owner = owners.get(effect) ?? operation.key;
      owners.set(effect, owner);
      if (owner === operation.key) return [];
      return [{ rule: "effect-id-shared", key: operation.key, text: `${effect} is of ${owner} too` }];
    }),
  );
}

/** Problems that a correct client can meet while processes die: slug, status, `Idempotency-Status`, whether `Retry-After` has to be there. */
const PROBLEMS: readonly [slug: string, status: number, mark: string, isTimed: boolean][] = [
  ["in-flight", 409, "in-flight", true],
  ["outcome-unknown", 409, "unknown", true],
  ["outcome-unknown", 502, "unknown", false],
  ["outcome-unknown", 504, "unknown", false],
  ["store-unavailable", 503, "refused", true],
  ["claim-lost", 503, "unknown", true],
];

function isExpected(told: Told): boolean {
  if (isSuccess(told)) return told.mark === "executed" || told.mark === "replayed";
  return PROBLEMS.some(
    ([slug, status, mark, isTimed]) =>
      told.slug === slug &&
      told.status === status &&
      told.mark === mark &&
      (!isTimed || told.retryAfterS !== null),
  );
}

function describe(told: Told): string {
  return `${told.status} ${told.mark ?? "without a mark"}${told.slug === null ? "" : ` ${told.slug}`}`;
}
