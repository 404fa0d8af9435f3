// @ts-check
/** A ledger in a SQLite file, as D1 keeps it. The file is only read. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Unreadable } from "../unreadable.mjs";

/** @import { EffectRow, Part, PruneRow, Source } from "../types.ts" */
/** @typedef {import("node:sqlite").SQLInputValue} Stored */

const BUNDLE_LINES = 256;
const PARTS_PER_READ = 16;
const ROWS_PER_READ = 1_000;
/** How long to wait for a gateway that holds the file, as it does while it starts. */
const BUSY_MS = 5_000;

const PARTS = `
  SELECT coalesce(b.first, h.first) AS first, b.count AS count, CAST(b.body AS BLOB) AS body, b.digest AS digest, h.leaves AS leaves, h.root AS root
  FROM (SELECT first FROM bundles WHERE shard = ?1 AND first > ?2
        UNION SELECT first FROM hashes WHERE shard = ?1 AND first > ?2 ORDER BY first LIMIT ${PARTS_PER_READ}) AS k
  LEFT JOIN bundles AS b ON b.shard = ?1 AND b.first = k.first
  LEFT JOIN hashes AS h ON h.shard = ?1 AND h.first = k.first
  ORDER BY k.first`;
const SHARDS =
  "SELECT shard FROM bundles UNION SELECT shard FROM hashes UNION SELECT shard FROM checkpoints UNION SELECT shard FROM prunes";
const CHECKPOINTS = `SELECT size, root, note FROM checkpoints WHERE shard = ?1 AND size > ?2 ORDER BY size LIMIT ${ROWS_PER_READ}`;
const PRUNES = `SELECT until, entry FROM prunes WHERE shard = ?1 AND until > ?2 ORDER BY until LIMIT ${ROWS_PER_READ}`;
const EFFECTS = `SELECT effect_id, stream, reported, shard, state, version FROM effects
  WHERE (effect_id, stream, reported) > (?1, ?2, ?3) ORDER BY effect_id, stream, reported LIMIT ${ROWS_PER_READ}`;

/**
 * Opens a file, or the one file with a ledger below a folder.
 * @param {string} path
 * @returns {Promise<Source>}
 */
export async function openDatabase(path) {
  const { DatabaseSync } = await import("node:sqlite").catch(() => {
    throw new Unreadable("reading a SQLite file needs Node 22.13 or newer");
  });
  const open = (/** @type {string} */ name) => new DatabaseSync(name, { readOnly: true, timeout: BUSY_MS });
  const [file, ...more] = listFiles(path).filter((candidate) => hasLedger(open(candidate)));
  if (file === undefined) throw new Unreadable(`no ledger in ${path}`);
  if (more.length > 0) throw new Unreadable(`several ledgers below ${path}: name one file`);
  const database = open(file);
  // One view of it from start to end: a gateway may be writing.
  database.exec("BEGIN");
  return readDatabase(database);
}

/** @param {string} path */
function listFiles(path) {
  if (!existsSync(path)) throw new Unreadable(`${path} is not there`);
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".sqlite")).map((name) => join(path, name));
}

/** @param {import("node:sqlite").DatabaseSync} database */
function hasLedger(database) {
  try {
    return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'bundles'").get() !== undefined;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

/**
 * @param {import("node:sqlite").DatabaseSync} database
 * @returns {Source}
 */
export function readDatabase(database) {
  /**
   * @param {string} sql
   * @param {Stored[]} values
   */
  function rows(sql, ...values) {
    try {
      return database.prepare(sql).all(...values);
    } catch (error) {
      throw new Unreadable(
        `the database can't be read: ${error instanceof Error ? error.message : "unknown"}`,
      );
    }
  }
  /**
   * The next page begins behind what is stored in the last row, whatever that is: by the database's own order every row comes once.
   * @template T
   * @param {string} sql
   * @param {Stored[]} start
   * @param {string[]} columns The row's place in that order.
   * @param {(row: Record<string, unknown>) => T} read
   */
  async function* pages(sql, start, columns, read) {
    for (let last = start; ; ) {
      const page = rows(sql, ...last);
      yield* page.map(read);
      const end = page.at(-1);
      if (end === undefined) return;
      last = [...start.slice(0, start.length - columns.length), ...columns.map((name) => end[name] ?? null)];
    }
  }
  return {
    key: async () => null,
    shards: async () => rows(SHARDS).map(({ shard }) => String(shard)),
    checkpoints: (shard) => pages(CHECKPOINTS, [shard, -1], ["size"], readNote),
    parts: (shard) => pages(PARTS, [shard, -1], ["first"], readPart),
    prunes: (shard) => pages(PRUNES, [shard, -1], ["until"], readPrune),
    proof: async () => null,
    consistency: async () => null,
    effects: () => pages(EFFECTS, ["", "", 0], ["effect_id", "stream", "reported"], readEffect),
    close: async () => database.close(),
  };
}

/**
 * @param {Record<string, unknown>} row
 * @returns {Part}
 */
function readPart({ first, count, body, digest, leaves, root }) {
  // A full bundle has its row of hashes: without it there are none, which is not as many as there have to be.
  const hex = typeof leaves === "string" ? leaves : count === BUNDLE_LINES ? "" : null;
  const hashes = hex === null ? null : Buffer.from(hex, "hex");
  const lines =
    body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : null;
  return {
    first: Number(first),
    count: lines === null ? (hashes?.length ?? 0) / 32 : Number(count),
    lines,
    hashes,
    root: root === null ? null : String(root),
    digest: lines === null ? null : String(digest),
  };
}

/** @param {Record<string, unknown>} row */
function readNote({ size, root, note }) {
  return { note: String(note), row: { size: Number(size), root: String(root) } };
}

/**
 * @param {Record<string, unknown>} row
 * @returns {PruneRow}
 */
function readPrune({ until, entry }) {
  return { until: Number(until), entry: Number(entry) };
}

/**
 * @param {Record<string, unknown>} row
 * @returns {EffectRow}
 */
function readEffect({ effect_id, stream, reported, shard, state, version }) {
  return {
    effectId: String(effect_id),
    stream: String(stream),
    isReported: Number(reported) === 1,
    shard: String(shard),
    state: String(state),
    version: Number(version),
  };
}
