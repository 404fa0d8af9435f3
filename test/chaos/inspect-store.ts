/** Looks at the database files that a gateway has left behind. */
import { DatabaseSync } from "node:sqlite";
import { listObjectFiles } from "../support/object-store.ts";
import type { Violation } from "./checker.ts";

/** Files of key objects that fail SQLite's own integrity check. */
export async function findDamage(store: string): Promise<Violation[]> {
  const files = await listObjectFiles(store, "KeyObject");
  return files.flatMap((file) => {
    const text = checkFile(file);
    return text === "ok" ? [] : [{ rule: "store-damaged", key: file, text }];
  });
}

function checkFile(file: string): string {
  try {
    const database = new DatabaseSync(file);
    try {
      return String(database.prepare("PRAGMA integrity_check").get()?.integrity_check);
    } finally {
      database.close();
    }
  } catch (error) {
    return String(error);
  }
}
