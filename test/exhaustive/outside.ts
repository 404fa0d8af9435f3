/** What goes on outside of the key: what an event there means for the attempts, and what executors and the origin do by themselves. */
import { Violation } from "../model/world.ts";
import type { Facts } from "./judge.ts";
import { BACK, type Case, type Doing, FRESH, type Granted, isOut, type Outside, UNIT } from "./place.ts";

/** I12 and half of I11. Throws a `Violation` where the key and the world have parted. */
export function follow(outside: Outside, facts: Facts, about: Case): Outside {
  const { granted, renewed, replayed, freed, isMeasured, orphaned, told, unheard } = facts;
  if (replayed >= 0 && outside.doings[replayed]?.fate !== "happened")
    throw new Violation("I11", `attempt ${replayed + 1} has not happened and is replayed`);
  if (unheard >= 0 && outside.doings[unheard]?.isTold === false)
    throw new Violation("told", `nobody hears of attempt ${unheard + 1}`);
  let next = outside;
  if (isMeasured && outside.clock === "to be set right") next = { ...next, clock: "behind" };
  for (const place of told) next = change(next, place, { isTold: true });
  if (granted !== null) next = { ...next, doings: [...next.doings, { ...FRESH, leaseLeft: granted }] };
  // Its executor may hear of the longer lease.
  if (renewed !== null) next = change(next, next.doings.length - 1, { leaseLeft: renewed });
  if (next.doings[orphaned]?.dispatch === "not-yet") next = change(next, orphaned, { dispatch: "never" });
  const doing = next.doings[freed];
  if (doing === undefined) return next;
  if (!isOut(doing, about)) throw new Violation("I12", `attempt ${freed + 1} may happen`);
  return change(next, freed, { isFreed: true });
}

/** One thing that somebody may do; null where he can't. */
export type Deed = {
  name: string;
  isPossible: (doing: Doing) => boolean;
  what: Partial<Doing>;
};

/** `late` is an executor that does not mind when its grant reached it. */
export function listDeeds(about: Case, dispatches: "in-time" | "late"): readonly Deed[] {
  const isArriving = (doing: Doing): boolean =>
    doing.dispatch === "sent" && doing.fate === "open" && !isOut(doing, about);
  const isWaiting = ({ dispatch, fate }: Doing): boolean => dispatch === "not-yet" && fate !== "out";
  const isInTime = ({ leaseLeft }: Doing): boolean => leaseLeft > 0 || dispatches === "late";
  return [
    {
      name: "dispatch",
      isPossible: (doing) => isWaiting(doing) && isInTime(doing),
      what: { dispatch: "sent", arrivesLeft: UNIT.delay },
    },
    { name: "death before dispatch of", isPossible: isWaiting, what: { dispatch: "never" } },
    { name: "effect", isPossible: isArriving, what: { fate: "happened", happenedAgo: 0 } },
    { name: "refusal by the origin of", isPossible: isArriving, what: { fate: "none" } },
    {
      name: "seal",
      isPossible: ({ fate }) => about.probe === "seal" && (fate === "open" || fate === "none"),
      what: { fate: "void" },
    },
  ];
}

/** I1 and I12: where an attempt runs at most once, a window holds at most one effect. And what was freed stays undone. */
export function judgeEffects({ doings }: Outside, attempts: readonly Granted[], about: Case): void {
  const happened = attempts.filter((_, place) => doings[place]?.fate === "happened");
  if (doings.some(({ fate, isFreed }) => fate === "happened" && isFreed))
    throw new Violation("I12", "an attempt was released and happens");
  if (about.terms[0].onCrash !== "hold") return;
  const windows = new Set(happened.map(({ window }) => window));
  if (windows.size < happened.length) throw new Violation("I1", "two effects in one window");
}

export function change(outside: Outside, place: number, what: Partial<Doing>): Outside {
  const doings = outside.doings.map((doing, at) => (at === place ? { ...doing, ...what } : doing));
  return { ...outside, doings };
}

/** True time goes on. */
export function pass({ doings, clock }: Outside, ms: number): Outside {
  const later = doings.map((doing) => ({
    ...doing,
    leaseLeft: Math.max(0, doing.leaseLeft - ms),
    arrivesLeft: Math.max(0, doing.arrivesLeft - ms),
    happenedAgo: doing.happenedAgo === null ? null : doing.happenedAgo + ms,
  }));
  return { doings: later, clock };
}

/** How the object's clock may be moved, and by how much. */
export function listSteps(
  { clock }: Outside,
  far: keyof typeof BACK,
): { name: string; by: number; to: Outside["clock"] }[] {
  const to = far === "far back" ? "to be set right" : "behind";
  if (clock === "right") return [{ name: "the object's clock steps back", by: -BACK[far], to }];
  return clock === "to be set right"
    ? [{ name: "the object's clock is set right", by: BACK[far], to: "right" }]
    : [];
}
