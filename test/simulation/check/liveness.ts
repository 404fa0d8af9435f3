/** What has to come about once nothing goes wrong any more. */
import type { History, Left } from "./history.ts";
import type { Invariant } from "./safety.ts";
import type { Call, View } from "./view.ts";

const LATE_MS = 300_000;

/** A clock that is turned back keeps a machine from some of what is due for so long. */
const BACK_MS_MAX = 60_000;

export function isTurnedBack({ clocks }: History): boolean {
  return clocks.backMs > BACK_MS_MAX;
}

/**
 * What is left at the end, and what was left before anybody called again. An alarm stands by the clock that it was armed by: where that was
 * turned back, it may take a caller to find out.
 */
function allLeft({ history }: View): readonly Left[] {
  return isTurnedBack(history) ? history.left : [...(history.rested ?? []), ...history.left];
}

/** L1: nothing stays in flight. */
function flightsEnd(view: View): string | null {
  const left = allLeft(view).find(({ stored }) => stored?.state === "in-flight");
  return left === undefined ? null : `${left.key} is still in flight`;
}

/** L2: where the origin can be asked, no outcome stays unknown. */
function unknownsAreResolved(view: View): string | null {
  if (view.history.probing === "none") return null;
  const left = allLeft(view).find(({ stored }) => stored?.state === "unknown");
  return left === undefined ? null : `${left.key} is still unknown`;
}

/** L4: what is over is gone, with the model's own count of when that is. */
function recordsGo(view: View): string | null {
  for (const { key, stored, clock, isUnreadable } of allLeft(view)) {
    if (stored === null || isUnreadable) continue;
    const own = view.keys.get(key)?.ends.get(stored.inc) ?? null;
    // An alarm may ring a little late, and its delivery may have had to be made again.
    if (own !== null && own + LATE_MS < clock)
      return `${key} is still there, ${clock - own} ms after its end`;
  }
  return null;
}

function isFinal({ answer }: Call): boolean {
  if (answer === null) return false;
  const isGiven = answer.slug === "" && ["executed", "replayed"].includes(answer.mark);
  return isGiven || ["answer-not-kept", "key-expired"].includes(answer.slug);
}

/** L5: the last call of every key is answered for good, unless its outcome can't be known. */
function lastCallsSucceed({ history, keys }: View): string | null {
  const unknown = new Set(
    history.left.flatMap(({ key, stored }) => (stored?.state === "unknown" ? [key] : [])),
  );
  for (const { key, calls } of keys.values()) {
    const last = calls.at(-1);
    if (last === undefined) continue;
    const { answer } = last;
    if (answer === null) return `call ${last.call}, the last of ${key}, was not answered`;
    const isOthers = answer.slug === "key-reused" && calls.some(({ variant }) => variant !== last.variant);
    // A belief that takes its time may take it beyond the last call.
    const isOpen = unknown.has(key) || history.probing === "observed";
    const isUnknown = answer.slug === "outcome-unknown" && isOpen;
    const isCounted = answer.slug === "quota-exceeded" && history.quota !== null;
    // Its twin has the answer.
    const isShared =
      answer.slug === "in-flight" && calls.some((call) => isFinal(call) && call.endedAt > last.at);
    if (!isFinal(last) && !isOthers && !isUnknown && !isCounted && !isShared)
      return `call ${last.call}, the last of ${key}, got ${answer.status} ${answer.slug}`;
  }
  return null;
}

/** A run that never comes to an end is a loop. */
function everythingEnds({ history }: View): string | null {
  return history.cameToRest ? null : "it never came to rest";
}

export const LIVENESS = {
  L1: flightsEnd,
  L2: unknownsAreResolved,
  L4: recordsGo,
  L5: lastCallsSucceed,
  rest: everythingEnds,
} as const satisfies Record<string, Invariant>;
