/** L6: when all is over nothing is left of it that somebody would have to pay for: no row, no alarm, no timer, no call. */
import type { History, Remains } from "./history.ts";
import type { Invariant } from "./safety.ts";

function nothingIsLeft({ history }: { history: History }): string | null {
  const { remains } = history;
  return rowsLeft(remains) ?? linesLeft(remains) ?? workLeft(remains);
}

/** A key that has no record has nothing else either, and who counts new keys forgets them. */
function rowsLeft(remains: Remains): string | null {
  for (const { name, kind, values, alarm, isAlarmLost } of remains.objects) {
    // Who counts is found by the next new key only.
    const isLeft = kind === "key" ? values.includes("record") : kind === "ledger" || isAlarmLost;
    if (!isLeft && values.length > 0) return `${kind} ${name} still has ${values.join(", ")}`;
    // A shard with a database looks after the age of what is in it for ever.
    const isQuiet = kind === "ledger" ? !remains.hasDatabase : !isLeft;
    if (isQuiet && alarm !== null) return `${kind} ${name} still has an alarm`;
  }
  return null;
}

/** A shard keeps no more than a bundle that still grows. One whose alarm was lost is found by the next append only, or by who reads of it. */
function linesLeft({ objects, shards }: Remains): string | null {
  const stopped = objects.filter(({ isAlarmLost }) => isAlarmLost).map(({ name }) => name);
  for (const { shard, size, bundleLines, staged } of shards) {
    if (stopped.includes(shard)) continue;
    const over = staged.find(({ first, count }) => first + count <= size - (size % bundleLines));
    if (over !== undefined) return `${shard} still has lines from ${over.first} on, of ${size}`;
  }
  return null;
}

function workLeft({ timers, calls }: Remains): string | null {
  const [timer] = timers;
  if (timer !== undefined) return `a timer of ${timer.process} is left: ${timer.label}`;
  const [call] = calls;
  return call === undefined ? null : `${call} has not answered a call`;
}

export const LEFTOVERS = { L6: nothingIsLeft } as const satisfies Record<string, Invariant>;
