/** What operators see of reconciliation, and how they have it run now. */
import { type Problem, problem } from "../core/problem.ts";
import { readFindingId } from "../core/reconcile/finding.ts";
import type { Overview, QuarantinedRow, RunRow } from "../core/reconcile/overview.ts";
import type { Result } from "../core/reconcile/ports.ts";
import { refuseSinks, replyJson, writeTime } from "./json.ts";

export type ReconciliationDesk = {
  sinks: readonly string[];
  /** Null: D1 is no sink, so nobody knows which effects are open. */
  access: ReconciliationAccess | null;
  /** Public id of the operation behind a key object's name. */
  operationId: (name: string) => Promise<string>;
  refuse: (problem: Problem) => Response;
};

export type ReconciliationAccess = {
  /** Rejects where the database does not answer. */
  read: () => Promise<Overview>;
  /** Never rejects. */
  run: (startedBy: string) => Promise<Result>;
};

/** `GET /operator/reconciliation`. */
export async function answerOverview(desk: ReconciliationDesk): Promise<Response> {
  if (desk.access === null) return desk.refuse(refuseSinks(desk.sinks));
  try {
    const { lease, cursor, open, runs, quarantined } = await desk.access.read();
    const told = {
      lease: lease === null ? null : { owner: lease.owner, until: writeTime(lease.until) },
      cursor: cursor === null ? null : { changed_at: writeTime(cursor.at), ...placeOf(cursor.id) },
      open: {
        total: open.total,
        oldest_at: open.oldestAt === null ? null : writeTime(open.oldestAt),
        under_5m: open.underFiveMinutes,
        under_1h: open.underAnHour,
        under_1d: open.underADay,
        older: open.older,
      },
      runs: runs.map(describeRun),
      quarantined: await Promise.all(quarantined.map((row) => describeQuarantined(row, desk))),
    };
    return replyJson(told);
  } catch {
    return desk.refuse(problem("ledger-unavailable"));
  }
}

/** `POST /operator/reconciliation/run`. */
export async function answerRun(desk: ReconciliationDesk, operator: string): Promise<Response> {
  if (desk.access === null) return desk.refuse(refuseSinks(desk.sinks));
  const result = await desk.access.run(`operator:${operator}`);
  if (result.ended === "taken") return desk.refuse(problem("reconciliation-running"));
  if (!result.acquired) return desk.refuse(problem("ledger-unavailable"));
  return replyJson(result);
}

function describeRun({ id, started_at, ended_at, ...row }: RunRow): Record<string, unknown> {
  const times = {
    started_at: writeTime(started_at),
    ended_at: ended_at === null ? null : writeTime(ended_at),
  };
  return { run: id, ...row, ...times };
}

async function describeQuarantined(
  { id, operation, due_at, first_at, last_at, ...row }: QuarantinedRow,
  { operationId }: ReconciliationDesk,
): Promise<Record<string, unknown>> {
  return {
    ...placeOf(id),
    operation: operation === null ? null : await operationId(operation),
    ...row,
    first_at: writeTime(first_at),
    last_at: writeTime(last_at),
    due_at: writeTime(due_at),
  };
}

function placeOf(id: string): { effect_id: string; stream: string } {
  const { effect, stream } = readFindingId(id);
  return { effect_id: effect, stream };
}
