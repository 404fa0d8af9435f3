/**
 * A history, sorted for the invariants: what belongs to which window of which key. Windows are counted here, from what was granted and when it
 * was closed by the machine's own clock. What the product itself holds for the end of a window is not asked, but where the clock has gone back
 * and the record's own time decides under which of two rules it lives.
 */
import type { Answered, History, Row, RowOf, Rules, Stored } from "./history.ts";

export type Call = RowOf<"call"> & {
  /** Null: it was never answered. */
  answer: Answered | null;
  endedAt: number;
  /** The window of the key when it was made and when it was answered; -1: none has begun. */
  windows: readonly [number, number];
};

/** `seenFrom`: the earliest time at which it can have taken place; it was durable at `at`. */
export type Granted = {
  effect: string;
  key: string;
  window: number;
  at: number;
  seenFrom: number;
  rules: Rules;
  order: number;
};

/** A change of storage, with what the model held before it: when the life may be gone, and the highest time it had seen. */
export type Change = RowOf<"stored"> & { window: number; goneAt: number | null; t: number };

export type KeyView = {
  key: string;
  calls: Call[];
  grants: Granted[];
  stored: Change[];
  /** By the model: when each life may be gone, by the machine's own clock; null: time alone does not end it. */
  ends: Map<string, number | null>;
  /** By the model: from when to when, in true time, each window's answer was to be given again. */
  given: Map<number, { from: number; to: number }>;
};

export type View = {
  history: History;
  keys: ReadonlyMap<string, KeyView>;
  grants: ReadonlyMap<string, Granted>;
  /** Effects by the digests of the bodies that the origin has answered with. */
  bodies: ReadonlyMap<string, ReadonlySet<string>>;
  arrivals: ReadonlyMap<string, RowOf<"arrive">[]>;
  executed: ReadonlySet<string>;
};

/**
 * One key's present life, as the model has it. `isOver`: its alarm has seen the end of its window and quarantine. `ownClosedAt`:
 * when it was closed by the record's own time, which runs on while the clock has gone back: so it may be alive when by the clock it is over.
 */
type Life = {
  window: number;
  rules: Rules;
  closedAt: number | null;
  t: number;
  ownClosedAt: number;
  isOver: boolean;
};

type Making = KeyView & { life: Life | null; windows: number };

export function viewOf(history: History): View {
  const keys = new Map<string, Making>();
  const grants = new Map<string, Granted>();
  const bodies = new Map<string, Set<string>>();
  const arrivals = new Map<string, RowOf<"arrive">[]>();
  const executed = new Set<string>();
  const calls = new Map<number, Call>();
  const keyOf = (key: string): Making => {
    let known = keys.get(key);
    if (known === undefined) {
      known = {
        key,
        calls: [],
        grants: [],
        stored: [],
        ends: new Map(),
        given: new Map(),
        life: null,
        windows: 0,
      };
      keys.set(key, known);
    }
    return known;
  };
  const note = (row: Row, order: number): void => {
    switch (row.do) {
      case "granted": {
        const granted = grant(keyOf(row.key), row, order);
        grants.set(row.effect, granted);
        return;
      }
      case "stored":
        store(keyOf(row.key), row);
        return;
      case "rang":
        noteRing(keyOf(row.key), row.clock);
        return;
      case "call": {
        const key = keyOf(row.key);
        const window = windowNow(key);
        const call: Call = {
          ...row,
          answer: null,
          endedAt: Number.POSITIVE_INFINITY,
          windows: [window, window],
        };
        calls.set(row.call, call);
        key.calls.push(call);
        return;
      }
      case "return":
      case "silence":
        end(calls.get(row.call), row, windowNow(keyOf(row.key)));
        return;
      case "arrive":
        arrivals.set(row.effect, [...(arrivals.get(row.effect) ?? []), row]);
        return;
      case "execute":
        executed.add(row.effect);
        return;
      case "reply":
        bodies.set(row.body, (bodies.get(row.body) ?? new Set()).add(row.effect));
        return;
      default:
        return;
    }
  };
  history.rows.forEach(note);
  return { history, keys, grants, bodies, arrivals, executed };
}

function endOf({ closedAt, rules }: Life): number | null {
  return closedAt === null ? null : closedAt + spanOf(rules);
}

function spanOf({ windowMs, quarantineMs }: Rules): number {
  return windowMs + quarantineMs;
}

/** Where the clock has gone back a life may go on under its own rules, or be followed by another: which, only the product knows. */
function eitherOf(a: Rules, b: Rules): Rules {
  return {
    windowMs: Math.min(a.windowMs, b.windowMs),
    quarantineMs: Math.min(a.quarantineMs, b.quarantineMs),
    executionMsMax: Math.max(a.executionMsMax, b.executionMsMax),
    // Both policies of a run say the same of it.
    onCrash: b.onCrash,
  };
}

