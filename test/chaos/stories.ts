/** A history, key by key, and what of it belongs to which call. Pure. */
import {
  type Fact,
  type FactOf,
  type History,
  isSuccess,
  type Operation,
  selectFacts,
  type Told,
} from "./history.ts";

/** One operation, and all facts that it has to do with, in order. */
export type Story = { operation: Operation; facts: readonly Fact[] };

/** Facts of each key, with every swap of builds, and those kills and starts that it has to do with: its own, and those that met a call of it. */
export function listStories({ operations, facts }: History): Story[] {
  const byKey = new Map(operations.map(({ key }) => [key, [] as Fact[]]));
  const keysOfKill = Map.groupBy(operations, ({ kill }) => kill);
  const open = new Map<string, number>();
  const met = new Map<number, ReadonlySet<string>>();
  for (const fact of facts) {
    if ("key" in fact) {
      byKey.get(fact.key)?.push(fact);
      const change = fact.kind === "called" ? 1 : fact.kind === "told" || fact.kind === "silence" ? -1 : 0;
      const calls = (open.get(fact.key) ?? 0) + change;
      if (calls > 0) open.set(fact.key, calls);
      else open.delete(fact.key);
    } else if (fact.kind === "swapped") {
      for (const story of byKey.values()) story.push(fact);
    } else if (fact.kind === "killed" || fact.kind === "started") {
      const own = (keysOfKill.get(fact.kill) ?? []).map(({ key }) => key);
      const keys = met.get(fact.kill) ?? new Set([...own, ...open.keys()]);
      met.set(fact.kill, keys);
      for (const key of keys) byKey.get(key)?.push(fact);
    }
  }
  return operations.map((operation) => ({ operation, facts: byKey.get(operation.key) ?? [] }));
}

/** Calls that were under way at a kill, or began before the next start. */
export function callsCutByKill(facts: readonly Fact[]): Set<number> {
  const open = new Set<number>();
  const cut = new Set<number>();
  let isDown = false;
  for (const fact of facts) {
    if (fact.kind === "started") isDown = false;
    if (fact.kind === "told" || fact.kind === "silence") open.delete(fact.call);
    if (fact.kind === "called") (isDown ? cut : open).add(fact.call);
    if (fact.kind === "killed") isDown = true;
    if (fact.kind === "killed" || fact.kind === "broken") {
      for (const call of open) cut.add(call);
    }
  }
  return cut;
}

export function callsAfterSuccess(facts: readonly Fact[]): Set<number> {
  const first = facts.findIndex((fact) => fact.kind === "told" && isSuccess(fact.told));
  const later = first < 0 ? [] : selectFacts(facts.slice(first), "called");
  return new Set(later.map(({ call }) => call));
}

/** What the last call was told; null where it got no answer. */
export function lastTold(facts: readonly Fact[]): Told | null {
  const last = selectFacts(facts, "called").at(-1);
  const told = selectFacts(facts, "told").find((fact: FactOf<"told">) => fact.call === last?.call);
  return told?.told ?? null;
}
