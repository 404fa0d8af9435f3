/** A reconciliation over open effects in a SQLite file that has the shape of D1, in a process of its own. Its keys answer at once. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fillFile, openSqlite } from "../../support/reconcile/effects-file.ts";

const COUNTS = [10_000, 100_000];
const PROCESS = fileURLToPath(new URL("../../support/reconcile/process.ts", import.meta.url));
/** The usual bounds, but for the number of pages: that of a run is the most there can be. */
const BOUNDS = { leaseMs: 30_000, batch: 100, pages: 1_000, concurrency: 4 };
const RUNS_MAX = 10;
/** With more room Node lets garbage lie, and a peak says nothing: what is kept for each effect would have to fit in here. */
const HEAP_MB = 32;
const RUN_MS_MAX = 300_000;

/** Memory is bounded where ten times as many effects don't need more. */
export async function measureReconcile() {
  const found = COUNTS.map(measureCount);
  const [few, many] = found;
  const { queries, batches, renewals, pages } = many;
  console.log(
    `\nreconcile: open effects in a SQLite file with the shape of D1, pages of ${BOUNDS.batch}, ${BOUNDS.concurrency} at a time\n` +
      `  ${many.perSecond.toFixed(0)} effects/s; ${pages} pages in ${many.runs} runs: ${queries} queries, ${batches} batches, ${renewals} renewals, ` +
      `so ${(queries / pages).toFixed(2)} queries and ${(batches / pages).toFixed(2)} batches a page, aim 1 and 1 beside 2 batches a run\n` +
      `  peak memory of the process, with a heap of at most ${HEAP_MB} MB: ${few.peakMb.toFixed(0)} MB with ${few.count} effects, ${many.peakMb.toFixed(0)} MB with ${many.count}`,
  );
  return found;
}

function measureCount(count) {
  const directory = mkdtempSync(join(tmpdir(), "oncegate-bench-reconcile-"));
  try {
    const file = join(directory, "effects.sqlite");
    fillFile(file, count);
    const { results, counts, seconds, peakMb } = runProcess(file);
    const pages = results.reduce((sum, result) => sum + result.pages, 0);
    const handled = results.reduce((sum, result) => sum + result.handled, 0);
    const isWhole = results.at(-1).ended === "finished" && handled === count && countFindings(file) === count;
    if (!isWhole) throw new Error(`reconcile: not every one of ${count} effects was asked about once`);
    return { count, runs: results.length, pages, ...counts, perSecond: count / seconds, seconds, peakMb };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runProcess(file) {
  const wish = {
    file,
    askedFile: null,
    bounds: BOUNDS,
    aheadMs: 0,
    hold: { at: "never" },
    plant: "none",
    runs: RUNS_MAX,
  };
  const args = [
    `--max-old-space-size=${HEAP_MB}`,
    "--max-semi-space-size=2",
    "--disable-warning=ExperimentalWarning",
    PROCESS,
    JSON.stringify(wish),
  ];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8", timeout: RUN_MS_MAX }));
}

function countFindings(file) {
  const sqlite = openSqlite(file);
  const { total } = sqlite.prepare("SELECT count(*) AS total FROM findings WHERE code = 'unknown'").get();
  sqlite.close();
  return total;
}
