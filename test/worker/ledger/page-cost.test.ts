// Aim: a page costs what it shows, or no more than it may look at, however many effects there are. Method: the real D1, which says how many rows it has read.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { LOOKED_AT_MAX } from "../../../src/ledger/bounds.ts";
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

type Page = { items: { effect_id: string }[]; next?: string };

/** One page, and how many rows it has read. */
async function readPage(path: string, after: string): Promise<{ page: Page; read: number }> {
  const { database, rows } = countRows();
  const target = `/_oncegate/${path}&limit=${LIMIT}${after}`;
  const response = await get(target, tokenOf("reader"), bindWith({ DB: database }));
  return { page: await response.json<Page>(), read: rows() };
}

/** Effects by the thousand, oldest first: most in one state and of one capability, every `every`th in another. */
async function fillRare(count: number, every: number, [most, few]: readonly [string, string]): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO effects (effect_id, stream, reported, shard, capability, state, changed_at, version)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     SELECT ?3 || printf('%07d', i), 's', 0, '1:0', iif(i % ?2 = 0, 'x.rare', 'origin.request'), iif(i % ?2 = 0, ?4, ?3), i, 2 FROM n`,
  )
    .bind(count, every, most, few)
    .run();
}

beforeEach(clearTables);

describe("a page of", () => {
  it.each(["operator/keys?state=unknown", "operator/keys?state=in-flight", "operator/effects?state=unknown"])(
    "%s reads about as many rows as it shows, at the start and far behind it",
    async (path) => {
      await fillEffects(OPEN, 1_000);
      await fillRare(CLOSED, 10, ["committed", "failed"]);
      let after = "";
      for (let pages = 0; pages < 20; pages++) {
        const { page, read } = await readPage(path, after);
        expect(page.items).toHaveLength(LIMIT);
        // Every second one that is open is in the other state, and one that is looked at counts up to four times.
        expect(read).toBeGreaterThan(LIMIT);
        expect(read).toBeLessThan(8 * LIMIT);
        after = `&after=${page.next}`;
      }
    },
  );

  it.each<[string, readonly [string, string]]>([
    ["operator/effects?capability=x.rare", ["committed", "failed"]],
    ["operator/effects?state=failed", ["committed", "failed"]],
    ["operator/effects?state=failed&capability=x.rare", ["committed", "failed"]],
    ["operator/effects?state=intent", ["unknown", "intent"]],
    ["operator/effects?state=intent&capability=x.rare", ["unknown", "intent"]],
    ["operator/keys?state=in-flight", ["unknown", "intent"]],
  ])("%s reads no more than it may look at, and the pages together show all", async (path, states) => {
    const [most, few] = states;
    const every = 12_000;
    await fillRare(4 * every + 1_000, every, [most, few]);
    const found: string[] = [];
    let after: string | undefined = "";
    let pages = 0;
    for (; after !== undefined && pages < 10; pages++) {
      const { page, read } = await readPage(path, after === "" ? "" : `&after=${after}`);
      expect(read).toBeLessThan(4 * LOOKED_AT_MAX + LIMIT);
      found.push(...page.items.map((item) => item.effect_id));
      after = page.next;
    }
    expect(pages).toBe(Math.ceil((4 * every + 1_000) / LOOKED_AT_MAX));
    expect(found).toEqual([1, 2, 3, 4].map((i) => `${most}${String(i * every).padStart(7, "0")}`));
  });
});
