/** What the product may do outside of its keys: whom it may call, and how many keys may be new. */
import { rowsOf } from "./history.ts";
import type { Invariant } from "./safety.ts";
import type { View } from "./view.ts";

/** I17: connections are opened to what is configured and to nothing else, whatever requests and answers say. */
function onlyWhatIsConfigured({ history }: View): string | null {
  const wrong = rowsOf(history.rows, "connect").find(
    ({ to }) => !history.mayReach.some((beginning) => to.startsWith(beginning)),
  );
  return wrong === undefined ? null : `a connection to ${wrong.to}`;
}

const MINUTE_MS = 60_000;

/** S18: a key that is new has been counted first. Some time may pass between the two, so only sums can be compared. */
function newKeysAreCounted({ history, keys }: View): string | null {
  const { quota, clocks } = history;
  if (quota === null || clocks.whose.size > 0) return null;
  const minuteOf = (at: number): number => Math.floor((at + quota.clock) / MINUTE_MS);
  const begun = [...keys.values()].flatMap(({ stored }) =>
    stored.flatMap(({ at, before, after }) => (after !== null && after.inc !== before?.inc ? [at] : [])),
  );
  for (const [i, at] of begun.toSorted((a, b) => a - b).entries()) {
    const most = quota.newKeysPerMinute * (minuteOf(at) - minuteOf(0) + 1);
    if (i + 1 > most) return `${i + 1} keys were new by ${at} ms, of ${most}`;
  }
  return null;
}

export const REACH = { I17: onlyWhatIsConfigured, quota: newKeysAreCounted } as const satisfies Record<
  string,
  Invariant
>;
