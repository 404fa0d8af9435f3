// Aim: a receiver learns of unknown outcomes, their ends and contradictions from a signed field, without reading every line.
import { parseList } from "structured-headers";
import { describe, expect, it } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { BUNDLE_LINES, EVENTS_PER_PUSH_MAX } from "../../../src/ledger/bounds.ts";
import { placeOf } from "../../../src/ledger/epochs.ts";
import { readEvents } from "../../../src/ledger/shard/events.ts";
import type { Delivery } from "../../../src/ledger/shard/sequencer.ts";
import { advanceClock, MINUTE, settleDown, stopClock, until } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import { ledgerObject, makeDelivery, withLedgerParts } from "../support/ledger.ts";
import { grantAt, keyObject, keyring, makeOperation, readRecord } from "../support/object.ts";
import { accept, expectSigned, makeReceiver, type Sent } from "../support/receiver.ts";

type Told = { event: string; index: number };

/** What the field says, read by somebody else's parser. */
function eventsIn({ headers }: Sent): Told[] {
  const field = headers.get("Ledger-Events");
  if (field === null) return [];
  return parseList(field).map(([token, parameters]) => ({
    event: String(token),
    index: Number(parameters.get("index")),
  }));
}

function linesIn({ body }: Sent): { type: string; index: number }[] {
  return body
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** Entries of one stream of these types, as far as the ledger's objects look at them. */
async function deliver(types: readonly string[]): Promise<Delivery> {
  const made = await makeDelivery(types.length);
  let prev = made.prev;
  const lines: Delivery["lines"][number][] = [];
  for (const [i, { text }] of made.lines.entries()) {
    const [type, code, actor = "executor"] = (types[i] ?? "").split(" ");
    const changed = JSON.stringify({ ...JSON.parse(text), prev, type, actor, code });
    prev = await sha256Hex(encodeUtf8(changed));
    lines.push({ text: changed, hash: prev });
  }
  return { ...made, lines };
}

describe("a receiver", () => {
  it.each([
    ["an unknown outcome", ["granted", "unknown timeout"], [{ event: "outcome.unknown", index: 1 }]],
    [
      "the end of one",
      ["granted", "unknown timeout", "settled resolved"],
      [
        { event: "outcome.unknown", index: 1 },
        { event: "outcome.resolved", index: 2 },
      ],
    ],
    ["a release out of doubt", ["released resolved"], [{ event: "outcome.resolved", index: 0 }]],
    ["a probe's word", ["settled - probe"], [{ event: "outcome.resolved", index: 0 }]],
    ["operators' word", ["released - operator:op1"], [{ event: "outcome.resolved", index: 0 }]],
    ["a contradiction", ["settled", "contradiction"], [{ event: "contradiction", index: 1 }]],
    ["reports that contradict each other", ["effect-contradiction"], [{ event: "contradiction", index: 0 }]],
    ["nothing where all is well", ["granted", "settled", "observed replayed", "late", "purged"], []],
  ])("is told of %s, signed", async (_case, types, events) => {
    stopClock();
    const shard = `events ${JSON.stringify(types)}`;
    const receiver = makeReceiver(accept);
    await withLedgerParts(ledgerObject(shard), receiver, async (object) => {
      await object.append({ shard: "1:0", shards: 4 }, await deliver(types));
      await object.alarm();
    });
    const [sent] = receiver.sent;
    if (sent === undefined) throw new Error("nothing was sent");
    expect(eventsIn(sent)).toEqual(events);
    expect(sent.headers.has("Ledger-Events")).toBe(events.length > 0);
    await expectSigned(sent, "1:0");
  });

  it("gets more events than one field takes in several deliveries, each line and each event once", async () => {
    stopClock();
    const receiver = makeReceiver((number) =>
      number === 2 ? new Response(null, { status: 500 }) : accept(),
    );
    const count = 2 * EVENTS_PER_PUSH_MAX + 3;
    await withLedgerParts(ledgerObject("many events"), receiver, async (object) => {
      const delivery = await deliver(new Array(count).fill("unknown timeout"));
      await object.append({ shard: "1:0", shards: 4 }, delivery);
      for (let rounds = 0; rounds < 4; rounds++) {
        await object.alarm();
        advanceClock(2 * MINUTE);
      }
    });
    expect(count).toBeLessThan(BUNDLE_LINES);
    const [first, refused, again, last] = receiver.sent;
    expect(receiver.sent.map((sent) => eventsIn(sent).length)).toEqual([64, 64, 64, 3]);
    expect([again?.body, again?.headers.get("Ledger-Events")]).toEqual([
      refused?.body,
      refused?.headers.get("Ledger-Events"),
    ]);
    const taken = [first, again, last].filter((sent) => sent !== undefined);
    const indexes = Array.from({ length: count }, (_, i) => i);
    expect(taken.flatMap(linesIn).map(({ index }) => index)).toEqual(indexes);
    expect(taken.flatMap(eventsIn).map(({ index }) => index)).toEqual(indexes);
    for (const sent of receiver.sent) {
      await expectSigned(sent, "1:0");
      expect(sent.headers.get("Ledger-Events")?.length).toBeLessThan(4_096);
    }
  });

  it("hears from a real key what became of it", async () => {
    stopClock();
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const { token, effect } = await grantAt(stub, operation);
    const answer = (digest: string) => ({ kind: "not-kept" as const, status: 201, size: 1, digest });
    await stub.report("worker", token, "timeout");
    await stub.settle("worker", { token, effect }, answer("a".repeat(64)), operation);
    await stub.settle("worker", { token, effect }, answer("b".repeat(64)), operation);
    await until(async () => {
      await settleDown();
      return (await readDelivered(stub)) === 4;
    });
    const { shard } = placeOf(await keyring.stream(operation.name, (await readRecord(stub)).inc), [4]);
    const receiver = makeReceiver(accept);
    await withLedgerParts(ledgerObject(shard), receiver, async (object) => object.alarm());
    const told = receiver.sent.flatMap((sent) =>
      eventsIn(sent).map(({ event, index }) => [
        event,
        linesIn(sent).find((line) => line.index === index)?.type,
      ]),
    );
    expect(told).toEqual([
      ["outcome.unknown", "unknown"],
      ["outcome.resolved", "settled"],
      ["contradiction", "contradiction"],
    ]);
  });
});

async function readDelivered(stub: ReturnType<typeof keyObject>): Promise<number> {
  const look = await stub.look(0);
  return look.kind === "found" ? (look.status.ledger?.delivered ?? 0) : 0;
}

describe("the lines of an earlier try", () => {
  it("stay together, however many events they have", () => {
    const line = (index: number) => JSON.stringify({ index, type: "unknown", code: "timeout" });
    const lines = Array.from({ length: EVENTS_PER_PUSH_MAX + 1 }, (_, index) => line(index));
    expect(readEvents(lines, true).lines).toHaveLength(EVENTS_PER_PUSH_MAX + 1);
    expect(readEvents(lines, false).lines).toHaveLength(EVENTS_PER_PUSH_MAX);
  });
});
