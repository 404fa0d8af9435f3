/** What a run came to, in lines of text. */

import { BREAK_POINTS } from "./breaks.ts";
import { type Fact, isBreak, isSuccess, isUnknown, type Operation, selectFacts } from "./history.ts";
import { bucketOf, groupOf, POINT_NAMES, type Point } from "./points.ts";
import { listClosingTimes } from "./probe-rules.ts";
import type { ChaosRun } from "./run-chaos.ts";

/** How a key ended, and who learnt of it. */
const ENDINGS = ["answered", "replayed", "ran after", "unknown +", "unknown -", "freed", "open"] as const;
type Ending = (typeof ENDINGS)[number];

/** Keys whose whole history is printed. */
const KEYS_SHOWN = 8;

/** What a run has not shown: buckets with fewer kills on their points than their quota, places with too few breaks. */
export function listShortfalls(run: ChaosRun): string[] {
  const killed = selectFacts(run.history.facts, "killed");
  const early = killed.length < run.kills ? [`ended after ${killed.length} of ${run.kills} kills`] : [];
  const byBucket = Map.groupBy(killed, ({ point }) => bucketOf(point));
  const short = [...run.quotas].flatMap(([bucket, quota]) => {
    const made = byBucket.get(bucket)?.filter(({ hit }) => hit).length ?? 0;
    return made < quota ? [`${bucket}: ${made} kills of ${quota} fell on the point`] : [];
  });
  const unbroken = BREAK_POINTS.flatMap((point) => {
    const made = countBreaks(run, point).hits;
    return made < run.breakQuota ? [`${point}: ${made} breaks of ${run.breakQuota} fell on the point`] : [];
  });
  return [...early, ...short, ...unbroken, ...listUnseen(run)];
}

/** What the whole of a run has to have shown at least once. */
function listUnseen({ breakQuota, history: { facts } }: ChaosRun): string[] {
  if (breakQuota === 0) return [];
  const wanted: [text: string, isThere: boolean][] = [
    ["no reconciliation was killed", countRuns(facts).killed > 0],
    ["no reconciliation has found anything open", countRuns(facts).scanned > 0],
    ["no record of a later build was left as it was", selectFacts(facts, "left").length > 0],
  ];
  return wanted.filter(([, isThere]) => !isThere).map(([text]) => text);
}

/** Seed, counts, violations with what happened to their keys, verdict. */
export function describeRun(run: ChaosRun): string {
  const { facts, operations } = run.history;
  const killed = selectFacts(facts, "killed");
  const shortfalls = listShortfalls(run);
  const isGood = run.violations.length === 0 && shortfalls.length === 0;
  const checks = selectFacts(facts, "verified");
  const seconds = (ms: number): number => Math.round(ms / 1_000);
  return [
    `seed ${run.seed}: ${killed.length} kills in ${seconds(run.killingMs)} s ` +
      `(${Math.round((60_000 * killed.length) / run.killingMs)} a minute), ${seconds(run.tookMs)} s in all, ` +
      `${operations.length} keys, ${selectFacts(facts, "called").length} calls, store: ${run.medium}`,
    `ledger: ${selectFacts(facts, "entered").length} entries, verified ${checks.length} times, ` +
      `${selectFacts(facts, "shown").length} checkpoints shown`,
    describeProbes(facts),
    describePauses(facts),
    `kills by bucket: ${describeBuckets(run)}`,
    "",
    ...describeTable(run),
    "",
    describeBreaks(run),
    describeSwaps(facts),
    describeRuns(facts),
    "answered: before the kill. replayed: settled before it, told after it. ran after: the retry was the first to run.",
    "unknown: the origin had its effect (+) or had none (-). freed: its window is over and the key was freed.",
    "",
    ...describeViolations(run),
    ...shortfalls.map((text) => `SHORTFALL ${text}`),
    ...(run.violations.length > 0 ? [`stores kept: ${run.stores.join(", ")}`] : []),
    `verdict: ${isGood ? "every promise was kept" : "FAILED"} (seed ${run.seed})`,
  ].join("\n");
}

function describeProbes(facts: readonly Fact[]): string {
  const times = listClosingTimes(facts);
  const at = (part: number): string =>
    ((times[Math.floor(part * (times.length - 1))] ?? 0) / 1_000).toFixed(1);
  return (
    `probes: ${selectFacts(facts, "probed").length} answers of the origin closed ${times.length} unknown outcomes, ` +
    `half of them within ${at(0.5)} s, 95 of 100 within ${at(0.95)} s, all within ${at(1)} s`
  );
}

function describePauses(facts: readonly Fact[]): string {
  const pauses = selectFacts(facts, "paused");
  return `paused at: ${pauses.map(({ point, hit }) => `${point}${hit ? "" : " (missed)"}`).join(", ")}`;
}

function describeBuckets(run: ChaosRun): string {
  const byBucket = Map.groupBy(selectFacts(run.history.facts, "killed"), ({ point }) => bucketOf(point));
  return [...run.quotas].map(([bucket]) => `${bucket} ${byBucket.get(bucket)?.length ?? 0}`).join(", ");
}

