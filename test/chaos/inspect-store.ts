/** Looks at the database files that a gateway has left behind, or is writing. */
import { DatabaseSync } from "node:sqlite";
import { findDatabaseFile } from "../support/ledger-log.ts";
import { listObjectFiles } from "../support/object-store.ts";
import type { Violation } from "./checker.ts";
import type { FactOf } from "./history.ts";

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

function withDatabase<Result>(file: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return use(database);
  } finally {
    database.close();
  }
}
