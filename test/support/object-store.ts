/** Reads and alters what Durable Objects have stored, in the files of a gateway that is not running. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize, Serializer } from "node:v8";

export type StoredRow = { key: string; value: unknown };

/** Database files of all objects of one class below a gateway's store. */
export async function listObjectFiles(persist: string, className: string): Promise<string[]> {
  const root = join(persist, "do");
  if (!existsSync(root)) return [];
  const folders = (await readdir(root)).filter((name) => name.endsWith(`-${className}`));
  const files = folders.map(async (folder) => {
    const names = await readdir(join(root, folder));
    return names.filter((name) => /^[0-9a-f]+\.sqlite$/.test(name)).map((name) => join(root, folder, name));
  });
  return (await Promise.all(files)).flat();
}

/** The rows of an object's key-value storage; none where the object has never stored anything. */
export function readRows(file: string): StoredRow[] {
  return withDatabase(file, (database) => {
    const table = database.prepare("SELECT name FROM sqlite_master WHERE name = '_cf_KV'").get();
    if (table === undefined) return [];
    const rows = database.prepare("SELECT key, value FROM _cf_KV ORDER BY key").all();
    return rows.map(({ key, value }) => ({ key: String(key), value: deserialize(toBytes(value)) }));
  });
}

/** Replaces the value of one row that is there, in the spelling in which the runtime reads it. */
export function writeRow(file: string, key: string, value: unknown): void {
  // Not `serialize`: that one writes byte arrays in a way only Node reads.
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  writeRowBytes(file, key, serializer.releaseBuffer());
}

/** Replaces the stored bytes of one row that is there, whatever they say. */
export function writeRowBytes(file: string, key: string, bytes: Uint8Array): void {
  withDatabase(file, (database) => {
    const { changes } = database.prepare("UPDATE _cf_KV SET value = ? WHERE key = ?").run(bytes, key);
    if (Number(changes) !== 1) throw new Error(`no row ${key} in ${file}`);
  });
}

function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error("a stored value is not a blob");
  return value;
}

function withDatabase<T>(file: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file);
  try {
    return use(database);
  } finally {
    database.close();
  }
}
