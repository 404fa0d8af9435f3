import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATORS } from "../support/gateway.ts";
import { findDatabaseFile } from "../support/ledger-log.ts";
import { makeKey, useStage } from "../support/stage.ts";

// Aim: a stranger can check the ledger of a running gateway, and finds what was done to its database. Method: the command, as a
// process of its own, on the gateway's address and on the file of its database.

const COMMAND = join(import.meta.dirname, "../../src/verify/oncegate.mjs");
const REQUESTS = 5;
/** Each request is granted and settled. */
const ENTRIES = 2 * REQUESTS;
const WAIT_MS = 20_000;

type Verdict = {
  verdict: string;
  entries: number;
  key: string;
  shards: { shard: string; size: number; covered: number; root: string }[];
  first: { class: string; shard: string; index: number };
};

const stage = useStage({ vars: { LEDGER_SHARDS: "1" } });
const folder = mkdtempSync(join(tmpdir(), "oncegate-ledger-"));
const pin = join(folder, "pin.json");
const token = OPERATORS.reader.token;

async function verify(...args: string[]): Promise<{ code: number; verdict: Verdict }> {
  const child = spawn(process.execPath, [COMMAND, "verify", "--json", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  const [code] = await once(child, "close");
  return { code: Number(code), verdict: JSON.parse(Buffer.concat(pieces).toString()) };
}

const verifyUrl = (...args: string[]) => verify("--url", stage.gateway.url, "--token", token, ...args);

/** Changes the database of the gateway while that is not running. */
async function tamper(change: (database: DatabaseSync) => void): Promise<void> {
  await stage.gateway.halt();
  const database = new DatabaseSync(findDatabaseFile(stage.gateway.persist));
  change(database);
  database.close();
}

beforeAll(async () => {
  for (let i = 0; i < REQUESTS; i += 1) await stage.post({ target: "/pay", key: makeKey() });
  const until = performance.now() + WAIT_MS;
  while ((await verifyUrl()).verdict.entries < ENTRIES && performance.now() < until) await sleep(200);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the ledger of a running gateway", () => {
  it("is sound, and its size is told", async () => {
    const { code, verdict } = await verifyUrl("--pin", pin);

    expect(verdict).toMatchObject({ verdict: "sound", entries: ENTRIES, shards: [{ covered: ENTRIES }] });
    expect(code).toBe(0);
  });

  it("is the one that is in its database", async () => {
    const { verdict } = await verify("--d1", stage.gateway.persist, "--pin", pin);

    expect(verdict).toMatchObject({ verdict: "sound", entries: ENTRIES, unchecked: [] });
  });

  it("can't be checked without an operator's token", async () => {
    const { code, verdict } = await verify("--url", stage.gateway.url);

    expect(verdict).toMatchObject({ verdict: "not-checked" });
    expect(code).toBe(2);
  });
});

describe("a ledger in whose database one byte was changed", () => {
  const index = ENTRIES - 1;

  beforeAll(async () => {
    await tamper((database) => {
      const row = database.prepare("SELECT body FROM bundles").get();
      const lines = String(row?.body).split("\n");
      const line = lines[index] ?? "";
      const edited = line.replace(
        /("at":\d*)(\d)/,
        (_, head, digit) => `${head}${digit === "0" ? "1" : "0"}`,
      );
      database.prepare("UPDATE bundles SET body = ?").run(lines.with(index, edited).join("\n"));
    });
  });

  it("is broken at that entry", async () => {
    const { code, verdict } = await verify("--d1", stage.gateway.persist, "--pin", pin);

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "entry", shard: "1:0", index } });
    expect(code).toBe(1);
  });

  it("is broken at that entry for those who ask the gateway, too", async () => {
    await stage.gateway.restart();

    const { code, verdict } = await verifyUrl();

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "entry", shard: "1:0", index } });
    expect(code).toBe(1);
  });
});

describe("a ledger whose newest rows were deleted", () => {
  it("misses them", async () => {
    await tamper((database) => database.exec("DELETE FROM bundles"));

    const { code, verdict } = await verify("--d1", stage.gateway.persist);

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "missing", shard: "1:0", index: 0 } });
    expect(code).toBe(1);
  });

  it("misses them for those who ask the gateway, too", async () => {
    await stage.gateway.restart();

    const { verdict } = await verifyUrl();

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "missing", shard: "1:0", index: 0 } });
  });
});
