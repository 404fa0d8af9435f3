// Aim: wherever opening and closing stops, and whoever still believes in the old number, no entry is lost, none is there twice, and none comes
// behind the end of a closed shard. Method: one step fails, or is done and its word is lost; then everybody goes on.
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LedgerObjectShell } from "../../../src/ledger/shard/ledger-object.ts";
import { OwnStream } from "../../../src/ledger/shard/own-stream.ts";
import type { LedgerObject } from "../../../src/worker.ts";
import { stopClock } from "../support/clock.ts";
import {
  beginAgain,
  evictAll,
  expectEpochsWhole,
  historyOf,
  isolateWith,
  runAll,
  Sender,
} from "../support/epochs.ts";
import { ledgerObject, makeDelivery, readLines, runRound } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";

const KEYS = 10;

beforeEach(async () => {
  await beginAgain();
  stopClock();
});

type Call = () => Promise<unknown>;
type Method = "append" | "open" | "close" | "headsOf" | "agree" | "epochs" | "isEndShown";

const stopped = (): Promise<never> => Promise.reject(new Error("stopped"));
const unheard = async (call: Call): Promise<never> => {
  await call();
  throw new Error("Network connection lost.");
};

/** Every call of a method goes wrong until it is mended; counts them. */
function faultMethod(
  method: Method,
  fault: (call: Call) => Promise<unknown>,
): { hits: number; mend: () => void } {
  const prototype: Record<Method, (...args: never[]) => unknown> = LedgerObjectShell.prototype;
  const real = prototype[method];
  const told = { hits: 0, mend: () => spy.mockRestore() };
  const spy = vi.spyOn(prototype, method).mockImplementation(function (this: unknown, ...args: never[]) {
    told.hits += 1;
    return fault(async () => real.apply(this, args));
  });
  return told;
}

/** Storage of the named shards refuses one value until it is mended. */
async function faultValue(
  value: string,
  shards: readonly string[],
): Promise<{ hits: number; mend: () => void }> {
  const spies: { mockRestore: () => void }[] = [];
  const told = { hits: 0, mend: () => spies.forEach((spy) => void spy.mockRestore()) };
  for (const shard of shards) {
    await runInDurableObject(ledgerObject(shard), (_object, { storage }) => {
      const put = storage.kv.put.bind(storage.kv);
      const spy = vi.spyOn(storage.kv, "put").mockImplementation((key, given) => {
        if (key !== value) return put(key, given);
        told.hits += 1;
        throw new Error("stopped");
      });
      spies.push(spy);
    });
  }
  return told;
}

const OLD = ["1:0", "1:1"];
const NEW = ["2:0", "2:1", "2:2", "2:3"];

const STOPS: [string, () => Promise<{ hits: number; mend: () => void }>][] = [
  ["before the new epoch is stored", () => faultValue("epochs", ["1:0"])],
  ["before the new epoch is told", async () => faultMethod("agree", unheard)],
  ["before a new shard learns which epochs there are", async () => faultMethod("epochs", stopped)],
  ["before the old shard is asked to close", async () => faultMethod("close", stopped)],
  ["before the end of the old shard is stored", () => faultValue("closed", OLD)],
  ["before the end of the old shard is told", async () => faultMethod("close", unheard)],
  ["before it is stored that the new shard is open", () => faultValue("place", NEW)],
  ["before the new shard asks where a stream was", async () => faultMethod("headsOf", stopped)],
  ["before the new shard is told where a stream was", async () => faultMethod("headsOf", unheard)],
  ["before the entries in the new shard are acknowledged", async () => faultMethod("append", unheard)],
  ["before the next shard is opened", async () => faultMethod("open", stopped)],
  ["before an opened shard is counted", async () => faultMethod("open", unheard)],
  ["before the end of the old shard is known to be shown", async () => faultMethod("isEndShown", stopped)],
];

describe("an epoch whose opening stops", () => {
  it.each(STOPS)("%s goes on to one history", async (_where, inject) => {
    const isOld = isolateWith(2);
    const senders = Array.from({ length: KEYS }, () => new Sender().grant());
    for (const sender of senders) expect(await sender.send(isOld)).toBe("held");
    const fault = await inject();
    for (const sender of senders) {
      await sender.settle().send(isolateWith(4));
      await sender.send(isOld);
    }
    for (const shard of [...OLD, ...NEW]) await runRound(ledgerObject(shard));
    expect(fault.hits).toBeGreaterThan(0);
    fault.mend();
    await evictAll();
    for (const sender of senders) await sender.send(isolateWith(4));
    await runAll();
    for (const sender of senders) {
      expect((await historyOf(sender)).map((each) => each.slice(2))).toEqual(["granted", "settled"]);
      expect(sender.isHeard).toBe(true);
    }
    await expectEpochsWhole();
  });
});

