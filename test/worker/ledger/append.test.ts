import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { GATHER_MS, GATHERED_MAX } from "../../../src/ledger/bounds.ts";
import type { Delivery } from "../../../src/ledger/shard/sequencer.ts";
import type { LedgerObject } from "../../../src/worker.ts";
import { settleDown, stopClock } from "../support/clock.ts";
import {
  from,
  ledgerObject,
  makeDelivery,
  readLines,
  runRound,
  upTo,
  withLedgerParts,
} from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { makeGate } from "../support/origin.ts";

const SHARD = "1:1";
const PLACE = { shard: SHARD, shards: 4 };
const stub = ledgerObject(SHARD);

/** Stream, number and effect of everything in the shard's log. */
async function readLog(): Promise<[string, number, unknown][]> {
  await runRound(stub);
  return (await readLines(SHARD)).map(({ stream, seq, effect_id }) => [stream, seq, effect_id]);
}

async function readStream(name: string): Promise<[number, unknown][]> {
  return (await readLog()).filter(([stream]) => stream === name).map(([, seq, effect]) => [seq, effect]);
}

describe("a shard", () => {
  it("takes what follows, and says how far it is", async () => {
    stopClock();
    const delivery = await makeDelivery(3);
    const hash = (seq: number): string | undefined => delivery.lines[seq - 1]?.hash;
    expect(await stub.append(PLACE, upTo(2, delivery))).toEqual({ kind: "held", seq: 2, hash: hash(2) });
    expect(await stub.append(PLACE, from(3, delivery))).toEqual({ kind: "held", seq: 3, hash: hash(3) });
    expect(await readStream(delivery.stream)).toEqual([
      [1, "ef1"],
      [2, "ef2"],
      [3, "ef3"],
    ]);
  });

  it("drops what it knows, alone or in front of something new", async () => {
    stopClock();
    const delivery = await makeDelivery(4);
    await stub.append(PLACE, upTo(2, delivery));
    expect(await stub.append(PLACE, upTo(2, delivery))).toMatchObject({ kind: "held", seq: 2 });
    expect(await stub.append(PLACE, delivery)).toMatchObject({ kind: "held", seq: 4 });
    expect(await stub.append(PLACE, from(2, delivery))).toMatchObject({ kind: "held", seq: 4 });
    expect((await readStream(delivery.stream)).map(([seq]) => seq)).toEqual([1, 2, 3, 4]);
  });

  it("asks for what is missing and takes nothing behind a gap", async () => {
    stopClock();
    const delivery = await makeDelivery(5);
    await stub.append(PLACE, upTo(2, delivery));
    expect(await stub.append(PLACE, from(5, delivery))).toEqual({
      kind: "gap",
      seq: 2,
      hash: delivery.lines[1]?.hash,
    });
    expect(await stub.append(PLACE, from(3, delivery))).toMatchObject({ kind: "held", seq: 5 });
    expect((await readStream(delivery.stream)).map(([seq]) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  it("doesn't judge an old delivery that comes late", async () => {
    stopClock();
    const delivery = await makeDelivery(3);
    await stub.append(PLACE, delivery);
    expect(await stub.append(PLACE, upTo(2, delivery))).toEqual({ kind: "ahead", seq: 3 });
    expect(await stub.append(PLACE, delivery)).toMatchObject({ kind: "held", seq: 3 });
  });

  it.each<[string, (other: Awaited<ReturnType<typeof makeDelivery>>) => typeof other]>([
    ["the newest entry is another one", (other) => upTo(2, other)],
    ["the next entry follows another one", (other) => from(3, other)],
    ["entries it has are others, in front of new ones", (other) => other],
  ])("freezes a stream and reports it where %s", async (_case, pick) => {
    stopClock();
    const delivery = await makeDelivery(3);
    const other = await makeDelivery(3, "x", delivery.stream);
    await stub.append(PLACE, upTo(2, delivery));
    expect(await stub.append(PLACE, pick(other))).toEqual({ kind: "frozen" });
    expect(await stub.append(PLACE, delivery)).toEqual({ kind: "frozen" });
    expect(linesOf("ledger-fork")).toEqual([{ event: "ledger-fork", shard: SHARD, stream: delivery.stream }]);
    expect(await readStream(delivery.stream)).toEqual([
      [1, "ef1"],
      [2, "ef2"],
    ]);
  });

  it("takes one history only where two come at the same time", async () => {
    stopClock();
    const delivery = await makeDelivery(2);
    const other = await makeDelivery(2, "x", delivery.stream);
    const answers = await Promise.all([delivery, other].map((each) => stub.append(PLACE, each)));
    expect(answers.map(({ kind }) => kind)).toEqual(["held", "frozen"]);
  });

  it("gives each of many at the same time a place of its own", async () => {
    stopClock();
    const before = (await readLog()).length;
    const deliveries = await Promise.all(Array.from({ length: 60 }, () => makeDelivery(3)));
    const sent = [...deliveries, ...deliveries].map((each) => stub.append(PLACE, each));
    expect((await Promise.all(sent)).every(({ kind }) => kind === "held")).toBe(true);
    const log = await readLog();
    expect(log.length).toBe(before + 180);
    expect(new Set(log.map(([stream, seq]) => `${stream} ${seq}`)).size).toBe(log.length);
    expect((await readLines(SHARD)).map(({ index }) => index)).toEqual(log.map((_, i) => i));
  });

  it("reads for one delivery more what the log is at, and nothing that it knows or that is not due soon", async () => {
    stopClock();
    const [first, second] = [await makeDelivery(1), await makeDelivery(1)];
    await runInDurableObject(stub, async (object: LedgerObject, { storage }) => {
      await object.append(PLACE, first);
      const reads = vi.spyOn(storage.kv, "get");
      expect(await object.append(PLACE, second)).toMatchObject({ kind: "held" });
      const names = new Set(reads.mock.calls.map(([name]) => name));
      expect([...names].sort()).toEqual(["before", "closed", "log"]);
    });
  });

  it("waits for more, and for no more than make a batch", async () => {
    stopClock();
    const deliveries = await Promise.all(Array.from({ length: 2 * GATHERED_MAX }, () => makeDelivery(1)));
    await runInDurableObject(stub, async (object: LedgerObject) => {
      const gate = makeGate();
      const wait = scheduler.wait.bind(scheduler);
      vi.spyOn(scheduler, "wait").mockImplementation((ms) => (ms === GATHER_MS ? gate.passed : wait(ms)));
      let held = 0;
      const send = (each: Delivery): Promise<number> => object.append(PLACE, each).then(() => (held += 1));
      const few = deliveries.slice(0, GATHERED_MAX - 1).map(send);
      await settleDown();
      expect(held).toBe(0);
      await Promise.all([...few, ...deliveries.slice(GATHERED_MAX - 1, GATHERED_MAX).map(send)]);
      await Promise.all(deliveries.slice(GATHERED_MAX).map(send));
      const last = object.append(PLACE, await makeDelivery(1));
      gate.open();
      expect(await last).toMatchObject({ kind: "held" });
    });
  });

  it("takes nothing that is no entry, and what comes along with it all the same", async () => {
    stopClock();
    const delivery = await makeDelivery(1);
    const broken = { ...(await makeDelivery(1)), lines: [{ text: '{"v":2}', hash: "0" }] };
    const answers = await Promise.all([broken, delivery].map((each) => stub.append(PLACE, each)));
    expect(answers.map(({ kind }) => kind)).toEqual(["failed", "held"]);
  });

  it("holds nothing of a batch that storage refuses, and takes it when it comes again", async () => {
    stopClock();
    const delivery = await makeDelivery(2);
    await runInDurableObject(stub, async (object: LedgerObject, { storage }) => {
      const spy = vi.spyOn(storage.kv, "put").mockImplementation(() => {
        throw new Error("disk full");
      });
      expect(await object.append(PLACE, delivery)).toEqual({ kind: "failed" });
      spy.mockRestore();
      expect(await object.append(PLACE, delivery)).toMatchObject({ kind: "held", seq: 2 });
    });
    expect((await readStream(delivery.stream)).map(([seq]) => seq)).toEqual([1, 2]);
  });

  it("goes on from storage after a restart", async () => {
    stopClock();
    const delivery = await makeDelivery(4);
    await stub.append(PLACE, upTo(2, delivery));
    await withLedgerParts(stub, {}, async (object) => {
      expect(await object.append(PLACE, delivery)).toMatchObject({ kind: "held", seq: 4 });
      await object.alarm();
    });
    expect((await readLines(SHARD)).filter(({ stream }) => stream === delivery.stream).length).toBe(4);
    const lines = await readLines(SHARD);
    expect(lines.map(({ index }) => index)).toEqual(lines.map((_, i) => i));
  });

  it("refuses another number of shards, whichever shard is asked", async () => {
    stopClock();
    await stub.append(PLACE, await makeDelivery(1));
    const fresh = ledgerObject("1:5");
    const delivery = await makeDelivery(1);
    expect(await stub.append({ ...PLACE, shards: 8 }, delivery)).toEqual({ kind: "misplaced" });
    expect(await fresh.append({ shard: "1:5", shards: 8 }, delivery)).toEqual({ kind: "misplaced" });
  });
});
