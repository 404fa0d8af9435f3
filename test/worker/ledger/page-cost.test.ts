// Aim: a page of open effects costs what it shows, however many effects there are. Method: the real D1, which says how many rows it has read.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { bindWith, get } from "../support/gateway.ts";
import { clearTables, fillEffects } from "../support/open-effects.ts";
import { tokenOf } from "../support/operator.ts";

const OPEN = 4_000;
const CLOSED = 4_000;
const LIMIT = 50;

/** The real database; `rows` counts those that statements of its sessions have read. */
function countRows(): { database: D1Database; rows: () => number } {
  let rows = 0;
  const prepare = (session: D1DatabaseSession) => (sql: string) => ({
    bind: (...values: unknown[]) => ({
      all: async () => {
        const result = await session
          .prepare(sql)
          .bind(...values)
          .all();
        rows += result.meta.rows_read;
        return result;
      },
    }),
  });
  const database = new Proxy(env.DB, {
    get(target, name) {
      if (name !== "withSession") return Reflect.get(target, name);
      return (...given: Parameters<D1Database["withSession"]>) => ({
        prepare: prepare(env.DB.withSession(...given)),
      });
    },
  });
  return { database, rows: () => rows };
}

beforeEach(async () => {
  await clearTables();
  await fillEffects(OPEN, 1_000);
  await env.DB.prepare(
    `INSERT INTO effects (effect_id, stream, reported, shard, capability, state, changed_at, version)
     WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
     SELECT 'closed' || i, printf('%064d', i), 0, '1:0', 'origin.request', 'committed', i, 2 FROM n`,
  )
    .bind(CLOSED)
    .run();
});

describe("a page of", () => {
  it.each(["operator/keys?state=unknown", "operator/keys?state=in-flight", "operator/effects?state=unknown"])(
    "%s reads about as many rows as it shows, at the start and far behind it",
    async (path) => {
      let after = "";
      for (let pages = 0; pages < 20; pages++) {
        const { database, rows } = countRows();
        const target = `/_oncegate/${path}&limit=${LIMIT}${after}`;
        const response = await get(target, tokenOf("reader"), bindWith({ DB: database }));
        const { items, next } = await response.json<{ items: object[]; next: string }>();
        expect(items).toHaveLength(LIMIT);
        // Every second one that is open is in the other state.
        expect(rows()).toBeGreaterThan(LIMIT);
        expect(rows()).toBeLessThan(6 * LIMIT);
        after = `&after=${next}`;
      }
    },
  );
});
