/** The safety invariants that clients, origin and storage can show, each a pure function over one history. The text says what is broken. */
import { type Answered, type Rules, rowsOf, type Stored } from "./history.ts";
import { type Call, isKept, isOfOneWindow, isProlonged, rightsOf, type View, windowOf } from "./view.ts";

export type Invariant = (view: View) => string | null;

/** I1: where an attempt runs at most once, a window holds at most one effect, and every attempt is sent once. */
function oneEffectPerWindow({ history, grants, arrivals }: View): string | null {
  for (const [effect, rows] of arrivals) {
    if (rows.length > 1) return `${effect} arrived ${rows.length} times`;
    if (!grants.has(effect)) return `${effect} arrived and was never granted`;
  }
  const first = new Map<string, string>();
  for (const { effect, key } of rowsOf(history.rows, "execute")) {
    const granted = grants.get(effect);
    if (granted === undefined) return `${effect} was executed and never granted`;
    if (granted.rules.onCrash === "retry") continue;
    const window = `${key} ${granted.window}`;
    const other = first.get(window);
    if (other !== undefined) return `${other} and ${effect} were executed in window ${window}`;
    first.set(window, effect);
  }
  return sameOriginKey(history.rows, grants);
}

/** On a route that may run again, the origin drops repeats by a key that has to stay the same. */
function sameOriginKey(rows: View["history"]["rows"], grants: View["grants"]): string | null {
  const first = new Map<string, string>();
  for (const { key, effect, dedupe } of rowsOf(rows, "arrive")) {
    const isRetried = grants.get(effect)?.rules.onCrash === "retry";
    if (isRetried !== (dedupe !== ""))
      return `${effect} came ${isRetried ? "without" : "with"} a key of its own`;
    const known = first.get(key) ?? dedupe;
    if (known !== dedupe) return `${key} came under two keys of its own`;
    first.set(key, known);
  }
  return null;
}

/** I2: all kept answers of one window have the same status, fields and bytes. */
function oneAnswerPerWindow(view: View): string | null {
  const first = new Map<string, string>();
  for (const { key, calls } of view.keys.values()) {
    for (const given of calls) {
      const { answer, call } = given;
      if (answer === null || !isKept(answer)) continue;
      // A clock that is moved ends a window for one machine and not for another: a replay that two windows gave may be the older one's.
      const isStill = view.history.clocks.whose.size === 0;
      const isPlaced = isStill || answer.mark !== "replayed" || isOfOneWindow(view, given);
      const window = isPlaced ? windowOf(view, given) : null;
      if (isStill && window === null && isOfTheKey(view, given))
        return `call ${call} got the answer of a window that was over`;
      if (window !== null) {
        const name = `${key} ${window}`;
        const shape = `${answer.status} ${answer.body} ${answer.fields}`;
        const known = first.get(name) ?? shape;
        if (known !== shape) return `call ${call} got another answer than an earlier one of window ${name}`;
        first.set(name, known);
      }
      if (answer.mark === "replayed" && answer.others.includes("set-cookie"))
        return `call ${call} got a cookie again`;
    }
  }
  return null;
}

function isOfTheKey(view: View, { key, answer }: Call): boolean {
  const effects = [...(view.bodies.get(answer?.body ?? "") ?? [])];
  return effects.some((effect) => view.grants.get(effect)?.key === key);
}

/** I3: a token that is not the current one changes nothing; a lease that ends by itself is nobody's change. */
function staleTokensChangeNothing({ keys }: View): string | null {
  for (const { stored, key } of keys.values()) {
    for (const { token, before, after, method } of stored) {
      if (token === null || before === null) continue;
      if (token.inc === before.inc && token.n === before.n) continue;
      const isByTheClock = isLapse(before, after) || isProlonged(before, after);
      if (!isByTheClock && rightsOf(before) !== rightsOf(after))
        return `${method} with an old token changed ${key}`;
    }
  }
  return null;
}

/** The end of a lease, or of the object that ran the attempt, is noticed by whoever comes next. */
function isLapse(before: Stored, after: Stored | null): boolean {
  if (before.state !== "in-flight" || after?.state !== "unknown" || after.effect !== before.effect)
    return false;
  const isOver = before.leaseUntil !== null && before.leaseUntil <= after.t;
  return after.reason === "object-restarted" || (after.reason === "lease-over" && isOver);
}

/** I7: a stored answer is given only to a caller who may have it now. */
function answersNeedRights({ keys, history }: View): string | null {
  if (!history.asksRights) return null;
  for (const { calls } of keys.values()) {
    for (const { answer, mayAsk, call } of calls) {
      if (!mayAsk && answer?.mark === "replayed") return `call ${call} got an answer without a right to it`;
    }
  }
  return null;
}

