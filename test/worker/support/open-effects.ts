/** Open effects by the thousand, and a database that counts what it is asked. */
import { env } from "cloudflare:workers";
import type { LeaseStore, RunEvent } from "../../../src/core/reconcile/ports.ts";
import type { Time } from "../../../src/reconcile/lease.ts";

/** `count` open dispatches, three to a moment of change, the oldest at `from`. Effects that are closed or reported lie between them. */
export async function fillEffects(count: number, from: number, mark = "e"): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO effects (effect_id, stream, reported, operation, shard, attempt, capability, state, changed_at, version)
     WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
     SELECT ?3 || printf('%07d', i), printf('%064d', i), 0, 'op' || i, '1:0', 1, 'origin.request',
       CASE i % 2 WHEN 0 THEN 'intent' ELSE 'unknown' END, ?2 + i / 3, 1 FROM n`,
  )
    .bind(count, from, mark)
    .run();
  await env.DB.prepare(
    `INSERT INTO effects (effect_id, stream, reported, shard, attempt, capability, state, changed_at, version)
     VALUES (?1 || 'closed', 's', 0, '1:0', 1, 'origin.request', 'committed', ?2, 1), (?1 || 'told', 's', 1, '1:0', 1, 'x.y', 'intent', ?2, 1)`,
  )
    .bind(mark, from)
    .run();
}

export async function clearTables(): Promise<void> {
  await env.DB.batch(
    ["effects", "leases", "findings", "runs"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)),
  );
}

export type Counts = { queries: number; batches: number; renewals: number };

/** The real database; `counts` are of the calls made through it. */
export function countCalls(): { database: D1Database; counts: Counts } {
  const counts = { queries: 0, batches: 0, renewals: 0 };
  const session = (...args: Parameters<D1Database["withSession"]>) => {
    const real = env.DB.withSession(...args);
    return new Proxy(real, {
      get(target, name) {
        if (name === "prepare") counts.queries += 1;
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  const batch = (statements: D1PreparedStatement[]) => {
    if (statements.length === 1) counts.renewals += 1;
    else counts.batches += 1;
    return env.DB.batch(statements);
  };
  const database = new Proxy(env.DB, {
    get(target, name) {
      if (name === "batch") return batch;
      if (name === "withSession") return session;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { database, counts };
}

/** Time stands unless a test moves it: no timer of a run goes off. */
export class StillTime implements Time {
  at: number;
  constructor(at: number) {
    this.at = at;
  }
  now = (): number => this.at;
  pause = (_ms: number, stop: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (stop.aborted) resolve();
      stop.addEventListener("abort", () => resolve(), { once: true });
    });
}

/** A store whose holder dies when it has made so many checkpoints: it never hears of the next one. `died` resolves then. */
export function dieAfter(real: LeaseStore, checkpoints: number): { store: LeaseStore; died: Promise<void> } {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  let made = 0;
  const dead = new Promise<never>(() => undefined);
  const store: LeaseStore = {
    ...real,
    checkpoint(held, kept) {
      made += 1;
      if (made <= checkpoints) return real.checkpoint(held, kept);
      resolve();
      return dead;
    },
  };
  return { store, died };
}

export function findingsIn(events: readonly RunEvent[]): number {
  return Math.max(...events.map((event) => (event.kind === "page" ? event.found : 0)));
}
