import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { toHex } from "../../../src/core/bytes.ts";
import { EMPTY_FRONTIER, extendFrontier, rootOf } from "../../../src/core/log/tree.ts";
import { hashLeaf, hashNode } from "../../../src/ledger/hashing.ts";
import { advanceClock, DAY, MINUTE, stopClock } from "../support/clock.ts";
import { get } from "../support/gateway.ts";
import { ledgerObject, makeDelivery, readLines, readTexts, withLedgerParts } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { tokenOf } from "../support/operator.ts";

const READER = tokenOf("reader");

const PROOFS = [
  "proof?shard=1:1&index=3&size=610",
  "proof?shard=1:1&index=300&size=511",
  "consistency?shard=1:1&from=1&to=610",
  "consistency?shard=1:1&from=300&to=600",
];

const readLedger = async (path: string): Promise<string> =>
  (await get(`/_oncegate/ledger/${path}`, READER)).text();

async function readPrunes(shard: string): Promise<unknown[]> {
  return (await env.DB.prepare("SELECT until, entry, bundles FROM prunes WHERE shard = ?").bind(shard).all())
    .results;
}

async function ringEachMinute(object: Pick<DurableObject, "alarm">, times: number): Promise<void> {
  for (let rung = 0; rung < times; rung++) {
    await object.alarm?.();
    advanceClock(MINUTE);
  }
}

describe("retention", () => {
  it("tells the ledger first, then deletes what a checkpoint covers, and keeps every proof", async () => {
    stopClock();
    const shard = "1:1";
    const place = { shard, shards: 4 };
    await withLedgerParts(ledgerObject(shard), { retentionMs: 10 * DAY }, async (object) => {
      for (let i = 0; i < 6; i++) await object.append(place, await makeDelivery(100));
      await object.alarm();
      const texts = await readTexts(shard);
      advanceClock(5 * DAY);
      await object.append(place, await makeDelivery(10));
      await object.alarm();
      expect(await readPrunes(shard)).toEqual([]);
      advanceClock(6 * DAY);
      await object.alarm();
      // The entry is there, and nothing has been deleted yet: no checkpoint covers it.
      expect((await readTexts(shard)).length).toBe(610);
      const proofs = await Promise.all(PROOFS.map(readLedger));
      for (const proof of proofs) expect(JSON.parse(proof).hashes.length).toBeGreaterThan(5);
      advanceClock(MINUTE);
      await object.alarm();
      expect(await Promise.all(PROOFS.map(readLedger))).toEqual(proofs);
      // What is left is given from its first entry on, whatever was asked for before that.
      for (const from of [0, 300, 512]) {
        const page = await readLedger(`entries?shard=1:1&from=${from}&limit=1`);
        expect(JSON.parse(page).index).toBe(512);
      }
      const lines = await readLines(shard);
      const leaves = await Promise.all(texts.slice(0, 512).map(hashLeaf));
      const root = await rootOf(await extendFrontier(EMPTY_FRONTIER, leaves, hashNode), hashNode);
      expect(lines[0]?.index).toBe(512);
      expect(lines.at(-1)).toMatchObject({
        index: 610,
        type: "prune",
        seq: 1,
        capability: "ledger.prune",
        target: "512",
        digest: toHex(root ?? new Uint8Array()),
        actor: "ledger",
      });
      expect(await readPrunes(shard)).toEqual([{ until: 512, entry: 610, bundles: 2 }]);
      expect(linesOf("ledger-pruned")).toEqual([
        { event: "ledger-pruned", shard, until: 512, entry: 610, bundles: 2 },
      ]);
    });
    const proof = await get("/_oncegate/ledger/proof?shard=1:1&index=3&size=611", READER);
    expect((await proof.json<{ hashes: string[] }>()).hashes.length).toBe(10);
  });

  it("deletes nothing that a clock which was ahead took for old, once it is right", async () => {
    stopClock();
    const shard = "1:3";
    await withLedgerParts(ledgerObject(shard), { retentionMs: 10 * DAY }, async (object, storage) => {
      for (let i = 0; i < 6; i++) await object.append({ shard, shards: 4 }, await makeDelivery(100));
      await object.alarm();
      advanceClock(365 * DAY);
      await object.alarm();
      expect(storage.kv.get("prune")).toMatchObject({ pending: { until: 512 } });
      advanceClock(-365 * DAY + MINUTE);
      await ringEachMinute(object, 3);
      expect(storage.kv.get("prune")).toMatchObject({ pending: null, done: 0 });
    });
    expect((await readTexts(shard)).length).toBeGreaterThan(600);
    expect(await readPrunes(shard)).toEqual([]);
  });

  it("deletes nothing that is young because a clock was behind when it was published", async () => {
    stopClock();
    const shard = "1:0";
    const place = { shard, shards: 4 };
    await withLedgerParts(ledgerObject(shard), { retentionMs: 10 * DAY }, async (object, storage) => {
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      await object.alarm();
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      advanceClock(-365 * DAY);
      await object.alarm();
      advanceClock(366 * DAY);
      await ringEachMinute(object, 4);
      expect(storage.kv.get("prune")).toMatchObject({ done: 0, pending: null });
      advanceClock(10 * DAY);
      await ringEachMinute(object, 4);
      expect(storage.kv.get("prune")).toMatchObject({ done: 512 });
    });
  });

  it("does nothing twice, and nothing where all is young", async () => {
    stopClock();
    const shard = "1:2";
    const place = { shard, shards: 4 };
    await withLedgerParts(ledgerObject(shard), { retentionMs: 10 * DAY }, async (object) => {
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      for (let days = 0; days < 30; days++) {
        await object.alarm();
        advanceClock(DAY);
      }
    });
    expect((await readLines(shard)).filter(({ type }) => type === "prune").length).toBe(1);
    expect(await readPrunes(shard)).toEqual([{ until: 256, entry: 300, bundles: 1 }]);
  });
});
