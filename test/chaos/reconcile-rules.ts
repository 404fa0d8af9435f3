/** What must be true of a reconciliation that was killed, of the one that went on from its cursor, and of those between kills. Pure. */
import type { Violation } from "./checker.ts";
import { type FactOf, type History, selectFacts } from "./history.ts";
import { type Facts, PAGE } from "./reconcile-runs.ts";

/** What is wrong, in words; nothing where all is well. `pages`: so many were kept before the kill. */
export function findMistakes(facts: Facts, pages: number): string[] {
  const { effects, killed, early, next, runs, findings } = facts;
  const kept = pages * PAGE;
  const asked = new Set([...killed.asked, ...next.asked]);
  const before = new Set(killed.asked);
  const again = next.asked.filter((effect) => before.has(effect));
  const cut = effects.slice(kept, kept + PAGE);
  const rest = Math.ceil((effects.length - kept) / PAGE);
  const rules: [isKept: boolean, mistake: string][] = [
    [killed.signal === "SIGKILL" && killed.result === null, "the first process was not killed"],
    [killed.cursor === (effects[kept - 1] ?? null), `the kill left the cursor at ${killed.cursor}`],
    [killed.asked.length >= kept, "a page was kept before it was asked about"],
    [early.result?.ended === "taken" && early.asked.length === 0, "a lease that holds was no obstacle"],
    [early.cursor === killed.cursor, "the cursor was moved without the lease"],
    [next.result?.ended === "finished", `the next run ended as ${next.result?.ended}`],
    [next.result?.scanned === effects.length - kept, `the next run has read ${next.result?.scanned} effects`],
    [next.asked[0] === effects[kept], `the next run began at ${next.asked[0]}`],
    [next.cursor === null, "the scan is through and the cursor is not at the start"],
    [effects.every((effect) => asked.has(effect)), "effects were never asked about"],
    [new Set(next.asked).size === next.asked.length, "the next run asked twice about an effect"],
    [again.every((effect) => cut.includes(effect)), "effects of a page that was kept were asked about again"],
    [findings.join() === effects.toSorted().join(), "effects have no finding"],
    [runs.join() === `died ${pages},finished ${rest}`, `the runs were: ${runs.join()}`],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, mistake]) => mistake);
}

/** A run that dies holds its lease for so long at least. */
const LEASE_MS = 30_000;

export const RECONCILE_RULE_NAMES = [
  "runs-overlap",
  "run-failed",
  "run-missing",
  "finding-missing",
  "finding-left",
  "finding-invented",
] as const;

/** What runs of the cron's handler have done and learned while processes died; nothing to say where there were none. */
export function checkReconciliation(history: History): Violation[] {
  const ran = new Map(selectFacts(history.facts, "ran").map((fact) => [fact.id, fact]));
  if (ran.size === 0) return [];
  const runs = [...ran.values()].sort((a, b) => a.id - b.id);
  return [...checkRuns(runs), ...checkFindings(history)];
}

type Ran = FactOf<"ran">;

/** One at a time, and none but those that were killed is without an end. */
function checkRuns(runs: readonly Ran[]): Violation[] {
  const overlapping = runs.filter((run, i) => {
    const before = runs[i - 1];
    return before !== undefined && run.startedAt < (before.endedAt ?? before.startedAt + LEASE_MS);
  });
  const failed = runs.filter(({ ended }) => ended !== null && ended !== "finished" && ended !== "bounded");
  return [
    ...overlapping.map(({ id }) => violation("runs-overlap", `run ${id}`, "another one held the lease")),
    ...failed.map(({ id, ended }) => violation("run-failed", `run ${id}`, `it ended as ${ended}`)),
    ...(runs.at(-1)?.ended === "finished"
      ? []
      : [violation("run-missing", "runs", "the last one did not come to its end")]),
  ];
}

/** What is open at the end was found, what is closed is nobody's concern, and nothing else is there. */
function checkFindings({ operations, facts }: History): Violation[] {
  const found = new Set(selectFacts(facts, "found").map(({ effect }) => effect));
  const types = Map.groupBy(selectFacts(facts, "entered"), ({ effect }) => effect);
  const looked = new Map(selectFacts(facts, "looked").map((fact) => [fact.key, fact]));
  const missing = operations.flatMap(({ key }) => {
    const { state = null, effects = [] } = looked.get(key) ?? {};
    const effect = effects.at(-1);
    return state !== "unknown" || effect === undefined || found.has(effect)
      ? []
      : [violation("finding-missing", key, `nobody found that ${effect} is open`)];
  });
  const rest = [...found].flatMap((effect) => {
    const entries = types.get(effect);
    if (entries === undefined)
      return [violation("finding-invented", effect, "the ledger has no such attempt")];
    const isClosed = entries.some(({ type }) => type === "settled" || type === "released");
    return isClosed ? [violation("finding-left", effect, "it is closed, and still a finding")] : [];
  });
  return [...missing, ...rest];
}

function violation(rule: (typeof RECONCILE_RULE_NAMES)[number], key: string, text: string): Violation {
  return { rule, key, text };
}
