/** Looks at the database files that a gateway has left behind, or is writing. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import { readFindingId } from "../../src/core/reconcile/finding.ts";
import { RECORD_VERSION } from "../../src/core/record.ts";
import { findDatabaseFile } from "../support/ledger-log.ts";
import { listObjectFiles } from "../support/object-store.ts";
import type { Violation } from "./checker.ts";
import type { FactOf } from "./history.ts";

/** A gateway that has just been started on it may be recovering it. */
const BUSY_MS_MAX = 10_000;

/** Files of objects that fail SQLite's own integrity check. */
export async function findDamage(store: string): Promise<Violation[]> {
  const files = [
    ...(await listObjectFiles(store, "KeyObject")),
    ...(await listObjectFiles(store, "LedgerObject")),
    findDatabaseFile(store),
  ];
  return files.flatMap((file) => {
    const text = checkFile(file);
    return text === "ok" ? [] : [{ rule: "store-damaged", key: file, text }];
  });
}

function checkFile(file: string): string {
  try {
    const row = withDatabase(file, (database) => database.prepare("PRAGMA integrity_check").get());
    return String(row?.integrity_check);
  } catch (error) {
    return String(error);
  }
}

/** All entries and checkpoints that are in the database, read without any of the product's code. */
export function readLedger(store: string): { entered: FactOf<"entered">[]; kept: FactOf<"kept">[] } {
  return withDatabase(findDatabaseFile(store), (database) => {
    const bundles = database.prepare("SELECT body FROM bundles ORDER BY shard, first").all();
    const lines = bundles.flatMap(({ body }) => String(body).split("\n").slice(0, -1));
    const entered = lines.map((line): FactOf<"entered"> => {
      const entry = JSON.parse(line) as { stream: string; effect_id?: string; type: string; at: number };
      const { stream, effect_id, type, at } = entry;
      return { kind: "entered", stream, effect: effect_id ?? "", type, at };
    });
    const rows = database.prepare("SELECT shard, size, root FROM checkpoints").all();
    const kept = rows.map(({ shard, size, root }): FactOf<"kept"> => {
      const bytes = Buffer.from(String(root), "hex");
      return { kind: "kept", shard: String(shard), size: Number(size), root: bytes.toString("base64") };
    });
    return { entered, kept };
  });
}

/** Runs that the database knows of, oldest first, and what they have learned. */
export function readReconciliation(store: string): { ran: FactOf<"ran">[]; found: FactOf<"found">[] } {
  return withDatabase(findDatabaseFile(store), (database) => {
    const runs = database
      .prepare("SELECT id, started_at, ended_at, ended, scanned FROM runs ORDER BY id")
      .all();
    const findings = database.prepare("SELECT id, code, failures FROM findings ORDER BY id").all();
    return {
      ran: runs.map(
        ({ id, started_at, ended_at, ended, scanned }): FactOf<"ran"> => ({
          kind: "ran",
          id: Number(id),
          startedAt: Number(started_at),
          endedAt: ended_at === null ? null : Number(ended_at),
          ended: ended === null ? null : String(ended),
          scanned: Number(scanned),
        }),
      ),
      found: findings.map(({ id, code, failures }): FactOf<"found"> => {
        const { effect } = readFindingId(String(id));
        return { kind: "found", effect, code: String(code), failures: Number(failures) };
      }),
    };
  });
}

/** Digests of all that key objects have stored whose record is of a later version than this build's, by file. */
export async function readLaterRecords(store: string): Promise<Map<string, string>> {
  const later = new Map<string, string>();
  for (const file of await listObjectFiles(store, "KeyObject")) {
    const rows = withDatabase(file, listStoredRows);
    const record = rows.find(({ key }) => key === "record");
    if (record === undefined || versionOf(record.value) <= RECORD_VERSION) continue;
    const digest = createHash("sha256");
    for (const { key, value } of rows) digest.update(`${key} ${value.length} `).update(value);
    later.set(basename(file), digest.digest("hex"));
  }
  return later;
}

function listStoredRows(database: DatabaseSync): { key: string; value: Uint8Array }[] {
  const table = database.prepare("SELECT name FROM sqlite_master WHERE name = '_cf_KV'").get();
  if (table === undefined) return [];
  const rows = database.prepare("SELECT key, value FROM _cf_KV ORDER BY key").all();
  return rows.map(({ key, value }) => ({ key: String(key), value: Buffer.from(value as Uint8Array) }));
}

function versionOf(record: Uint8Array): number {
  const { v } = deserialize(record) as { v?: unknown };
  return typeof v === "number" ? v : 0;
}

function withDatabase<Result>(file: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS_MAX });
  try {
    return use(database);
  } finally {
    database.close();
  }
}
