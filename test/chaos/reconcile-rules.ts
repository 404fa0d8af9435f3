/** What must be true of a reconciliation that was killed and of the one that went on from its cursor. Pure. */
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
