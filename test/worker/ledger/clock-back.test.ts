// Aim: what a shard puts off is not put off for longer by a clock that goes back.
import { describe, expect, it } from "vitest";
import { advanceClock, DAY, MINUTE, stopClock } from "../support/clock.ts";
import { faultyDatabase, ledgerObject, makeDelivery, readLines, withLedgerParts } from "../support/ledger.ts";
import { accept, makeReceiver } from "../support/receiver.ts";

const BACK: [ms: number, shard: string][] = [
  [-20 * MINUTE, "1:0"],
  [-365 * DAY, "1:1"],
];

describe("a shard whose clock goes back", () => {
  it.each(BACK)("by %i ms publishes what it could not publish before", async (ms, shard) => {
    stopClock();
    let isDown = true;
    const database = faultyDatabase((call) => (isDown ? Promise.reject(new Error("down")) : call()));
    await withLedgerParts(ledgerObject(shard), { database }, async (object, storage) => {
      await object.append({ shard, shards: 4 }, await makeDelivery(3));
      await object.alarm();
      isDown = false;
      await object.alarm();
      expect(await readLines(shard)).toEqual([]);
      advanceClock(ms);
      await object.append({ shard, shards: 4 }, await makeDelivery(1));
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + MINUTE);
      await object.alarm();
      expect(await readLines(shard)).not.toEqual([]);
    });
  });

  it.each<[ms: number, shard: string]>([
    [-20 * MINUTE, "1:2"],
    [-365 * DAY, "1:3"],
  ])("by %i ms delivers what a receiver refused before", async (ms, shard) => {
    stopClock();
    const receiver = makeReceiver((number) =>
      number === 1 ? new Response(null, { status: 500 }) : accept(),
    );
    await withLedgerParts(ledgerObject(shard), receiver, async (object, storage) => {
      await object.append({ shard, shards: 4 }, await makeDelivery(3));
      await object.alarm();
      advanceClock(ms);
      await object.alarm();
      expect(receiver.sent).toHaveLength(2);
      expect(storage.kv.get("webhook")).toMatchObject({ tries: 0, notBefore: 0 });
    });
  });

  it("looks again for what is too old", async () => {
    stopClock();
    const shard = "1:3";
    await withLedgerParts(ledgerObject(shard), { retentionMs: 10 * DAY }, async (object, storage) => {
      await object.append({ shard, shards: 4 }, await makeDelivery(1));
      await object.alarm();
      advanceClock(-365 * DAY);
      await object.alarm();
      expect(storage.kv.get("prune")).toMatchObject({ checkAt: Date.now() + DAY });
    });
  });
});
