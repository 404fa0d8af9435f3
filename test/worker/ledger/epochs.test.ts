import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { toHex } from "../../../src/core/bytes.ts";
import { EMPTY_FRONTIER, extendFrontier, rootOf } from "../../../src/core/log/tree.ts";
import { hashLeaf, hashNode } from "../../../src/ledger/hashing.ts";
import { OwnStream } from "../../../src/ledger/shard/own-stream.ts";
import { Sequencer } from "../../../src/ledger/shard/sequencer.ts";
import { ShardStore } from "../../../src/ledger/shard/store.ts";
import { advanceClock, DAY, MINUTE, stopClock } from "../support/clock.ts";
import {
  beginAgain,
  expectEpochsWhole,
  historyOf,
  isolateWith,
  readEpochs,
  readEveryLine,
  runAll,
  Sender,
} from "../support/epochs.ts";
import { bindWith, get } from "../support/gateway.ts";
import {
  faultyDatabase,
  ledgerObject,
  makeDelivery,
  readLines,
  readTexts,
  runRound,
  withLedgerParts,
} from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";

beforeEach(async () => {
  await beginAgain();
  stopClock();
});

/** Senders that have sent their grant. */
async function grantMany(count: number, ledger = isolateWith(4)): Promise<Sender[]> {
  const senders = Array.from({ length: count }, () => new Sender().grant());
  for (const sender of senders) expect(await sender.send(ledger)).toBe("held");
  return senders;
}

async function rootOfShard(shard: string): Promise<string> {
  const leaves = await Promise.all((await readTexts(shard)).map(hashLeaf));
  const root = await rootOf(await extendFrontier(EMPTY_FRONTIER, leaves, hashNode), hashNode);
  return toHex(root ?? new Uint8Array());
}

describe("a larger number of shards", () => {
  it("opens an epoch in which open streams go on", async () => {
    const senders = await grantMany(12);
    const fresh = new Sender().grant().settle();
    for (const sender of [...senders.map((each) => each.settle()), fresh]) {
      expect(await sender.send(isolateWith(8))).toBe("held");
    }
    await runAll();
    expect(await readEpochs()).toEqual([4, 8]);
    for (const sender of senders) expect(await historyOf(sender)).toEqual(["1 granted", "2 settled"]);
    expect(await historyOf(fresh)).toEqual(["2 granted", "2 settled"]);
    await expectEpochsWhole();
    expect(linesOf("ledger-shards-changed")).toEqual([]);
  });

  it("closes every shard with a checkpoint, and opens all of the next ones on the root of that", async () => {
    await grantMany(2);
    await ledgerObject("1:0").agree("1:0", 8);
    await runAll();
    await expectEpochsWhole();
    for (let number = 0; number < 8; number++) {
      const before = `1:${number % 4}`;
      const [opened] = await readLines(`2:${number}`);
      expect(opened).toMatchObject({
        type: "opened",
        capability: "ledger.epoch",
        target: before,
        digest: await rootOfShard(before),
        actor: "ledger",
      });
      const lines = await readLines(before);
      expect(lines.at(-1)).toMatchObject({ type: "closed", capability: "ledger.epoch", target: "1/4-2/8" });
      const { size } = await ledgerObject(before).checkpoint(before);
      expect(size).toBe(lines.length);
    }
  });

  it("lets a stream that nobody sent to for an epoch go on all the same", async () => {
    const [sender = new Sender()] = await grantMany(1, isolateWith(1));
    await grantMany(1, isolateWith(2));
    await runAll();
    expect(await sender.settle().send(isolateWith(8))).toBe("held");
    await runAll();
    expect(await readEpochs()).toEqual([1, 2, 8]);
    expect(await historyOf(sender)).toEqual(["1 granted", "3 settled"]);
    await expectEpochsWhole();
  });

  it("finds a stream two epochs back where no shard between was ever used", async () => {
    const [sender = new Sender()] = await grantMany(1, isolateWith(1));
    await ledgerObject("1:0").agree("1:0", 2);
    expect(await sender.settle().send(isolateWith(4))).toBe("held");
    await runAll();
    expect(await historyOf(sender)).toEqual(["1 granted", "3 settled"]);
    await expectEpochsWhole();
  });

  it("is told in the key's endpoint, and the checkpoint without a shard is one of the newest epoch", async () => {
    await grantMany(1);
    await grantMany(1, isolateWith(8));
    await runAll();
    const key = await (await get("/_oncegate/ledger/key")).json<{ epochs: unknown; shards: string[] }>();
    expect(key.epochs).toEqual([
      { epoch: 1, shards: 4 },
      { epoch: 2, shards: 8 },
    ]);
    expect(key.shards.length).toBe(12);
    expect(await (await get("/_oncegate/ledger/checkpoint")).text()).toMatch(/^oncegate\/2:0\n/);
    expect((await get("/_oncegate/ledger/checkpoint/2:8")).status).toBe(404);
    expect((await get("/_oncegate/ledger/checkpoint/3:0")).status).toBe(404);
  });

  it("opens nothing where somebody only reads", async () => {
    await grantMany(1);
    await get("/_oncegate/ledger/key", {}, bindWith({ LEDGER_SHARDS: 16 }));
    expect(await readEpochs()).toEqual([4]);
  });
});

