// Aim: the command's exit code and words say what was found. Method: the command as a process, on files.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../../src/verify/verify.mjs";
import { makeLog, storeLogs } from "../../support/ledger-log.ts";

const COMMAND = join(import.meta.dirname, "../../../src/verify/oncegate.mjs");
const folder = mkdtempSync(join(tmpdir(), "oncegate-command-"));
const file = join(folder, "ledger.sqlite");
const log = makeLog(300, 100);
storeLogs([log], file).close();

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

/** The database as SQL, a statement a line, in the spelling of `wrangler d1 export`. */
function dump(path: string, more = ""): void {
  const database = new DatabaseSync(file);
  const tables = ["bundles", "hashes", "checkpoints", "effects", "prunes"];
  const statements = tables.flatMap((table) => {
    const made = database.prepare("SELECT sql FROM sqlite_master WHERE name = ?").get(table);
    const rows = database.prepare(`SELECT * FROM ${table}`).all();
    return [
      `${made?.sql};`,
      ...rows.map((row) => `INSERT INTO "${table}" VALUES(${Object.values(row).map(quote).join(",")});`),
    ];
  });
  database.close();
  writeFileSync(path, ["PRAGMA defer_foreign_keys=TRUE;", ...statements, more].join("\n"));
}

function quote(value: unknown): string {
  if (typeof value !== "string") return String(value ?? "NULL");
  const text = `'${value.replaceAll("'", "''").replaceAll("\n", "\\n")}'`;
  return text.includes("\\n") ? `replace(${text},'\\n',char(10))` : text;
}

/** Takes a database for itself, and gives it back a moment after it has said so. */
const HOLDER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const database = new (require("node:sqlite").DatabaseSync)(workerData);
  database.exec("BEGIN EXCLUSIVE");
  parentPort.postMessage("held");
  setTimeout(() => { database.exec("COMMIT"); database.close(); }, 100);
`;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the command", () => {
  it("says that a sound ledger is sound, with the size of its tree", () => {
    const { status, stdout } = run("verify", "--d1", file, "--key", log.key.vkey);

    expect(stdout).toMatch(/^sound: 300 entries in 1 shard\n {2}1:0: tree size 300; 3 checkpoints, root /);
    expect(status).toBe(0);
  });

  it("finds the database below a folder", () => {
    expect(run("verify", "--d1", folder).status).toBe(0);
  });

  it("waits for a gateway that holds the database while it starts", async () => {
    const held = join(folder, "held.sqlite");
    storeLogs([log], held).close();
    const holder = new Worker(HOLDER, { eval: true, workerData: held });
    const gone = once(holder, "exit");
    await once(holder, "message");

    expect(await (await openDatabase(held)).shards()).toEqual(["1:0"]);
    await gone;
  });

  it("says aloud that signatures were not checked", () => {
    expect(run("verify", "--d1", file).stdout).toContain("NOT CHECKED: signatures");
  });

  it("keeps a pin file and compares with it", () => {
    const pin = join(folder, "pin.json");
    const other = join(folder, "other.sqlite-file");
    storeLogs(
      [makeLog(100, 100, { ...log, lines: [], leaves: [], checkpoints: [], effects: new Map() })],
      other,
    ).close();

    const first = run("verify", "--d1", file, "--key", log.key.vkey, "--pin", pin);
    const kept = readFileSync(pin, "utf8");
    const second = run("verify", "--d1", other, "--pin", pin, "--json");

    expect(first.status).toBe(0);
    expect(JSON.parse(kept)).toMatchObject({ v: 1, key: log.key.vkey, shards: { "1:0": { size: 300 } } });
    expect(JSON.parse(second.stdout)).toMatchObject({
      verdict: "broken",
      first: { class: "pin", index: 100 },
    });
    expect(second.status).toBe(1);
    expect(readFileSync(pin, "utf8")).toBe(kept);
  });

  it("reads an export, and runs nothing in it but what makes and fills the ledger's tables", () => {
    const path = join(folder, "export.sql");
    const trap = join(folder, "trap");
    dump(
      path,
      `ATTACH DATABASE '${trap}' AS trap; CREATE TABLE trap.bundles (a); INSERT INTO bundles SELECT * FROM bundles;\n`,
    );

    const { status, stdout } = run("verify", "--export", path, "--key", log.key.vkey);

    expect(stdout).toContain("sound: 300 entries");
    expect(status).toBe(0);
    expect(existsSync(trap)).toBe(false);
  });

  it.each([
    ["a file that is not there", ["verify", "--d1", join(folder, "nowhere")]],
    ["a file that is no database", ["verify", "--d1", COMMAND]],
    ["an export without a ledger", ["verify", "--export", COMMAND]],
    ["a pin file that is none", ["verify", "--d1", file, "--pin", COMMAND]],
    ["a key that is none", ["verify", "--d1", file, "--key", "oncegate+00000000+AAAA"]],
    ["a gateway that does not answer", ["verify", "--url", "http://127.0.0.1:9"]],
    ["no source", ["verify"]],
    ["two sources", ["verify", "--d1", file, "--export", file]],
    ["an option it does not know", ["verify", "--d2", file]],
    ["a command it does not know", ["sign", "--d1", file]],
  ])("gives exit code 2 for %s", (_what, args) => {
    const { status, stdout, stderr } = run(...args);

    expect(status).toBe(2);
    expect(stdout + stderr).not.toMatch(/\n\s+at /);
  });

  it("explains itself", () => {
    const { status, stdout } = run("verify", "--help");

    expect(stdout).toContain("oncegate verify (--url URL | --d1 PATH | --export FILE)");
    expect(status).toBe(0);
  });
});