function countBreaks({ history }: ChaosRun, at: Point) {
  const broken = selectFacts(history.facts, "broken").filter(({ point }) => point === at);
  return { breaks: broken.length, hits: broken.filter(({ hit }) => hit).length };
}

function describeBreaks(run: ChaosRun): string {
  const counts = BREAK_POINTS.map((point) => {
    const { breaks, hits } = countBreaks(run, point);
    return `${point} ${hits}${hits < breaks ? ` (of ${breaks})` : ""}`;
  });
  return `objects broken at: ${counts.join(", ")}`;
}

function describeSwaps(facts: readonly Fact[]): string {
  const swaps = selectFacts(facts, "swapped").length;
  return (
    `builds swapped ${swaps} times; records of the later one that this one has left as they were: ` +
    `${selectFacts(facts, "left").filter(({ isSame }) => isSame).length}`
  );
}

function describeRuns(facts: readonly Fact[]): string {
  const { ended, killed, scanned } = countRuns(facts);
  return `reconciliation: ${ended} runs have come to their end and ${killed} were killed, with ${scanned} open effects scanned`;
}

/** Runs as they were seen last; each gateway counts its own. */
function countRuns(facts: readonly Fact[]) {
  const runs = [
    ...new Map(selectFacts(facts, "ran").map((run) => [`${run.id} ${run.startedAt}`, run])).values(),
  ];
  const ended = runs.filter((run) => run.ended !== null);
  return {
    ended: ended.length,
    killed: runs.length - ended.length,
    scanned: runs.reduce((sum, run) => sum + run.scanned, 0),
  };
}

function describeViolations(run: ChaosRun): string[] {
  const byKey = [...Map.groupBy(run.violations, ({ key }) => key)];
  const shown = byKey
    .slice(0, KEYS_SHOWN)
    .flatMap(([key, violations]) => [
      ...violations.map(({ rule, text }) => `VIOLATION ${rule} ${key}: ${text}`),
      ...describeKey(run, key),
    ]);
  const more = byKey.length - KEYS_SHOWN;
  return more > 0 ? [...shown, `and ${more} more keys`] : shown;
}

function countByPoint(run: ChaosRun) {
  const byPoint = Map.groupBy(selectFacts(run.history.facts, "killed"), ({ point }) => point);
  return POINT_NAMES.map((point) => {
    const kills = byPoint.get(point) ?? [];
    return { point, kills: kills.length, hits: kills.filter(({ hit }) => hit).length };
  }).filter(({ kills }) => kills > 0);
}

function describeTable(run: ChaosRun): string[] {
  const stories = listStories(run);
  const rows = countByPoint(run).map(({ point, kills, hits }) => {
    const ended = run.history.operations
      .filter((operation) => operation.point === point && operation.kill > 0)
      .map((operation) => endingOf(operation, stories.get(operation.key) ?? []));
    const counts = ENDINGS.map((ending) => ended.filter((each) => each === ending).length);
    return [`${groupOf(point)} ${point}`, kills, hits, ...counts];
  });
  return [["aimed at", "kills", "hits", ...ENDINGS], ...rows].map((cells) =>
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(28) : String(cell).padStart(10))).join(""),
  );
}

/** Facts of each key, with its own kill among them. */
function listStories({ history }: ChaosRun): Map<string, Fact[]> {
  const stories = new Map(history.operations.map(({ key }) => [key, [] as Fact[]]));
  const byKill = Map.groupBy(history.operations, ({ kill }) => kill);
  for (const fact of history.facts) {
    if ("key" in fact) stories.get(fact.key)?.push(fact);
    if (fact.kind !== "killed") continue;
    for (const { key } of byKill.get(fact.kill) ?? []) stories.get(key)?.push(fact);
  }
  return stories;
}

function endingOf({ isBrief }: Operation, facts: readonly Fact[]): Ending {
  const state = selectFacts(facts, "looked").at(-1)?.state;
  if (isBrief && state !== "unknown") return state === null ? "freed" : "open";
  const killed = facts.findIndex((fact) => fact.kind === "killed");
  const last = selectFacts(facts, "told").at(-1)?.told;
  if (last === undefined || !(isSuccess(last) || isUnknown(last))) return "open";
  const isDone = facts.some((fact) => fact.kind === "executed");
  if (isUnknown(last)) return isDone ? "unknown +" : "unknown -";
  const told = facts.findIndex((fact) => fact.kind === "told" && isSuccess(fact.told));
  if (told < killed) return "answered";
  return facts.slice(killed).some((fact) => fact.kind === "arrived") ? "ran after" : "replayed";
}

/** The history of one key, or of one attempt with all that broke the gateway meanwhile, one fact a line. */
function describeKey(run: ChaosRun, key: string): string[] {
  const story = listStories(run).get(key) ?? listFactsOfAttempt(run.history.facts, key);
  return story.map((fact) => `    ${JSON.stringify(fact)}`);
}

function listFactsOfAttempt(facts: readonly Fact[], effect: string): Fact[] {
  const isOf = (fact: Fact): boolean => "effect" in fact && fact.effect === effect;
  const first = facts.findIndex(isOf);
  const last = facts.findLastIndex((fact) => isOf(fact) && fact.kind !== "entered");
  return facts.filter((fact, i) => isOf(fact) || (isBreak(fact) && i > first && i < last));
}
