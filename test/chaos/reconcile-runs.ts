/** Processes that go through the open effects of one file, one after the other, the first of which is killed on its way. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RUN_LEASE_MS_MAX } from "../../src/core/limits.ts";
import { readFindingId } from "../../src/core/reconcile/finding.ts";
import type { Result } from "../../src/core/reconcile/ports.ts";
import { fillFile, openSqlite } from "../support/reconcile/effects-file.ts";
import type { Hold, Plant, Told, Wish } from "../support/reconcile/process.ts";

const PROCESS = join(import.meta.dirname, "../support/reconcile/process.ts");
const PROCESS_MS_MAX = 60_000;
/** Not over by itself here: the process that goes on has a clock that is ahead by it. */
const LEASE_MS = RUN_LEASE_MS_MAX;
const COUNT = 520;
export const PAGE = 50;

/** What one process has left: what ended it, its result if it came to one, the effects it asked about in order, the effect at the cursor. */
export type Left = { signal: string | null; result: Result | null; asked: string[]; cursor: string | null };

/** All `effects` in the order of a scan. `early` ran while the lease of `killed` held, `next` when it was over. */
export type Facts = {
  effects: string[];
  killed: Left;
  early: Left;
  next: Left;
  /** At the end: how the runs ended, with the pages they have kept, and which effects there is a finding of. */
  runs: string[];
  findings: string[];
};

export async function killOne(hold: Hold, plant: Plant): Promise<Facts> {
  const directory = mkdtempSync(join(tmpdir(), "oncegate-reconcile-"));
  try {
    const file = join(directory, "effects.sqlite");
    fillFile(file, COUNT);
    const bounds = { leaseMs: LEASE_MS, batch: PAGE, pages: 1_000, concurrency: 4 };
    const go = (name: string, how: Pick<Wish, "aheadMs" | "hold">): Promise<Left> =>
      runProcess({ file, askedFile: join(directory, name), bounds, plant, runs: 1, ...how });
    const killed = await go("killed", { aheadMs: 0, hold });
    const early = await go("early", { aheadMs: 0, hold: { at: "never" } });
    const next = await go("next", { aheadMs: LEASE_MS, hold: { at: "never" } });
    return {
      effects: readTexts(file, "SELECT effect_id AS text FROM effects ORDER BY changed_at, effect_id"),
      killed,
      early,
      next,
      runs: readTexts(file, "SELECT coalesce(ended, 'died') || ' ' || pages AS text FROM runs ORDER BY id"),
      findings: readTexts(file, "SELECT id AS text FROM findings ORDER BY id").map(
        (id) => readFindingId(id).effect,
      ),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** To its end, or until it stands still: then it is killed. */
async function runProcess(wish: Wish & { askedFile: string }): Promise<Left> {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", PROCESS, JSON.stringify(wish)],
    { stdio: ["ignore", "pipe", "inherit"], timeout: PROCESS_MS_MAX, killSignal: "SIGTERM" },
  );
  const closed = once(child, "close");
  let told: Told | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as { held: true } | Told;
    if ("held" in said) child.kill("SIGKILL");
    else told = said;
  }
  const [, signal] = (await closed) as [number | null, string | null];
  const [cursor] = readTexts(wish.file, "SELECT cursor_id AS text FROM leases WHERE cursor_id IS NOT NULL");
  return {
    signal,
    result: told?.results[0] ?? null,
    asked: existsSync(wish.askedFile) ? readFileSync(wish.askedFile, "utf8").split("\n").slice(0, -1) : [],
    cursor: cursor === undefined ? null : readFindingId(cursor).effect,
  };
}

function readTexts(file: string, sql: string): string[] {
  const sqlite = openSqlite(file);
  const texts = sqlite
    .prepare(sql)
    .all()
    .map(({ text }) => String(text));
  sqlite.close();
  return texts;
}
