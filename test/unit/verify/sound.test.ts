// Aim: sound ledgers are said to be sound. Method: ledgers written by the tests' own writer, in a database in memory.
import { describe, expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { emptyLog, makeKey, makeLog, storeLogs } from "../../support/ledger-log.ts";
import { Ledger } from "./tampering.ts";

describe("a sound ledger", () => {
  it.each([0, 1, 2, 255, 256, 257, 1_000])("of %d entries is sound", async (count) => {
    const log = makeLog(count, 100);
    const source = readDatabase(storeLogs([log]));

    const { verdict } = await verifyLedger(source, { key: log.key.vkey });

    expect(verdict).toMatchObject({ verdict: "sound", entries: count, unchecked: [] });
  });

  it("of several shards is sound, and tells size and root of each", async () => {
    const key = makeKey();
    const logs = [makeLog(300, 50, emptyLog("1:0", key)), makeLog(10, 3, emptyLog("1:1", key), 1_000)];
    const source = readDatabase(storeLogs(logs));

    const { verdict, pin } = await verifyLedger(source, { key: key.vkey });

    const roots = logs.map(({ checkpoints }) => checkpoints.at(-1)?.root.toString("base64"));
    expect(verdict).toMatchObject({
      verdict: "sound",
      entries: 310,
      shards: [
        { shard: "1:0", size: 300, covered: 300, checkpoints: 6, root: roots[0] },
        { shard: "1:1", size: 10, covered: 10, checkpoints: 4, root: roots[1] },
      ],
    });
    expect(pin).toEqual({
      v: 1,
      key: key.vkey,
      shards: { "1:0": { size: 300, root: roots[0] }, "1:1": { size: 10, root: roots[1] } },
    });
  });

  it("may have entries that no checkpoint covers yet", async () => {
    const log = makeLog(40, 10);
    log.checkpoints.pop();
    const source = readDatabase(storeLogs([log]));

    const { verdict } = await verifyLedger(source, { key: log.key.vkey });

    expect(verdict).toMatchObject({ verdict: "sound", shards: [{ size: 40, covered: 30 }] });
  });

  it("may have its first entries pruned, and still proves all the rest", async () => {
    const { log, database } = Ledger.pruned();

    const { verdict } = await verifyLedger(readDatabase(database), { key: log.key.vkey });

    expect(verdict).toMatchObject({ verdict: "sound", shards: [{ first: 256, size: 601, covered: 601 }] });
  });

  it("says so when no key was there to check signatures with", async () => {
    const { database } = new Ledger();

    const { verdict } = await verifyLedger(readDatabase(database));

    expect(verdict).toMatchObject({ verdict: "sound", unchecked: ["signatures: no key was given"] });
  });
});
