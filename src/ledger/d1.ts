/**
 * What a shard writes to D1. Every write may be repeated, carries one JSON parameter a table, and never changes what is there into something
 * else: a row that differs is told to the caller and left as it is.
 */

import { SCHEMA_VERSION } from "./bounds.ts";
import { type EffectRow, writeEffects } from "./d1-effects.ts";

/** The newest migration that was applied; null: none, or the database does not answer. */
export async function readSchema(database: D1Database): Promise<number | null> {
  try {
    return await database.prepare("SELECT max(version) AS version FROM schema_version").first("version");
  } catch {
    return null;
  }
}

/** True when the database answers and, where it is one of the sinks, the migrations that this build needs have been applied. */
export async function isDatabaseUp(database: D1Database, isSink: boolean): Promise<boolean> {
  return ((await readSchema(database)) ?? 0) >= (isSink ? SCHEMA_VERSION : 1);
}

/** `body`: lines that end with a line feed. `digest`: SHA-256 of it in hex. */
export type Bundle = { first: number; count: number; body: string; digest: string };

/** Of a full bundle: its leaf hashes one behind the other, and the root over them, in hex. */
export type BundleHashes = { first: number; leaves: string; root: string };

export type CheckpointRow = { size: number; root: string; note: string; at: number };

/** `differs`: the first index of a row whose content is another one. */
export type Written = { kind: "written" } | { kind: "differs"; table: string; first: number };

const WRITE_BUNDLES = `INSERT INTO bundles (shard, first, count, body, digest)
  SELECT ?1, value ->> 'first', value ->> 'count', value ->> 'body', value ->> 'digest' FROM json_each(?2) WHERE true
  ON CONFLICT (shard, first) DO UPDATE SET count = excluded.count, body = excluded.body, digest = excluded.digest
  WHERE excluded.count > count AND substr(excluded.body, 1, length(body)) = body`;

const WRITE_HASHES = `INSERT INTO hashes (shard, first, leaves, root)
  SELECT ?1, value ->> 'first', value ->> 'leaves', value ->> 'root' FROM json_each(?2) WHERE true
  ON CONFLICT DO NOTHING`;

const FIND_OTHER_BUNDLE = `SELECT value ->> 'first' AS first FROM json_each(?2) WHERE NOT EXISTS (
    SELECT 1 FROM bundles WHERE shard = ?1 AND bundles.first = value ->> 'first' AND digest = value ->> 'digest')
  ORDER BY 1 LIMIT 1`;

const FIND_OTHER_HASHES = `SELECT value ->> 'first' AS first FROM json_each(?2) WHERE NOT EXISTS (
    SELECT 1 FROM hashes WHERE shard = ?1 AND hashes.first = value ->> 'first' AND root = value ->> 'root')
  ORDER BY 1 LIMIT 1`;

export type Chunk = {
  bundles: readonly Bundle[];
  hashes: readonly BundleHashes[];
  effects: readonly EffectRow[];
};

/** Writes bundles, their hashes and the effects in them as one transaction, then looks at what is there. */
export async function writeChunk(database: D1Database, shard: string, chunk: Chunk): Promise<Written> {
  const { bundles, hashes, effects } = chunk;
  const statement = (sql: string, rows: readonly unknown[]): D1PreparedStatement =>
    database.prepare(sql).bind(shard, JSON.stringify(rows));
  const digests = bundles.map(({ first, digest }) => ({ first, digest }));
  const roots = hashes.map(({ first, root }) => ({ first, root }));
  const results = await database.batch<{ first: number }>([
    ...(effects.length === 0 ? [] : [writeEffects(database, shard, effects)]),
    statement(WRITE_BUNDLES, bundles),
    ...(hashes.length === 0 ? [] : [statement(WRITE_HASHES, hashes)]),
    statement(FIND_OTHER_BUNDLE, digests),
    statement(FIND_OTHER_HASHES, roots),
  ]);
  const [bundle, hash] = results.slice(-2).map((result) => result.results[0]);
  if (bundle !== undefined) return { kind: "differs", table: "bundles", first: bundle.first };
  return hash === undefined ? { kind: "written" } : { kind: "differs", table: "hashes", first: hash.first };
}

/** Once written, a checkpoint of this size has this root or is told to differ. */
export async function writeCheckpoint(
  database: D1Database,
  shard: string,
  { size, root, note, at }: CheckpointRow,
): Promise<Written> {
  const [, read] = await database.batch<{ root: string }>([
    database
      .prepare(
        "INSERT INTO checkpoints (shard, size, root, note, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      )
      .bind(shard, size, root, note, at),
    database.prepare("SELECT root FROM checkpoints WHERE shard = ? AND size = ?").bind(shard, size),
  ]);
  const isSame = read?.results[0]?.root === root;
  return isSame ? { kind: "written" } : { kind: "differs", table: "checkpoints", first: size };
}

/** What follows a checkpoint that is young is young, whatever a clock that was behind has said of it. One of a time to come says nothing. */
const OLD_SIZE = `SELECT max(size) AS size FROM checkpoints WHERE shard = ?1 AND at <= ?2 AND size <
  coalesce((SELECT min(size) FROM checkpoints WHERE shard = ?1 AND at > ?2 AND at <= ?3), ${Number.MAX_SAFE_INTEGER})`;

/** Size of the newest checkpoint that is not younger than `before`; null: there is none. */
export async function readOldSize(
  database: D1Database,
  shard: string,
  { before, now }: { before: number; now: number },
): Promise<number | null> {
  return database.prepare(OLD_SIZE).bind(shard, before, now).first<number>("size");
}

/**
 * Deletes the bundles whose entries all come before `until` and notes how many they were, in one transaction. Gives that number; made
 * again, it deletes nothing more and gives the same number.
 */
export async function pruneBundles(
  database: D1Database,
  shard: string,
  prune: { until: number; entry: number; at: number },
): Promise<number> {
  const { until, entry, at } = prune;
  const [, , read] = await database.batch<{ bundles: number }>([
    database.prepare("DELETE FROM bundles WHERE shard = ? AND first + count <= ?").bind(shard, until),
    database
      .prepare(
        "INSERT INTO prunes (shard, until, entry, bundles, at) SELECT ?, ?, ?, changes(), ? WHERE true ON CONFLICT DO NOTHING",
      )
      .bind(shard, until, entry, at),
    database.prepare("SELECT bundles FROM prunes WHERE shard = ? AND until = ?").bind(shard, until),
  ]);
  return read?.results[0]?.bundles ?? 0;
}
