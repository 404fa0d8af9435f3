/** What is read of D1, from its primary: a copy that lags would look like a ledger that has lost its tail. */

export type StoredBundle = { first: number; count: number; body: string };

/** The bundles that have entries from `from` on, at most `limit` of them. */
export async function readBundles(
  database: D1Database,
  shard: string,
  from: number,
  limit: number,
): Promise<StoredBundle[]> {
  const { results } = await primary(database)
    .prepare(
      `SELECT first, count, body FROM bundles WHERE shard = ?1 AND first + count > ?2
       AND first >= coalesce((SELECT max(first) FROM bundles WHERE shard = ?1 AND first <= ?2), 0) ORDER BY first LIMIT ?3`,
    )
    .bind(shard, from, limit)
    .all<StoredBundle>();
  return results;
}

/** Size of the newest checkpoint, 0 where there is none. */
export async function readSize(database: D1Database, shard: string): Promise<number> {
  const size = await primary(database)
    .prepare("SELECT max(size) AS size FROM checkpoints WHERE shard = ?")
    .bind(shard)
    .first<number>("size");
  return size ?? 0;
}

/** Roots of the full bundles whose first entry is in a range, in order. */
export async function readRoots(
  database: D1Database,
  shard: string,
  from: number,
  to: number,
): Promise<{ first: number; root: string }[]> {
  const { results } = await primary(database)
    .prepare("SELECT first, root FROM hashes WHERE shard = ? AND first >= ? AND first < ? ORDER BY first")
    .bind(shard, from, to)
    .all<{ first: number; root: string }>();
  return results;
}

/** Leaf hashes of a full bundle in hex, one behind the other; null: it is not there. */
export async function readLeaves(database: D1Database, shard: string, first: number): Promise<string | null> {
  return primary(database)
    .prepare("SELECT leaves FROM hashes WHERE shard = ? AND first = ?")
    .bind(shard, first)
    .first<string>("leaves");
}

export function primary(database: D1Database): D1DatabaseSession {
  return database.withSession("first-primary");
}
