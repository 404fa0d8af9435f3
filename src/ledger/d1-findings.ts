/** Open dispatches as a reconciliation reads them, and what is told of its runs. From the primary: what was written is found. */
import { QUARANTINE_AFTER, QUARANTINED_LISTED_MAX, RUNS_KEPT, STALE_AFTER_MS } from "../core/limits.ts";
import {
  type Cursor,
  type Page,
  readFindingId,
  type StaleEffect,
  writeFindingId,
} from "../core/reconcile/finding.ts";
import type { Overview } from "../core/reconcile/overview.ts";
import type { Stale } from "../core/reconcile/ports.ts";
import { D1_TIMEOUT_MS } from "./bounds.ts";
import { withinTime } from "./time.ts";

const OPEN = "state IN ('intent', 'unknown') AND reported = 0";

const READ_OPEN = `SELECT effect_id, stream, effects.operation, state, changed_at, coalesce(failures, 0) AS failures, coalesce(due_at, 0) AS due_at
  FROM effects LEFT JOIN findings ON name = ?1 AND id = effect_id || ' ' || stream
  WHERE ${OPEN} AND (changed_at, effect_id, stream)`;

const SCAN = `${READ_OPEN} > (?3, ?4, ?5) AND changed_at < ?2 UNION ALL ${READ_OPEN} > (?7, ?8, ?9)
  ORDER BY changed_at, effect_id, stream LIMIT ?6`;

type ScanRow = {
  effect_id: string;
  stream: string;
  operation: string | null;
  state: "intent" | "unknown";
  changed_at: number;
  failures: number;
  due_at: number;
};

type Place = readonly [changedAt: number, effect: string, stream: string];

/** One page of stale dispatches, oldest change first: one query. */
export async function scanStale(
  database: D1Database,
  name: string,
  after: Cursor | null,
  stale: Stale,
  limit: number,
): Promise<Page<StaleEffect>> {
  const { effect, stream } = readFindingId(after?.id ?? "");
  const past: Place = [after?.at ?? -1, effect, stream];
  const ahead: Place = [stale.ahead, "", ""];
  const read = database
    .withSession("first-primary")
    .prepare(SCAN)
    .bind(name, stale.before, ...past, limit, ...(past[0] < ahead[0] ? ahead : past))
    .all<ScanRow>();
  const { results } = await withinTime(read, D1_TIMEOUT_MS);
  const last = results.length < limit ? undefined : results.at(-1);
  return {
    findings: results.map(describe),
    next: last === undefined ? null : { at: last.changed_at, id: idOf(last) },
  };
}

function idOf({ effect_id, stream }: ScanRow): string {
  return writeFindingId(effect_id, stream);
}

function describe(row: ScanRow): StaleEffect {
  return {
    id: idOf(row),
    kind: row.state === "intent" ? "incomplete" : "ambiguous",
    operation: row.operation,
    failures: row.failures,
    dueAt: row.due_at,
    effect: row.effect_id,
  };
}

const READ_LEASE =
  "SELECT owner, token <> '' AS held, until, cursor_at, cursor_id FROM leases WHERE name = ?1";

const READ_RUNS = `SELECT id, owner, started_by, started_at, ended_at, ended, pages, scanned, handled, failed FROM runs
  WHERE name = ?1 ORDER BY id DESC LIMIT ?2`;

const READ_QUARANTINED = `SELECT id, kind, operation, failures, code, due_at, first_at, last_at FROM findings
  WHERE name = ?1 AND failures >= ${QUARANTINE_AFTER} AND EXISTS (SELECT 1 FROM effects WHERE ${OPEN}
    AND effect_id = substr(id, 1, instr(id, ' ') - 1) AND stream = substr(id, instr(id, ' ') + 1))
  ORDER BY due_at, id LIMIT ?2`;

const COUNT_OPEN = `SELECT count(*) AS total, min(changed_at) AS oldest, total(changed_at > ?1) AS minutes,
  total(changed_at > ?2) AS hour, total(changed_at > ?3) AS day, total(changed_at > ?4) AS ahead FROM effects WHERE ${OPEN}`;

const MINUTE_MS = 60_000;

type LeaseRow = {
  owner: string;
  held: 0 | 1;
  until: number;
  cursor_at: number | null;
  cursor_id: string | null;
};
type OpenRow = Record<"total" | "minutes" | "hour" | "day" | "ahead", number> & { oldest: number | null };

/** What an operator is shown: four reads, in one round trip. */
export async function readOverview(database: D1Database, name: string, now: number): Promise<Overview> {
  const session = database.withSession("first-primary");
  const ages = [5, 60, 24 * 60].map((minutes) => now - minutes * MINUTE_MS);
  const batch = session.batch([
    session.prepare(READ_LEASE).bind(name),
    session.prepare(READ_RUNS).bind(name, RUNS_KEPT),
    session.prepare(READ_QUARANTINED).bind(name, QUARANTINED_LISTED_MAX),
    session.prepare(COUNT_OPEN).bind(...ages, now + STALE_AFTER_MS),
  ]);
  const [leases, runs, quarantined, counts] = await withinTime(batch, D1_TIMEOUT_MS);
  const lease = leases?.results[0] as LeaseRow | undefined;
  const open = counts?.results[0] as OpenRow | undefined;
  const at = lease?.cursor_at ?? null;
  const { total = 0, oldest = null, minutes = 0, hour = 0, day = 0, ahead = 0 } = open ?? {};
  return {
    lease: lease?.held === 1 ? { owner: lease.owner, until: lease.until } : null,
    cursor: at === null ? null : { at, id: lease?.cursor_id ?? "" },
    open: {
      total,
      oldestAt: oldest,
      // Of what has changed at a time to come nobody knows how old it is: it is old. (A clock may be ahead by a little.)
      underFiveMinutes: minutes - ahead,
      underAnHour: hour - minutes,
      underADay: day - hour,
      older: total - day + ahead,
    },
    runs: (runs?.results ?? []) as Overview["runs"],
    quarantined: (quarantined?.results ?? []) as Overview["quarantined"],
  };
}
