import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { encodeUtf8, fromBase64, sha256Hex, toHex } from "../../../src/core/bytes.ts";
import { EMPTY_FRONTIER, extendFrontier, rootOf } from "../../../src/core/log/tree.ts";
import { hashLeaf, hashNode } from "../../../src/ledger/hashing.ts";
import type { LedgerObject } from "../../../src/worker.ts";
import { advanceClock, MINUTE, SECOND, stopClock } from "../support/clock.ts";
import {
  faultyDatabase,
  from,
  type LedgerStub,
  ledgerObject,
  makeDelivery,
  readLines,
  readTexts,
  runRound,
  upTo,
  withLedgerParts,
} from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";

/** A shard that no other test of this file uses. */
let shardsUsed = 0;
function freshShard(): { shard: string; stub: LedgerStub; place: { shard: string; shards: number } } {
  const shard = `1:${shardsUsed}`;
  shardsUsed += 1;
  return { shard, stub: ledgerObject(shard), place: { shard, shards: 4 } };
}

async function append(stub: LedgerStub, shard: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 100) {
    await stub.append({ shard, shards: 4 }, await makeDelivery(Math.min(left, 100)));
  }
}

type Row = { size: number; root: string; note: string };

async function readCheckpoints(shard: string): Promise<Row[]> {
  const { results } = await env.DB.prepare(
    "SELECT size, root, note FROM checkpoints WHERE shard = ? ORDER BY size",
  )
    .bind(shard)
    .all<Row>();
  return results;
}

/** Everything in D1 is whole: indexes without a gap, roots of all checkpoints, signatures. */
async function expectSound(shard: string, size: number): Promise<void> {
  const texts = await readTexts(shard);
  expect(texts.map((text) => JSON.parse(text).index)).toEqual(Array.from({ length: size }, (_, i) => i));
  const leaves = await Promise.all(texts.map(hashLeaf));
  const { vkey } = await ledgerObject("1:0").verifierKey();
  const typed = fromBase64(vkey.split("+").slice(2).join("+")) ?? new Uint8Array();
  const key = await crypto.subtle.importKey("raw", typed.subarray(1), { name: "Ed25519" }, false, ["verify"]);
  for (const row of await readCheckpoints(shard)) {
    const root = await rootOf(
      await extendFrontier(EMPTY_FRONTIER, leaves.slice(0, row.size), hashNode),
      hashNode,
    );
    expect(row.root).toBe(toHex(root ?? new Uint8Array()));
    const [text = "", signature = ""] = row.note.split("\n\n");
    expect(`${text}\n`).toBe(
      `oncegate/${shard}\n${row.size}\n${btoa(String.fromCharCode(...(root ?? [])))}\n`,
    );
    const signed = fromBase64(/ ([^ ]+)\n$/.exec(signature)?.[1] ?? "") ?? new Uint8Array();
    expect(toHex(signed.subarray(0, 4))).toBe(vkey.split("+")[1]);
    expect(await crypto.subtle.verify("Ed25519", key, signed.subarray(4), encodeUtf8(`${text}\n`))).toBe(
      true,
    );
  }
}

describe("a round", () => {
  it("writes bundles of 256 lines, their hashes and a checkpoint that covers them", async () => {
    stopClock();
    const { shard, stub } = freshShard();
    await append(stub, shard, 600);
    await runRound(stub);
    await expectSound(shard, 600);
    const { results } = await env.DB.prepare(
      "SELECT first, count, body, digest FROM bundles WHERE shard = ? ORDER BY first",
    )
      .bind(shard)
      .all<{ first: number; count: number; body: string; digest: string }>();
    expect(results.map(({ first, count }) => [first, count])).toEqual([
      [0, 256],
      [256, 256],
      [512, 88],
    ]);
    for (const { body, digest } of results) expect(digest).toBe(await sha256Hex(encodeUtf8(body)));
    const hashes = await env.DB.prepare(
      "SELECT first, length(leaves) AS n FROM hashes WHERE shard = ? ORDER BY first",
    )
      .bind(shard)
      .all();
    expect(hashes.results).toEqual([
      { first: 0, n: 256 * 64 },
      { first: 256, n: 256 * 64 },
    ]);
  });

  it("lets a bundle grow, and keeps every earlier checkpoint true", async () => {
    stopClock();
    const { shard, stub } = freshShard();
    for (const count of [1, 40, 300, 3]) {
      await append(stub, shard, count);
      advanceClock(10 * SECOND);
      await runRound(stub);
    }
    await expectSound(shard, 344);
    expect((await readCheckpoints(shard)).map(({ size }) => size)).toEqual([1, 41, 341, 344]);
  });

  it("lets go of lines that D1 has, but for those of the bundle that still grows", async () => {
    stopClock();
    const { shard, stub } = freshShard();
    await append(stub, shard, 560);
    await runRound(stub);
    await runInDurableObject(stub, (_object, { storage }) => {
      const rows = storage.sql
        .exec<{ first: number; count: number }>("SELECT first, count FROM staged")
        .toArray();
      expect(rows.every(({ first, count }) => first + count > 512)).toBe(true);
      expect(rows.length).toBeLessThanOrEqual(2);
    });
  });

  it("can be read with SQL alone", async () => {
    const read = await env.DB.prepare(
      "SELECT count(*) AS n FROM bundles, json_each('[' || replace(rtrim(body, char(10)), char(10), ',') || ']') WHERE shard = '1:0' AND value ->> 'type' = 'granted'",
    ).first("n");
    expect(read).toBe(600);
  });
});