describe("a shard's own stream", () => {
  it("takes one entry after the other, however many are told at once", async () => {
    await runInDurableObject(ledgerObject("1:0"), async (_object, { storage }) => {
      const store = new ShardStore(storage);
      const onFork = vi.fn();
      const sequencer = new Sequencer(store, "1:0", async () => [], onFork);
      const own = new OwnStream(store, "1:0", sequencer);
      const tell = (index: number): Promise<number | null> => {
        const entry = {
          type: "prune",
          capability: "ledger.prune",
          target: String(index),
          digest: "",
        } as const;
        return own.tell(() => (index === 2 ? null : entry), { kind: "tells" }, index);
      };
      expect(await Promise.all([1, 2, 3, 4].map(tell))).toEqual([0, null, 1, 2]);
      expect(onFork).not.toHaveBeenCalled();
    });
  });
});

describe("a smaller number of shards", () => {
  it("is reported and changes nothing: entries go where they belong", async () => {
    const [sender = new Sender()] = await grantMany(1, isolateWith(8));
    expect(await sender.settle().send(isolateWith(4))).toBe("held");
    await runAll();
    expect(await readEpochs()).toEqual([8]);
    expect(await historyOf(sender)).toEqual(["1 granted", "1 settled"]);
    expect(linesOf("ledger-shards-changed")).toEqual([{ event: "ledger-shards-changed", from: 8, to: 4 }]);
  });
});

describe("a closed shard", () => {
  const place = { shard: "1:1", shards: 4 };

  async function closeAll(): Promise<void> {
    await grantMany(8);
    await ledgerObject("1:0").agree("1:0", 8);
    await runAll();
  }

  it("takes no key's entry, known or new", async () => {
    const delivery = await makeDelivery(2);
    await ledgerObject("1:1").append(place, delivery);
    await closeAll();
    const before = await readTexts("1:1");
    expect(await ledgerObject("1:1").append(place, delivery)).toEqual({ kind: "closed" });
    expect(await ledgerObject("1:1").append(place, await makeDelivery(1))).toEqual({ kind: "closed" });
    await runRound(ledgerObject("1:1"));
    expect(await readTexts("1:1")).toEqual(before);
  });

  it("says of no stream where it is while it is open", async () => {
    await grantMany(1);
    await withLedgerParts(ledgerObject("1:0"), {}, async (object) => {
      await expect(object.headsOf({ shard: "1:0", shards: 4 }, ["x"])).rejects.toThrow("open");
    });
  });

  it("is not closed where no epoch follows", async () => {
    await grantMany(8);
    await withLedgerParts(ledgerObject("1:1"), {}, async (object) => {
      await expect(object.close(place)).rejects.toThrow("nothing follows");
    });
  });

  it("keeps a fork out of the next epoch", async () => {
    const [sender = new Sender()] = await grantMany(1);
    const other = sender.fork();
    advanceClock(1);
    other.grant().settle();
    expect(await other.send(isolateWith(8))).toBe("failed");
    expect(await sender.settle().send(isolateWith(8))).toBe("failed");
    await runAll();
    expect(linesOf("ledger-fork").length).toBe(1);
    expect(await historyOf(sender)).toEqual(["1 granted"]);
  });

  it("shows its end before a shard of the next epoch shows anything", async () => {
    const senders = await grantMany(8);
    for (const sender of senders) await sender.settle().send(isolateWith(8));
    const down = faultyDatabase(() => Promise.reject(new Error("D1 is down")));
    await withLedgerParts(ledgerObject("1:1"), { database: down }, (object) => object.alarm());
    for (const shard of ["2:1", "2:5"]) {
      await runRound(ledgerObject(shard));
      expect(await readLines(shard)).toEqual([]);
      expect((await ledgerObject(shard).checkpoint(shard)).size).toBe(0);
    }
    advanceClock(MINUTE);
    await runAll();
    await expectEpochsWhole();
    for (const sender of senders) expect(await historyOf(sender)).toEqual(["1 granted", "2 settled"]);
  });

  it("prunes what is old under entries of its own, and keeps the bundle that says it is closed", async () => {
    for (let i = 0; i < 7; i++) await ledgerObject("1:1").append(place, await makeDelivery(73));
    await ledgerObject("1:0").agree("1:0", 8);
    await runAll();
    await withLedgerParts(ledgerObject("1:1"), { retentionMs: 10 * DAY }, async (object) => {
      for (let days = 0; days < 30; days++) {
        await object.alarm();
        advanceClock(DAY);
      }
    });
    const lines = await readLines("1:1");
    expect(lines[0]?.index).toBe(256);
    expect(lines.slice(-2).map(({ index, type }) => [index, type])).toEqual([
      [511, "closed"],
      [512, "prune"],
    ]);
    const prunes = await env.DB.prepare("SELECT until, bundles FROM prunes WHERE shard = '1:1'").all();
    expect(prunes.results).toEqual([{ until: 256, bundles: 1 }]);
  });

  it("lets a row of an effect go on with what the next shard says", async () => {
    const [sender = new Sender()] = await grantMany(1);
    await runAll();
    await sender.settle().send(isolateWith(8));
    await runAll();
    const rows = await env.DB.prepare("SELECT shard, state, version, intent_at FROM effects").all();
    const last = (await readEveryLine()).find(({ type }) => type === "settled");
    expect(rows.results).toEqual([
      { shard: last?.shard, state: "committed", version: 2, intent_at: expect.any(Number) },
    ]);
    expect(last?.shard).toMatch(/^2:/);
  });
});
