/** What a run came to, in lines of text. */
import { type Fact, isSuccess, isUnknown, type Operation, POINTS, selectFacts } from "./history.ts";
import type { ChaosRun } from "./run-chaos.ts";

/** How a key ended, and who learnt of it. */
const ENDINGS = ["answered", "replayed", "ran after", "unknown +", "unknown -", "open"] as const;
type Ending = (typeof ENDINGS)[number];

/** A kill that the machine's own delays have moved is no proof of anything; some of them are to be expected. */
const HITS_LEAST = 0.75;
/** Keys whose whole history is printed. */
const KEYS_SHOWN = 8;

/** Aims that got fewer kills than the quota, or points that were missed too often: what such a run has not shown. */
export function listShortfalls(run: ChaosRun): string[] {
  const rows = countByAim(run);
  const total = rows.reduce((sum, { kills }) => sum + kills, 0);
  const early = total < run.kills ? [`ended after ${total} of ${run.kills} kills`] : [];
  const short = rows.flatMap(({ aim, kills, hits }) => [
    ...(kills < run.quota ? [`${aim}: ${kills} kills of ${run.quota}`] : []),
    ...(hits < Math.floor(kills * HITS_LEAST)
      ? [`${aim}: only ${hits} of ${kills} kills fell on the point`]
      : []),
  ]);
  return [...early, ...short];
}

/** Seed, counts, violations with what happened to their keys, verdict. */
export function describeRun(run: ChaosRun): string {
  const killed = selectFacts(run.history.facts, "killed");
  const shortfalls = listShortfalls(run);
  const isGood = run.violations.length === 0 && shortfalls.length === 0;
  return [
    `seed ${run.seed}: ${killed.length} kills, ${run.history.operations.length} keys, ` +
      `${selectFacts(run.history.facts, "called").length} calls, ${Math.round(run.tookMs / 1_000)} s, store: ${run.medium}`,
    "",
    ...describeTable(run),
    "",
    "answered: before the kill. replayed: settled before it, told after it. ran after: the retry was the first to run.",
    "unknown: the origin had its effect (+) or had none (-).",
    "",
    ...describeViolations(run),
    ...shortfalls.map((text) => `SHORTFALL ${text}`),
    ...(run.violations.length > 0 ? [`store kept in ${run.store}`] : []),
    `verdict: ${isGood ? "every promise was kept" : "FAILED"} (seed ${run.seed}, quota ${run.quota} kills an aim)`,
  ].join("\n");
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

function countByAim(run: ChaosRun): { aim: string; kills: number; hits: number }[] {
  const killed = selectFacts(run.history.facts, "killed");
  const byAim = Map.groupBy(killed, (kill) => `${kill.point} ${kill.executor} ${kill.crashRule}`);
  return [...byAim].map(([aim, kills]) => ({
    aim,
    kills: kills.length,
    hits: kills.filter(({ hit }) => hit).length,
  }));
}

function describeTable(run: ChaosRun): string[] {
  const endings = Map.groupBy(run.history.operations, (operation) => aimOf(operation));
  const hits = new Map(countByAim(run).map((row) => [row.aim, row]));
  const rank = (aim: string): number => POINTS.findIndex((point) => aim.startsWith(`${point} `));
  const rows = [...endings]
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([aim, operations]) => {
      const ended = operations.map((operation) => endingOf(operation, run.history.facts));
      const counts = ENDINGS.map((ending) => ended.filter((each) => each === ending).length);
      return [aim, hits.get(aim)?.kills ?? 0, hits.get(aim)?.hits ?? 0, ...counts];
    });
  return [["aimed at", "kills", "hits", ...ENDINGS], ...rows].map((cells) =>
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(30) : String(cell).padStart(10))).join(""),
  );
}

function aimOf({ point, executor, crashRule }: Operation): string {
  return `${point} ${executor} ${crashRule}`;
}

function endingOf({ key, kill }: Operation, all: readonly Fact[]): Ending {
  const facts = all.filter((fact) => ("key" in fact ? fact.key === key : fact.kill === kill));
  const killed = facts.findIndex((fact) => fact.kind === "killed");
  const last = selectFacts(facts, "told").at(-1)?.told;
  if (last === undefined || !(isSuccess(last) || isUnknown(last))) return "open";
  const isDone = facts.some((fact) => fact.kind === "executed");
  if (isUnknown(last)) return isDone ? "unknown +" : "unknown -";
  const told = facts.findIndex((fact) => fact.kind === "told" && isSuccess(fact.told));
  if (told < killed) return "answered";
  return facts.slice(killed).some((fact) => fact.kind === "arrived") ? "ran after" : "replayed";
}

/** The history of one key, one fact a line. */
function describeKey(run: ChaosRun, key: string): string[] {
  const kill = run.history.operations.find((operation) => operation.key === key)?.kill;
  return run.history.facts
    .filter((fact) => ("key" in fact ? fact.key === key : fact.kill === kill))
    .map((fact) => `    ${JSON.stringify(fact)}`);
}
