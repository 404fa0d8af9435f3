/**
 * What a key has to do, kept as small as the rules allow: per key its life, its attempt, and the set of what
 * may have become of the effect. Both fates possible under a live lease is in-flight, both without one is
 * unknown, one left is settled or released. Written from the rules; shares no code with the machine.
 */
import type { Event } from "../../src/core/event.ts";
import type { Terms, Token } from "../../src/core/record.ts";
import { describeAnswer, describeOutcome, gistOf } from "./words.ts";

type Fates = ReadonlySet<"happened" | "not">;
const EITHER: Fates = new Set(["happened", "not"] as const);
const HAPPENED: Fates = new Set(["happened"] as const);
const NOT: Fates = new Set(["not"] as const);

type Word = { by: readonly string[]; says: string };
/** The lease ends at `until`, and no renewal of it goes past `limit`. While it runs, its key's time is the clock and `ahead`. */
type Grant = { n: number; effect: string; nonce: string; until: number; limit: number; ahead: number };
type Fixed = { window: number; inc: string; fp: string; terms: Terms };
/** `said` is the stored answer where the effect happened, `closedAt` when its fate became known. */
export type Life = Fixed & {
  t: number;
  grant: Grant;
  fates: Fates;
  said: string;
  closedAt: number;
  word: Word;
};
/** `windows` counts the lives so far. A life's number is the window that every invariant is judged by. */
export type Reference = { windows: number; life: Life | null };
/** Answers that the rules allow: one, but where they are silent. */
export type Prediction = { next: Reference; answers: readonly string[] };
type Made = [Life, ...string[]];
type Begin = Extract<Event, { do: "begin" }>;

export const NOTHING: Reference = { windows: 0, life: null };

const isLeased = ({ t, grant }: Life): boolean => t < grant.until;
const isOpen = ({ fates }: Life): boolean => fates.size === 2;
const isCurrent = ({ inc, grant }: Life, token: Token): boolean => token.inc === inc && token.n === grant.n;
const leaseTo = (life: Life, until: number): Life => ({ ...life, grant: { ...life.grant, until } });
const close = (life: Life, fates: Fates, said = ""): Life => ({ ...life, fates, said, closedAt: life.t });

export function stateOf({ life }: Reference): string {
  if (life === null) return "absent";
  if (isOpen(life)) return isLeased(life) ? "in-flight" : "unknown";
  return life.fates.has("happened") ? "settled" : "released";
}

/** When time ends a life: never while both fates are possible. */
export function endOf(life: Life): number | null {
  return isOpen(life) ? null : life.closedAt + life.terms.windowMs + life.terms.quarantineMs;
}

/** The life as its object's clock finds it: its time never falls, and a lease lasts no longer because the clock goes back. */
export function ageLife(life: Life, now: number): Life {
  const isRunning = isOpen(life) && isLeased(life);
  if (!isRunning) return { ...life, t: Math.max(life.t, now) };
  const { leaseMs } = life.terms;
  if (life.grant.ahead > 0 && now >= life.t) {
    const until = Math.max(life.grant.until, Math.min(now + leaseMs, life.grant.limit));
    return { ...life, t: now, grant: { ...life.grant, ahead: 0, until } };
  }
  const isLeftBehind = now + life.grant.ahead < life.t - leaseMs;
  const grant = isLeftBehind ? { ...life.grant, ahead: life.t - now } : life.grant;
  const t = Math.max(life.t, now + grant.ahead);
  // Nobody knows when it ended by a clock that was moved: not before somebody sees that it has.
  const until = t >= grant.until && grant.ahead > 0 ? t : grant.until;
  return { ...life, t, grant: { ...grant, until } };
}

function dispatch(fixed: Fixed, n: number, e: Begin, t: number, now: number): Life {
  const limit = t + fixed.terms.executionMsMax;
  const until = Math.min(t + fixed.terms.leaseMs, limit);
  const grant = { n, effect: e.fresh.effect, nonce: e.nonce, until, limit, ahead: t - now };
  const terms = { ...fixed.terms, executor: e.fresh.terms.executor };
  return { ...fixed, terms, t, grant, fates: EITHER, said: "", closedAt: 0, word: { by: [], says: "" } };
}

function describeGrant({ inc, grant, t }: Life): string {
  return `run ${inc} ${grant.n} ${grant.effect} ${grant.until - t} ${grant.limit - t}`;
}

