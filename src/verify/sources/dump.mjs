// @ts-check
/**
 * A ledger in an SQL dump, as `wrangler d1 export` writes it. Its statements are run in a database of their own, and only those that make
 * or fill the ledger's tables: a dump can come from anybody.
 */
import { createReadStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Unreadable } from "../unreadable.mjs";
import { readDatabase } from "./d1.mjs";

/** @import { Source } from "../types.ts" */

/** One bundle of the longest lines there can be, and room to spare. */
const STATEMENT_CHARS_MAX = 16_000_000;
const TABLES = "(?:bundles|hashes|checkpoints|effects|prunes)";
const MAKES = new RegExp(`^CREATE TABLE (?:IF NOT EXISTS )?["\`]?${TABLES}["\`]?\\s*\\(`, "i");
const FILLS = new RegExp(
  `^INSERT INTO ["\`]?${TABLES}["\`]?\\s*(?:\\([\\w\\s,"\`]*\\)\\s*)?VALUES\\s*\\(`,
  "i",
);

/**
 * Loads a dump into a temporary file, which is removed when the source is closed.
 * @param {string} path
 * @returns {Promise<Source>}
 */
export async function openDump(path) {
  if (!existsSync(path)) throw new Unreadable(`${path} is not there`);
  const { DatabaseSync } = await import("node:sqlite").catch(() => {
    throw new Unreadable("reading an export needs Node 22.13 or newer");
  });
  const folder = await mkdtemp(join(tmpdir(), "oncegate-verify-"));
  const database = new DatabaseSync(join(folder, "ledger.sqlite"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    for await (const statement of readStatements(createReadStream(path, "utf8"))) {
      if (MAKES.test(statement) || isFilling(statement)) database.exec(statement);
    }
    database.exec("COMMIT");
  } catch (error) {
    database.close();
    await remove();
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(`${path} can't be read: ${error instanceof Error ? error.message : "unknown"}`);
  }
  const source = readDatabase(database);
  return {
    ...source,
    async close() {
      await source.close();
      await remove();
    },
  };
}

/**
 * True for an INSERT of literals into one of the ledger's tables. The few functions that a dump uses for line feeds are allowed.
 * @param {string} statement
 */
function isFilling(statement) {
  if (!FILLS.test(statement)) return false;
  const rest = statement.replace(FILLS, "").replace(/x?'(?:[^']|'')*'/gi, "");
  return /^(?:[\s\d,.()+-]|\b(?:NULL|replace|char|e)\b|\|\|)*$/i.test(rest);
}

/**
 * Cuts a text at the semicolons that are not inside quotes, without what follows the last one.
 * @param {AsyncIterable<string>} pieces
 */
async function* readStatements(pieces) {
  let text = "";
  let quote = "";
  let at = 0;
  for await (const piece of pieces) {
    text += piece;
    for (; at < text.length; at += 1) {
      const char = text.charAt(at);
      if (quote !== "") {
        if (char === quote) quote = "";
        continue;
      }
      if (char === "'" || char === '"' || char === "`") quote = char;
      if (char !== ";") continue;
      yield text.slice(0, at).trim();
      text = text.slice(at + 1);
      at = -1;
    }
    if (text.length > STATEMENT_CHARS_MAX) throw new Unreadable("a statement of the export is too long");
  }
}
