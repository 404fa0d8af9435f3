/**
 * Whether the calls of one window could have happened one after another: the search of Wing and Gong, which tries every order that the
 * times of calls and answers allow, and remembers what it has tried. The object is a key as the contract tells of it:
 *
 *   absent ─run─▶ running ─▶ settled(d), released, unknown;   unknown ─▶ settled(d), released;   released ─run─▶ running
 *   unknown ─run─▶ running only where the route may run again
 *
 * A run is seen by the injector, an answer by its caller; what becomes of a run in between nobody has to say, so those moves are free.
 */
import type { Invariant } from "./safety.ts";
import { type Call, isKept, type KeyView, type View, windowOf } from "./view.ts";

type Operation = { from: number; to: number; needs: Need };
type Need =
  | { kind: "run" }
  | { kind: "settled"; body: string }
  | { kind: "state"; state: "running" | "unknown" | "released" };

const OPERATIONS_MAX = 48;
/** Above this a search counts as undecided, which is a failure. */
const STEPS_MAX = 200_000;

/** Every window of every key can be told as one story. */
function windowsAreLinear(view: View): string | null {
  for (const key of view.keys.values()) {
    const count = key.grants.reduce((most, { window }) => Math.max(most, window + 1), 0);
    for (let window = 0; window < count; window++) {
      const operations = operationsOf(view, key, window);
      if (operations.length > OPERATIONS_MAX)
        return `${key.key} has ${operations.length} operations in window ${window}`;
      const mayRepeat = key.grants.some(
        (grant) => grant.window === window && grant.rules.onCrash === "retry",
      );
      const found = search(operations, mayRepeat);
      if (found === "none") return `the calls of ${key.key} in window ${window} have no order`;
      if (found === "undecided") return `no order of ${key.key} was found in time`;
    }
  }
  return null;
}

function operationsOf(view: View, key: KeyView, window: number): Operation[] {
  const runs: Operation[] = key.grants
    .filter((grant) => grant.window === window)
    .map((grant) => ({ from: grant.seenFrom, to: grant.at, needs: { kind: "run" } }));
  return [...runs, ...key.calls.flatMap((call) => operationOf(view, call, window))];
}

function operationOf(view: View, call: Call, window: number): Operation[] {
  const { answer, at: from, endedAt: to, windows } = call;
  if (answer === null) return [];
  if (isKept(answer)) {
    const isHere = windowOf(view, call) === window;
    return isHere ? [{ from, to, needs: { kind: "settled", body: answer.body } }] : [];
  }
  // Which window another answer speaks of is known only where there was one.
  if (windows[0] !== window || windows[1] !== window) return [];
  if (answer.slug === "in-flight") return [{ from, to, needs: { kind: "state", state: "running" } }];
  if (answer.slug === "outcome-unknown" && answer.status === 409) {
    return [{ from, to, needs: { kind: "state", state: "unknown" } }];
  }
  return answer.mark === "released" ? [{ from, to, needs: { kind: "state", state: "released" } }] : [];
}

/** States as texts; a settled one with its body. */
function search(operations: readonly Operation[], mayRepeat: boolean): "found" | "none" | "undecided" {
  const tried = new Set<string>();
  const stack: { done: bigint; state: string; left: number }[] = [
    { done: 0n, state: "absent", left: operations.length },
  ];
  let steps = 0;
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (at.left === 0) return "found";
    steps += 1;
    if (steps > STEPS_MAX) return "undecided";
    const { done, state, left } = at;
    const isOpen = (i: number): boolean => ((done >> BigInt(i)) & 1n) === 0n;
    let deadline = Number.POSITIVE_INFINITY;
    for (const [i, { to }] of operations.entries()) if (isOpen(i)) deadline = Math.min(deadline, to);
    for (const [i, operation] of operations.entries()) {
      // What began after another had ended comes after it.
      if (!isOpen(i) || operation.from > deadline) continue;
      const next = apply(state, operation.needs, mayRepeat);
      if (next === null) continue;
      const then = done | (1n << BigInt(i));
      const name = `${then.toString(36)} ${next}`;
      if (tried.has(name)) continue;
      tried.add(name);
      stack.push({ done: then, state: next, left: left - 1 });
    }
  }
  return "none";
}

/** The state after an operation, through free moves before it; null: it can't happen here. */
function apply(state: string, needs: Need, mayRepeat: boolean): string | null {
  const isOpen = state === "running" || state === "unknown";
  switch (needs.kind) {
    case "run": {
      const isFree =
        state === "absent" ||
        state === "released" ||
        state === "running" ||
        (state === "unknown" && mayRepeat);
      // A run that was seen may have been released before the next one.
      return isFree || state === "unknown" ? "running" : null;
    }
    case "settled": {
      const settled = `settled ${needs.body}`;
      return isOpen || state === settled ? settled : null;
    }
    case "state":
      if (needs.state === "running") return state === "running" ? state : null;
      return isOpen || state === needs.state ? needs.state : null;
  }
}

export const LINEAR = { linear: windowsAreLinear } as const satisfies Record<string, Invariant>;
export { type Operation, search as searchOrder };
