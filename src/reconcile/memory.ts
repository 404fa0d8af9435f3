/** A lease store in memory, for tests and for those who embed the loop in one process. It knows nothing of other processes. */
import { RUN_LEASE_AHEAD_MS } from "../core/limits.ts";
import { isPaused } from "../core/pause.ts";
import type { Cursor, JudgedFinding } from "../core/reconcile/finding.ts";
import type { Ended, Held, LeaseStore, Progress } from "../core/reconcile/ports.ts";

export type MemoryRun = { run: number; startedBy: string; ended: Ended | null; progress: Progress };

export type MemoryLeases = LeaseStore & {
  read: (name: string) => {
    cursor: Cursor | null;
    until: number;
    verdicts: ReadonlyMap<string, JudgedFinding>;
    runs: readonly MemoryRun[];
  };
};

type Row = {
  token: string;
  until: number;
  cursor: Cursor | null;
  verdicts: Map<string, JudgedFinding>;
  runs: MemoryRun[];
};

const NO_PROGRESS: Progress = { pages: 0, scanned: 0, handled: 0, failed: 0 };

/**
 * `isProduction`: then two processes may run at once, each with a memory of its own. `acquire` rejects there for every name that is
 * not among `allowed`.
 */
export function makeMemoryLeases({
  isProduction,
  allowed,
}: {
  isProduction: boolean;
  allowed: readonly string[];
}): MemoryLeases {
  const rows = new Map<string, Row>();
  const rowOf = (name: string): Row => {
    const row = rows.get(name) ?? { token: "", until: 0, cursor: null, verdicts: new Map(), runs: [] };
    rows.set(name, row);
    return row;
  };
  const whenHeld = async ({ name, token }: Held, act: (row: Row) => void): Promise<boolean> => {
    const row = rowOf(name);
    if (!isSameText(row.token, token)) return false;
    act(row);
    return true;
  };
  return {
    async acquire({ name, token, startedBy, now, until }) {
      if (isProduction && !allowed.includes(name))
        throw new Error(`a lease in memory is not allowed for ${name} in production`);
      const row = rowOf(name);
      if (isPaused(row.until, now, RUN_LEASE_AHEAD_MS)) return { kind: "taken" };
      Object.assign(row, { token, until });
      const run = row.runs.length + 1;
      row.runs.push({ run, startedBy, ended: null, progress: NO_PROGRESS });
      return { kind: "held", run, cursor: row.cursor };
    },
    renew: (held, until) => whenHeld(held, (row) => Object.assign(row, { until })),
    checkpoint: (held, { cursor, until, verdicts, progress }) =>
      whenHeld(held, (row) => {
        Object.assign(row, { cursor, until });
        for (const verdict of verdicts) row.verdicts.set(verdict.id, verdict);
        Object.assign(row.runs[held.run - 1] ?? {}, { progress });
      }),
    release: (held, { ended }) =>
      whenHeld(held, (row) => {
        Object.assign(row, { token: "", until: 0 });
        Object.assign(row.runs[held.run - 1] ?? {}, { ended });
      }),
    read: rowOf,
  };
}

/** In a time that does not tell how much of them is the same. An empty token is nobody's. */
function isSameText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < Math.max(a.length, b.length); i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0 && a.length > 0;
}