function windowNow({ life }: Making): number {
  return life?.window ?? -1;
}

/** A grant opens a window unless one is open: one whose outcome is not known, or whose time is not over. */
function grant(key: Making, row: RowOf<"granted">, order: number): Granted {
  const { life } = key;
  const t = Math.max(life?.t ?? Number.NEGATIVE_INFINITY, row.clock);
  const end = life === null ? Number.NEGATIVE_INFINITY : endOf(life);
  const isEnded = end !== null && end <= t;
  if (life === null || life.isOver || isEnded) {
    const mayGoOn = life !== null && (!isEnded || life.ownClosedAt + spanOf(life.rules) > t);
    key.life = {
      window: key.windows,
      ownClosedAt: row.clock,
      rules: mayGoOn ? eitherOf(life.rules, row.rules) : row.rules,
      closedAt: null,
      t: row.clock,
      isOver: false,
    };
    key.windows += 1;
  } else {
    key.life = { ...life, closedAt: null, t };
  }
  const { window, rules } = key.life;
  const granted = {
    effect: row.effect,
    key: row.key,
    window,
    at: row.at,
    seenFrom: row.seenFrom,
    rules,
    order,
  };
  key.grants.push(granted);
  return granted;
}

/** An alarm that has found a record at its end may have told so: a clock that goes back afterwards brings nothing to life again. */
function noteRing(key: Making, clock: number): void {
  const { life } = key;
  const end = life === null ? null : endOf(life);
  if (life !== null && end !== null && end <= Math.max(life.t, clock)) key.life = { ...life, isOver: true };
}

function store(key: Making, row: RowOf<"stored">): void {
  const { life } = key;
  const t = Math.max(life?.t ?? row.clock, row.clock);
  const end = life === null ? null : endOf(life);
  // What an alarm has seen the end of may go, whatever the clock says by then.
  const goneAt = end !== null && life?.isOver === true ? Math.min(end, t) : end;
  key.stored.push({ ...row, window: windowNow(key), goneAt, t });
  if (life === null) return;
  const isClosed = row.after?.state === "settled" || row.after?.state === "released";
  const closedAt = isClosed ? (life.closedAt ?? t) : row.after === null ? life.closedAt : null;
  const ownClosedAt = isClosed && life.closedAt === null ? (row.after?.t ?? t) : life.ownClosedAt;
  key.life = { ...life, t, ownClosedAt, closedAt };
  if (row.after !== null) key.ends.set(row.after.inc, endOf(key.life));
  if (row.after?.state === "settled" && !key.given.has(life.window)) {
    key.given.set(life.window, { from: row.at, to: row.at + life.rules.windowMs });
  }
}

function end(call: Call | undefined, row: RowOf<"return"> | RowOf<"silence">, window: number): void {
  if (call === undefined) return;
  call.endedAt = row.at;
  call.answer = row.do === "return" ? row.answer : null;
  call.windows = [call.windows[0], window];
}

/** Whether an answer is one that stays: the origin's own, stored for everybody who asks again. One that is passed on as it comes is not. */
export function isKept({ slug, mark, others }: Answered): boolean {
  return (
    slug === "" && (mark === "executed" || mark === "replayed") && others.includes("idempotency-expires")
  );
}

/**
 * The window in which a kept answer of a call was given: that of an effect behind its body, among those that the call overlaps. An origin that
 * drops repeats gives one answer for effects of several windows: then the newest. Null: none of them.
 */
export function windowOf(view: View, call: Call): number | null {
  const [first, last] = call.windows;
  const here = [...windowsBehind(view, call)].filter((window) => first <= window && window <= last);
  return here.length === 0 ? null : Math.max(...here);
}

/** Whether the answer can only be of one window. */
export function isOfOneWindow(view: View, call: Call): boolean {
  return windowsBehind(view, call).size === 1;
}

/** All windows of a call's key that have an effect behind its answer's body. */
function windowsBehind(view: View, call: Call): Set<number> {
  const effects = view.bodies.get(call.answer?.body ?? "") ?? [];
  const grants = [...effects].map((effect) => view.grants.get(effect));
  return new Set(grants.flatMap((grant) => (grant?.key === call.key ? [grant.window] : [])));
}

/** What a token gives a right to change. */
export function rightsOf(stored: Stored | null): string {
  if (stored === null) return "absent";
  const { state, inc, n, effect, leaseUntil, answer } = stored;
  return `${state} ${inc} ${n} ${effect} ${leaseUntil ?? ""} ${answer ?? ""}`;
}

/** A clock that was behind and has caught up leaves a lease a whole one. */
export function isProlonged(before: Stored, after: Stored | null): boolean {
  if (before.state !== "in-flight" || after?.state !== "in-flight" || after.effect !== before.effect)
    return false;
  const isLater = (after.leaseUntil ?? 0) > (before.leaseUntil ?? 0);
  return isLater && before.ahead > 0 && after.ahead === 0;
}