describe("a word that was lost before the epoch was opened", () => {
  it.each([
    ["the first entries", (sender: Sender) => sender],
    ["the first entries, with more behind them", (sender: Sender) => sender.settle()],
  ])("is no reason to have %s twice", async (_what, go) => {
    const senders = Array.from({ length: KEYS }, () => new Sender().grant());
    for (const sender of senders) await sender.sendUnheard(isolateWith(2));
    const types = senders.map((sender) => go(sender).size);
    for (const sender of senders) expect(await sender.send(isolateWith(4))).toBe("held");
    await runAll();
    for (const [i, sender] of senders.entries()) expect((await historyOf(sender)).length).toBe(types[i]);
    await expectEpochsWhole();
  });
});

describe("isolates with the old number and with the new", () => {
  it("at the same time make one history", async () => {
    const [old, young] = [isolateWith(2), isolateWith(4)];
    const senders = Array.from({ length: 40 }, () => new Sender().grant());
    const half = senders.slice(0, 20);
    await Promise.all(half.map((sender) => sender.send(old)));
    await Promise.all([
      ...half.map((sender) => sender.settle().send(old)),
      ...senders.slice(20).map((sender) => sender.settle().send(young)),
      ...half.map((sender) => sender.sendUnheard(young)),
      runRound(ledgerObject("1:0")),
    ]);
    for (const sender of senders) await sender.send(old);
    await runAll();
    for (const sender of senders) {
      expect((await historyOf(sender)).map((each) => each.slice(2))).toEqual(["granted", "settled"]);
    }
    await expectEpochsWhole();
  });

  it("send while a shard is being closed, and what it has taken stands before its end", async () => {
    await ledgerObject("1:0").agree("1:0", 1);
    await ledgerObject("1:0").agree("1:0", 2);
    const place = { shard: "1:0", shards: 1 };
    let isClosed = false;
    const closed = Promise.all([1, 2].map(() => ledgerObject("1:0").close(place)));
    void closed.then(() => {
      isClosed = true;
    });
    const sent: { stream: string; answer: Promise<{ kind: string }> }[] = [];
    for (let waves = 0, behind = 0; waves < 500 && behind < 2; waves++) {
      const delivery = await makeDelivery(2);
      sent.push({ stream: delivery.stream, answer: ledgerObject("1:0").append(place, delivery) });
      await scheduler.wait(1);
      if (isClosed) behind += 1;
    }
    expect(new Set(await closed).size).toBe(1);
    await runAll();
    await expectEpochsWhole();
    const streams = new Set((await readLines("1:0")).map(({ stream }) => stream));
    const kinds = await Promise.all(sent.map(async ({ answer }) => (await answer).kind));
    expect(new Set(kinds)).toEqual(new Set(["held", "closed"]));
    for (const [i, { stream }] of sent.entries()) expect(streams.has(stream)).toBe(kinds[i] === "held");
  });

  it("learn of each other: the old one is told to go to the new epoch, and says that its number is another one", async () => {
    const old = isolateWith(2);
    const sender = new Sender().grant();
    await sender.send(old);
    await ledgerObject("1:0").agree("1:0", 4);
    // Its shard is still open, so its entry may come there.
    expect(await sender.settle().send(old)).toBe("held");
    await runAll();
    const late = new Sender().grant();
    expect(await late.send(old)).toBe("held");
    await runAll();
    expect(await historyOf(sender)).toEqual(["1 granted", "1 settled"]);
    expect(await historyOf(late)).toEqual(["2 granted"]);
    expect(linesOf("ledger-shards-changed")).toEqual([{ event: "ledger-shards-changed", from: 4, to: 2 }]);
  });
});

describe("the first shard", () => {
  it("rings at once for an epoch that was opened, and is done when all of its shards are open", async () => {
    const readAlarm = (): Promise<number | null> =>
      runInDurableObject(ledgerObject("1:0"), (_object, { storage }) => storage.getAlarm());
    await ledgerObject("1:0").agree("1:0", 2);
    expect(await readAlarm()).toBeNull();
    await ledgerObject("1:0").agree("1:0", 4);
    expect(await readAlarm()).not.toBeNull();
    await runAll();
    const tell = vi.spyOn(OwnStream.prototype, "tell");
    const open = vi.spyOn(LedgerObjectShell.prototype, "open");
    await runRound(ledgerObject("1:0"));
    expect([tell.mock.calls.length, open.mock.calls.length]).toEqual([0, 0]);
    await expectEpochsWhole();
  });

  it("goes on with the newest epoch where another is opened meanwhile", async () => {
    await ledgerObject("1:0").agree("1:0", 1);
    await ledgerObject("1:0").agree("1:0", 2);
    const fault = faultMethod("open", async (call) => {
      await ledgerObject("1:0").agree("1:0", 4);
      return call();
    });
    await runRound(ledgerObject("1:0"));
    fault.mend();
    await runAll();
    await expectEpochsWhole();
    await runInDurableObject(ledgerObject("1:0"), (object: LedgerObject) => {
      expect(object.epochs()).toEqual([1, 2, 4]);
    });
  });
});