describe("a database", () => {
  const faults: [string, (call: () => Promise<unknown>) => Promise<unknown>][] = [
    ["fails", async () => Promise.reject(new Error("D1_ERROR: Network connection lost."))],
    [
      "commits and loses its word",
      async (call) => {
        await call();
        throw new Error("D1_ERROR: Network connection lost.");
      },
    ],
  ];

  it.each(faults)("FR-069 that %s gets every entry once in the end", async (_case, fault) => {
    stopClock();
    const stub = ledgerObject("1:3");
    const before = (await readLines("1:3")).length;
    const delivery = await makeDelivery(5);
    const place = { shard: "1:3", shards: 4 };
    await withLedgerParts(stub, { database: faultyDatabase(fault) }, async (object) => {
      await object.append(place, upTo(2, delivery));
      for (let tries = 0; tries < 3; tries++) {
        await object.alarm();
        advanceClock(2 * MINUTE);
      }
      await object.append(place, from(3, delivery));
      await object.alarm();
    });
    expect(linesOf("ledger-publish-failed").length).toBeGreaterThan(0);
    await withLedgerParts(stub, {}, async (object) => {
      for (let rounds = 0; rounds < 3; rounds++) {
        await object.alarm();
        advanceClock(2 * MINUTE);
      }
    });
    await expectSound("1:3", before + 5);
  });

  it("whose rows are others is not overwritten, is reported, and the lines stay here", async () => {
    stopClock();
    const { shards, stub } = { shards: 4, stub: ledgerObject("1:2") };
    const place = { shard: "1:2", shards };
    await env.DB.prepare("UPDATE bundles SET body = replace(body, 'ef1', 'efX') WHERE shard = '1:2'").run();
    const changed = await readTexts("1:2");
    const delivery = await makeDelivery(3);
    await stub.append(place, delivery);
    await runRound(stub);
    expect(await readTexts("1:2")).toEqual(changed);
    expect(linesOf("ledger-differs")).toMatchObject([{ shard: "1:2", table: "bundles", index: 512 }]);
    await runInDurableObject(stub, async (object: LedgerObject, { storage }) => {
      expect(storage.sql.exec("SELECT 1 FROM staged").toArray().length).toBeGreaterThan(0);
      expect((await object.checkpoint("1:2")).size).toBe(560);
    });
  });
});

describe("an object that stops", () => {
  const gaps = ["signed", "d1", "published"] as const;

  it.each(gaps)("before it has noted `%s` goes on to one history", async (gap) => {
    stopClock();
    const stub = ledgerObject("1:1");
    const before = (await readLines("1:1")).length;
    await append(stub, "1:1", 300);
    await withLedgerParts(stub, {}, async (object, storage) => {
      const put = storage.kv.put.bind(storage.kv);
      const spy = vi.spyOn(storage.kv, "put").mockImplementation((key, value) => {
        if (key === gap) throw new Error("stopped");
        put(key, value);
      });
      await object.alarm();
      spy.mockRestore();
    });
    expect(linesOf("ledger-publish-failed").length).toBe(1);
    await append(stub, "1:1", 7);
    await withLedgerParts(stub, {}, async (object) => {
      await object.alarm();
      advanceClock(MINUTE);
      await object.alarm();
    });
    await expectSound("1:1", before + 307);
  });
});

describe("a checkpoint", () => {
  it("is shown only when everything under it is in D1", async () => {
    stopClock();
    const stub = ledgerObject("1:0");
    const shown = await stub.checkpoint("1:0");
    await stub.append({ shard: "1:0", shards: 4 }, await makeDelivery(1));
    expect(await stub.checkpoint("1:0")).toEqual(shown);
    await runRound(stub);
    expect((await stub.checkpoint("1:0")).size).toBe(shown.size + 1);
  });

  it("is made at most once a second, and once in a while for a few entries", async () => {
    stopClock();
    const stub = ledgerObject("1:0");
    await runInDurableObject(stub, async (object: LedgerObject, { storage }) => {
      await object.alarm();
      const place = { shard: "1:0", shards: 4 };
      advanceClock(100);
      await object.append(place, await makeDelivery(1));
      expect((await storage.getAlarm()) ?? 0).toBeGreaterThanOrEqual(Date.now() + SECOND);
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      expect((await storage.getAlarm()) ?? 0).toBeLessThanOrEqual(Date.now() + SECOND);
    });
  });

  it("of a shard without entries is signed too, and nothing is stored for it", async () => {
    const stub = ledgerObject("1:9");
    const { size, note } = await stub.checkpoint("1:9");
    expect(size).toBe(0);
    expect(note).toMatch(/^oncegate\/1:9\n0\n47DEQpj8HBSa\+\/TImW\+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— oncegate /);
    await runInDurableObject(stub, (_object, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
    });
  });
});
