/**
 * Leases, findings and runs in D1. A token is stored as its SHA-256, so comparing it in SQL tells nothing of it by the time it takes, and
 * whoever reads the table holds nothing. Every change but `acquire` is made only where the token is the holder's, in one transaction.
 */
import { encodeUtf8, sha256Hex } from "../core/bytes.ts";
import { FINDINGS_SWEPT_MAX, RUN_LEASE_AHEAD_MS, RUNS_KEPT } from "../core/limits.ts";
import type { Held, LeaseStore } from "../core/reconcile/ports.ts";
import { D1_TIMEOUT_MS } from "./bounds.ts";
import { withinTime } from "./time.ts";

const IS_HELD = "EXISTS (SELECT 1 FROM leases WHERE name = ?1 AND token = ?2)";

const TAKE = `INSERT INTO leases (name, owner, token, until) VALUES (?1, ?3, ?2, ?4)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token, until = excluded.until WHERE until <= ?5 OR until > ?6`;

const BEGIN_RUN = `INSERT INTO runs (name, id, owner, started_by, started_at)
  SELECT ?1, coalesce((SELECT max(id) FROM runs WHERE name = ?1), 0) + 1, ?3, ?4, ?5 WHERE ${IS_HELD}`;

const DROP_RUNS = `DELETE FROM runs WHERE name = ?1 AND id <= (SELECT max(id) FROM runs WHERE name = ?1) - ?3 AND ${IS_HELD}`;

const READ_HELD = `SELECT cursor_at, cursor_id, (SELECT max(id) FROM runs WHERE name = ?1) AS run FROM leases
  WHERE name = ?1 AND token = ?2`;

const RENEW = "UPDATE leases SET until = ?3 WHERE name = ?1 AND token = ?2 RETURNING name";

const MOVE =
  "UPDATE leases SET until = ?3, cursor_at = ?4, cursor_id = ?5 WHERE name = ?1 AND token = ?2 RETURNING name";

/** What is the same as before is not written again. */
const WRITE_FINDINGS = `INSERT INTO findings (name, id, kind, operation, failures, code, due_at, first_at, last_at)
  SELECT ?1, value ->> 'id', value ->> 'kind', value ->> 'operation', value ->> 'failures', value ->> 'code', value ->> 'dueAt', ?4, ?4
  FROM json_each(?3) WHERE ${IS_HELD}
  ON CONFLICT (name, id) DO UPDATE SET kind = excluded.kind, operation = coalesce(excluded.operation, operation),
    failures = excluded.failures, code = excluded.code, due_at = excluded.due_at, last_at = excluded.last_at
  WHERE code <> excluded.code OR failures <> excluded.failures OR kind <> excluded.kind`;

const NOTE_PROGRESS = `UPDATE runs SET pages = ?4, scanned = ?5, handled = ?6, failed = ?7 WHERE name = ?1 AND id = ?3 AND ${IS_HELD}`;

const END_RUN = `UPDATE runs SET ended = ?4, ended_at = ?5 WHERE name = ?1 AND id = ?3 AND ${IS_HELD}`;

/** Effects that came to their end leave nothing behind. */
const SWEEP = `DELETE FROM findings WHERE name = ?1 AND ${IS_HELD} AND id IN (SELECT id FROM findings AS old
  WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM effects WHERE effect_id = substr(old.id, 1, instr(old.id, ' ') - 1)
    AND stream = substr(old.id, instr(old.id, ' ') + 1) AND reported = 0 AND state IN ('intent', 'unknown')) LIMIT ?3)`;

const FREE =
  "UPDATE leases SET owner = '', token = '', until = 0 WHERE name = ?1 AND token = ?2 RETURNING name";

type Cell = string | number | null;
type HeldRow = { cursor_at: number | null; cursor_id: string | null; run: number };

export function openLeases(database: D1Database): LeaseStore {
  const statement = async (sql: string, { name, token }: Pick<Held, "name" | "token">, ...more: Cell[]) =>
    database.prepare(sql).bind(name, await sha256Hex(encodeUtf8(token)), ...more);
  /** Statements in one transaction; the rows of the first one tell whether the token was the holder's. */
  const change = async (...statements: Promise<D1PreparedStatement>[]): Promise<boolean> => {
    const batch = database.batch(await Promise.all(statements));
    const [first] = await withinTime(batch, D1_TIMEOUT_MS);
    return first?.results.length === 1;
  };
  return {
    async acquire(claim) {
      const { owner, startedBy, now, until } = claim;
      const statements = [
        statement(TAKE, claim, owner, until, now, now + RUN_LEASE_AHEAD_MS),
        statement(BEGIN_RUN, claim, owner, startedBy, now),
        statement(DROP_RUNS, claim, RUNS_KEPT),
        statement(READ_HELD, claim),
      ];
      const batch = database.batch<HeldRow>(await Promise.all(statements));
      const row = (await withinTime(batch, D1_TIMEOUT_MS)).at(-1)?.results[0];
      if (row === undefined) return { kind: "taken" };
      const { cursor_at: at, cursor_id: id, run } = row;
      return { kind: "held", run, cursor: at === null || id === null ? null : { at, id } };
    },
    renew: (held, until) => change(statement(RENEW, held, until)),
    checkpoint(held, { cursor, until, verdicts, progress, now }) {
      const { pages, scanned, handled, failed } = progress;
      return change(
        statement(MOVE, held, until, cursor?.at ?? null, cursor?.id ?? null),
        statement(WRITE_FINDINGS, held, JSON.stringify(verdicts), now),
        statement(NOTE_PROGRESS, held, held.run, pages, scanned, handled, failed),
      );
    },
    async release(held, { ended, now }) {
      const sweep = ended === "finished" ? [statement(SWEEP, held, FINDINGS_SWEPT_MAX)] : [];
      const statements = [statement(END_RUN, held, held.run, ended, now), ...sweep, statement(FREE, held)];
      const batch = database.batch(await Promise.all(statements));
      return (await withinTime(batch, D1_TIMEOUT_MS)).at(-1)?.results.length === 1;
    },
  };
}