/** I8: an answer is given only to the request that it answers. */
function answersFitTheRequest(view: View): string | null {
  for (const { calls } of view.keys.values()) {
    for (const { answer, variant, call } of calls) {
      if (answer === null || answer.slug !== "") continue;
      const asked = [...(view.bodies.get(answer.body) ?? [])].flatMap(
        (effect) => view.arrivals.get(effect) ?? [],
      );
      if (asked.length > 0 && !asked.some((arrival) => arrival.variant === variant)) {
        return `call ${call} got the answer to another request`;
      }
    }
  }
  return null;
}

/** Of what became of a key only those hear who ask for the same. */
const OF_THE_SAME: ReadonlySet<string> = new Set([
  "in-flight",
  "outcome-unknown",
  "answer-not-kept",
  "key-expired",
]);

/** A 502 or 504 says of its own call that its answer was lost. */
function isOnTheKey({ slug, status }: Answered): boolean {
  return OF_THE_SAME.has(slug) && status === 409;
}

/** I8: whatever state a key is in, another request under it is told that it is another one. */
function othersAreToldSo({ keys, arrivals }: View): string | null {
  for (const { calls, grants } of keys.values()) {
    for (const { answer, variant, call, windows } of calls) {
      if (answer === null || windows[0] !== windows[1] || !isOnTheKey(answer)) continue;
      const inWindow = grants.filter(({ window }) => window === windows[0]);
      const asked = inWindow.flatMap(({ effect }) => arrivals.get(effect) ?? []);
      if (asked.length > 0 && !asked.some((arrival) => arrival.variant === variant))
        return `call ${call} asked for something else and was told ${answer.slug}`;
    }
  }
  return null;
}

/** I9: a record leaves storage only when its window and quarantine are over, never while its outcome is open. */
function recordsLeaveLast({ keys }: View): string | null {
  for (const { stored, key } of keys.values()) {
    let window = -1;
    for (const change of stored) {
      const { before, after, goneAt, t } = change;
      const isGone = before !== null && after?.inc !== before.inc;
      if (isGone && (before.state === "in-flight" || before.state === "unknown")) {
        return `${key} left storage while ${before.state}`;
      }
      if (isGone && after === null && (goneAt === null || goneAt > t)) {
        return `${key} left storage ${goneAt === null ? "open" : `${goneAt - t} ms early`}`;
      }
      // A new life in the place of an old one opens a window by the model, too.
      if (isGone && after !== null && change.window === window)
        return `${key} began a new life in an open window`;
      window = change.window;
    }
  }
  return null;
}

/** I9: an answer is given again as long as its window runs and no longer. */
function windowsHold({ keys, history }: View): string | null {
  if (history.clocks.whose.size > 0) return null;
  for (const key of keys.values()) {
    for (const { answer, at, call, windows } of key.calls) {
      const [first, last] = windows;
      const span = first === last ? key.given.get(first) : undefined;
      if (span === undefined || answer === null) continue;
      if (answer.mark === "replayed" && at > span.to)
        return `call ${call} got an answer ${at - span.to} ms after its window`;
    }
  }
  return null;
}

/** I14: a lease is never renewed past the longest execution. */
function leasesEnd({ keys }: View): string | null {
  for (const { stored, key, grants } of keys.values()) {
    const limits = new Map<string, number>();
    // A life keeps the rules that it began under.
    const rulesOf = new Map<string, Rules>();
    for (const { before, after, t } of stored) {
      if (after === null || after.leaseUntil === null) continue;
      const rules = rulesOf.get(after.inc) ?? grants.find(({ effect }) => effect === after.effect)?.rules;
      if (rules === undefined) continue;
      rulesOf.set(after.inc, rules);
      // A record's own time may be ahead of a clock that has gone back.
      if (after.effect !== before?.effect)
        limits.set(after.effect, Math.max(t, after.t) + rules.executionMsMax);
      const limit = limits.get(after.effect) ?? Number.POSITIVE_INFINITY;
      if (after.leaseUntil > limit) return `${key}: a lease runs ${after.leaseUntil - limit} ms too long`;
    }
  }
  return null;
}

/** I10: once somebody has the answer, nobody who asks later in that window is told anything earlier, and nothing more is granted. */
function answersStayGiven(view: View): string | null {
  for (const { calls, grants } of view.keys.values()) {
    for (const given of calls) {
      if (given.answer === null || !isKept(given.answer)) continue;
      const window = windowOf(view, given);
      if (window !== null && isOfOneWindow(view, given)) {
        const later = calls.find(
          (call) => isEarlierWord(call) && isIn(call, window) && call.at > given.endedAt,
        );
        if (later !== undefined)
          return `call ${later.call} was told ${later.answer?.slug} after call ${given.call} had the answer`;
        const again = grants.find((grant) => grant.window === window && grant.at > given.endedAt);
        if (again !== undefined) return `${again.effect} was granted after call ${given.call} had the answer`;
      }
    }
  }
  return null;
}