function begin(life: Life, e: Begin, now: number): Made {
  if (e.fp !== life.fp) return [life, "mismatch"];
  const isRetried = life.terms.onCrash === "retry" && !isLeased(life);
  if (isOpen(life) ? isRetried : life.fates.has("not")) {
    const next = dispatch(life, life.grant.n + 1, e, life.t, now);
    return [next, describeGrant(next)];
  }
  const isRepeated = isOpen(life) && isLeased(life) && e.nonce === life.grant.nonce;
  if (isRepeated) return [life, `${describeGrant(life)} again`];
  if (!e.authorized) return [life, "authorize"];
  if (isOpen(life)) return [life, isLeased(life) ? "in-flight" : "unknown"];
  return [life, life.t < life.closedAt + life.terms.windowMs ? `replay ${life.said}` : "expired"];
}

function probe(life: Life, { token, verdict }: Extract<Event, { do: "probed" }>, now: number): Made {
  if (!isCurrent(life, token) || !isOpen(life) || isLeased(life)) return [life, "fenced", "done"];
  if (verdict.kind === "committed") return [close(life, HAPPENED, describeAnswer(verdict.answer)), "done"];
  const delay = life.terms.probeDelayMs;
  if (verdict.kind === "silent") return [life, "done"];
  // The lease's end is the last moment at which the executor can have dispatched.
  const isPassed = delay !== null && life.t - verdict.ageMs - life.grant.until >= delay;
  // What a clock that is behind says of that is worth nothing.
  const isLate = isPassed && life.t === now;
  return [verdict.sealed || isLate ? close(life, NOT) : life, "done"];
}

function resolve(life: Life, e: Extract<Event, { do: "resolve" }>): Made {
  if (e.effect === life.grant.effect && !isOpen(life)) return [life, "stale", "done"];
  if (e.effect !== life.grant.effect || isLeased(life)) return [life, "stale"];
  const says = describeOutcome(e.outcome);
  const others = life.word.says === says ? life.word.by.filter((name) => name !== e.operator) : [];
  const word: Word = { by: [...others, e.operator], says };
  if (word.by.length < e.operatorsRequired) return [{ ...life, word }, "proposed"];
  if (e.outcome.kind === "not-committed") return [close(life, NOT), "done"];
  return [close(life, HAPPENED, describeAnswer(e.outcome.answer)), "done"];
}

function change(life: Life, e: Exclude<Event, Begin>, now: number): Made {
  if (e.do === "tick" || e.do === "acknowledge" || e.do === "tell" || e.do === "observe")
    return [life, "done"];
  if (e.do === "orphan" && life.terms.executor === "worker") return [life, "done"];
  if (e.do === "orphan") return [leaseTo(life, Math.min(life.t, life.grant.until)), "done"];
  if (e.do === "probed") return probe(life, e, now);
  if (e.do === "resolve") return resolve(life, e);
  if (!isCurrent(life, e.token)) return [life, "fenced"];
  if (e.do === "settle") {
    const said = describeAnswer(e.answer);
    if (isOpen(life)) return [close(life, HAPPENED, said), "done"];
    return [life, gistOf(said) === gistOf(life.said) ? "done" : "fenced"];
  }
  if (e.do === "release")
    return isOpen(life) ? [close(life, NOT), "done"] : [life, life.said ? "fenced" : "done"];
  if (!isOpen(life)) return [life, "fenced"];
  if (e.do === "report") return [leaseTo(life, Math.min(life.t, life.grant.until)), "done"];
  if (!isLeased(life)) return [life, "lapsed"];
  const { until, limit } = life.grant;
  return [
    leaseTo(life, Math.min(life.t + life.terms.leaseMs, limit)),
    "done",
    ...(until === limit ? ["lapsed"] : []),
  ];
}

/** `isDelivered`: the ledger has acknowledged every entry, so that the record may leave storage. */
export function predict(
  { windows, life }: Reference,
  e: Event,
  now: number,
  isDelivered: boolean,
): Prediction {
  const aged = life === null ? null : ageLife(life, now);
  const end = aged === null ? null : endOf(aged);
  const isOver = aged !== null && end !== null && end <= aged.t;
  if (e.do === "begin" && (aged === null || isOver)) {
    const { inc, terms } = e.fresh;
    const born = dispatch({ window: windows + 1, inc, fp: e.fp, terms }, 1, e, now, now);
    return { next: { windows: windows + 1, life: born }, answers: [describeGrant(born)] };
  }
  const absent: Reference = { windows, life: null };
  if (aged === null)
    return { next: absent, answers: ["token" in e ? "fenced" : e.do === "resolve" ? "stale" : "done"] };
  if (e.do === "tick" && isOver && isDelivered) return { next: absent, answers: ["done"] };
  const [next, ...answers] = e.do === "begin" ? begin(aged, e, now) : change(aged, e, now);
  return { next: { windows, life: next }, answers };
}
