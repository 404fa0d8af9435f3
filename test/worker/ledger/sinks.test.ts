import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { advanceClock, MINUTE, stopClock } from "../support/clock.ts";
import { ledgerObject, makeDelivery, withLedgerParts } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { accept, expectSigned, makeReceiver, type Sent, URL_OF_RECEIVER } from "../support/receiver.ts";

const linesIn = (sent: readonly Sent[]): number[] =>
  sent.flatMap(({ body }) => body.split("\n").slice(0, -1)).map((line) => JSON.parse(line).index);

describe("a receiver", () => {
  it("gets every entry in order, signed, each delivery naming the one before", async () => {
    stopClock();
    const place = { shard: "1:0", shards: 4 };
    const receiver = makeReceiver(accept);
    await withLedgerParts(ledgerObject("1:0"), receiver, async (object) => {
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      await object.alarm();
    });
    const { sent } = receiver;
    expect(linesIn(sent)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    expect(sent.map(({ headers }) => headers.get("Ledger-Sequence"))).toEqual(["0", "1"]);
    expect(sent.map(({ headers }) => headers.get("Ledger-Previous"))).toEqual([
      "0".repeat(64),
      await sha256Hex(encodeUtf8(sent[0]?.body ?? "")),
    ]);
    for (const each of sent) {
      expect(each).toMatchObject({ url: URL_OF_RECEIVER, redirect: "manual" });
      await expectSigned(each, "1:0");
    }
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ["refuses", () => new Response(null, { status: 500 })],
    [
      "sends elsewhere",
      () => new Response(null, { status: 307, headers: { Location: "https://elsewhere.example" } }),
    ],
    ["does not answer", () => Promise.reject(new Error("timed out"))],
  ])("that %s gets the same bytes again after a pause, and the rest behind them", async (_case, refuse) => {
    stopClock();
    const stub = ledgerObject("1:1");
    const place = { shard: "1:1", shards: 4 };
    const receiver = makeReceiver((number) => (number <= 2 ? refuse() : accept()));
    await withLedgerParts(stub, receiver, async (object) => {
      await object.append(place, await makeDelivery(2));
      await object.alarm();
      await object.append(place, await makeDelivery(3));
      await object.alarm();
      expect(receiver.sent.length).toBe(1);
      for (let rounds = 0; rounds < 3; rounds++) {
        advanceClock(2 * MINUTE);
        await object.alarm();
      }
    });
    const [first, second, third, ...rest] = receiver.sent;
    expect([second, third].map((each) => each?.body)).toEqual([first?.body, first?.body]);
    expect(second?.headers.get("Ledger-Sequence")).toBe(first?.headers.get("Ledger-Sequence"));
    expect(linesIn(rest)).toHaveLength(3);
    expect(linesOf("ledger-webhook-failed").length).toBe(2);
  });

  it("that never answers leaves D1 as it should be, and keeps its lines here", async () => {
    stopClock();
    const stub = ledgerObject("1:2");
    const receiver = makeReceiver(() => new Response(null, { status: 503 }));
    await withLedgerParts(stub, receiver, async (object, storage) => {
      for (let i = 0; i < 6; i++) await object.append({ shard: "1:2", shards: 4 }, await makeDelivery(100));
      await object.alarm();
      expect((await object.checkpoint("1:2")).size).toBe(600);
      const { n } = storage.sql.exec<{ n: number }>("SELECT sum(count) AS n FROM staged").one();
      expect(n).toBe(600);
    });
  });
});

describe("the sink stdout", () => {
  it("prints every stored line once, and without D1 there are no rows", async () => {
    stopClock();
    const stub = ledgerObject("1:3");
    const printed: string[] = [];
    const parts = { print: (line: string) => void printed.push(line), database: null };
    await withLedgerParts(stub, parts, async (object) => {
      await object.append({ shard: "1:3", shards: 4 }, await makeDelivery(3));
      await object.alarm();
      await object.append({ shard: "1:3", shards: 4 }, await makeDelivery(2));
      advanceClock(MINUTE);
      await object.alarm();
      await object.alarm();
      expect((await object.checkpoint("1:3")).size).toBe(5);
    });
    expect(printed.map((line) => JSON.parse(line).index)).toEqual([0, 1, 2, 3, 4]);
    await runInDurableObject(stub, (_object, { storage }) => {
      expect(storage.kv.get("d1")).toBeUndefined();
    });
  });
});