/** A 502 or 504 says of this very call that its own answer was lost: it is nobody's word on the key. */
function isEarlierWord({ answer }: Call): boolean {
  if (answer === null) return false;
  return answer.slug === "in-flight" || (answer.slug === "outcome-unknown" && answer.status === 409);
}

function isIn({ windows }: Call, window: number): boolean {
  return windows[0] === window && windows[1] === window;
}

/** Statuses by which the path speaks, not the origin. */
const PATHS: ReadonlySet<number> = new Set([502, 504, 520, 522, 524, 527, 530]);

/** I11: what is stored and what is replayed is what the origin said of that very effect. */
function answersAreTheOrigins(view: View): string | null {
  for (const { key, stored, calls } of view.keys.values()) {
    for (const { after } of stored) {
      if (after === null || after.answer === null || after.answer === "lost") continue;
      const digest = after.answer.split(" ")[2] ?? "";
      const isSaid = view.bodies.get(digest)?.has(after.effect) === true;
      if (!isSaid) return `${key} holds an answer that the origin never gave for ${after.effect}`;
    }
    for (const given of calls) {
      const { answer, call } = given;
      if (answer === null || answer.slug !== "") continue;
      if (isKept(answer) && PATHS.has(answer.status))
        return `call ${call} was given for good what the path said`;
      if (!isOfTheKey(view, given)) return `call ${call} got an answer that is not of ${key}`;
    }
  }
  return null;
}

/** I12: a released attempt has no effect, now or later. */
function releasedMeansNothingHappened({ keys, executed }: View): string | null {
  for (const { stored } of keys.values()) {
    for (const { after } of stored) {
      if (after?.state === "released" && executed.has(after.effect))
        return `${after.effect} was released and is executed`;
    }
  }
  return null;
}

/** I13: tokens grow within a life and never come again in another; neither do the ids of effects. */
function tokensNeverRepeat({ keys }: View): string | null {
  const incs = new Map<string, number>();
  const effects = new Set<string>();
  for (const { stored, key } of keys.values()) {
    let life = "";
    for (const { before, after } of stored) {
      if (after === null) {
        life = "";
        continue;
      }
      if (after.effect === before?.effect) continue;
      const isNewLife = after.inc !== life || before === null;
      if (isNewLife && incs.has(after.inc)) return `${key}: life ${after.inc} came again`;
      const n = isNewLife ? 0 : (incs.get(after.inc) ?? 0);
      if (after.n !== n + 1) return `${key}: attempt ${after.n} follows ${n}`;
      if (effects.has(after.effect)) return `effect ${after.effect} was granted twice`;
      effects.add(after.effect);
      incs.set(after.inc, after.n);
      life = after.inc;
    }
  }
  return null;
}

/** I14: a record's time never runs backwards. */
function timeNeverFalls({ keys }: View): string | null {
  for (const { stored, key } of keys.values()) {
    for (const { before, after } of stored) {
      if (before !== null && after !== null && before.inc === after.inc && after.t < before.t) {
        return `${key}: from ${before.t} to ${after.t}`;
      }
    }
  }
  return null;
}

/** A record that a later build wrote is left as it is, and never answered from. */
function theFutureIsLeftAlone({ history }: View): string | null {
  const ahead = new Set<string>();
  for (const row of history.rows) {
    if (row.do === "future") {
      if (row.isThere) ahead.add(row.key);
      else ahead.delete(row.key);
    }
    const isOfLater = row.do === "stored" && (row.before?.v ?? 0) > row.reads;
    if (row.do === "stored" && (isOfLater || ahead.has(row.key)))
      return `${row.key} was written over a record of a later build`;
  }
  return null;
}

/** A defect: the product threw, or left a promise that nobody listens to. */
function nothingIsThrown({ history }: View): string | null {
  return rowsOf(history.rows, "defect")[0]?.text ?? null;
}

export const SAFETY = {
  I1: oneEffectPerWindow,
  I2: oneAnswerPerWindow,
  I3: staleTokensChangeNothing,
  I7: answersNeedRights,
  I8: answersFitTheRequest,
  "I8 told": othersAreToldSo,
  I9: recordsLeaveLast,
  "I9 window": windowsHold,
  "I14 lease": leasesEnd,
  I10: answersStayGiven,
  I11: answersAreTheOrigins,
  I12: releasedMeansNothingHappened,
  I13: tokensNeverRepeat,
  I14: timeNeverFalls,
  T25: theFutureIsLeftAlone,
  thrown: nothingIsThrown,
} as const satisfies Record<string, Invariant>;
