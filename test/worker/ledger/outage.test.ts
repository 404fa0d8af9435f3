import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { APPEND_TIMEOUT_MS, D1_TIMEOUT_MS } from "../../../src/ledger/bounds.ts";
import { LedgerObjectShell } from "../../../src/ledger/shard/ledger-object.ts";
import { advanceClock, MINUTE, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, makeKey, operationOf, post } from "../support/gateway.ts";
import { makeDelivery, publish, readAllLines, runRounds, typesByStream } from "../support/ledger.ts";
import { keyObject, nameOf, runAlarm } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const KEYS = 20;
const LIMITS = [APPEND_TIMEOUT_MS, D1_TIMEOUT_MS];
/** Beyond this a request would have waited for the ledger. */
const ANSWER_MS_MAX = 5_000;

/** The clock stands, and the limits on how long a call to the ledger or its database may take are over soon. */
function stopClockWithShortLimits(): void {
  stopClock();
  const wait = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms = 0) =>
    wait(act, LIMITS.includes(ms) ? 20 : ms)) as typeof setTimeout);
}

type Fault = { mend: () => void };

const never = (): Promise<never> => new Promise(() => undefined);
const lost = (): Promise<never> => Promise.reject(new Error("Network connection lost."));

/** Every write to D1 goes wrong until it is mended. */
function faultDatabase(fault: (call: () => Promise<unknown>) => Promise<unknown>): Fault {
  const prototype: D1Database = Object.getPrototypeOf(env.DB);
  const batch = prototype.batch;
  const spy = vi.spyOn(prototype, "batch").mockImplementation(function (this: D1Database, statements) {
    return fault(() => batch.call(this, statements)) as ReturnType<D1Database["batch"]>;
  });
  return { mend: () => spy.mockRestore() };
}

/** Every append goes wrong until it is mended. */
function faultObjects(fault: (call: () => Promise<unknown>) => Promise<unknown>): Fault {
  const append = LedgerObjectShell.prototype.append;
  const spy = vi.spyOn(LedgerObjectShell.prototype, "append").mockImplementation(function (
    this: LedgerObjectShell<unknown>,
    place,
    delivery,
  ) {
    return fault(() => append.call(this, place, delivery)) as ReturnType<typeof append>;
  });
  return { mend: () => spy.mockRestore() };
}

const FAULTS: [string, (call: () => Promise<unknown>) => Promise<unknown>][] = [
  ["fails", lost],
  ["hangs", never],
  ["commits and loses its word", async (call) => call().then(lost)],
];

/** Keys, each sent twice; all answers are as usual, and none waited. Gives the operations. */
async function sendPairs(count: number): Promise<string[]> {
  const operations: string[] = [];
  for (let i = 0; i < count; i++) {
    const key = makeKey();
    const begun = performance.now();
    const first = await post("/pay", key);
    const body = await expectAnswer(first, "executed");
    expect(await expectAnswer(await post("/pay", key), "replayed")).toBe(body);
    expect(performance.now() - begun).toBeLessThan(ANSWER_MS_MAX);
    operations.push(operationOf(first));
  }
  return operations;
}

/** What the alarms would do in the minutes after the fault. */
async function catchUp(operations: readonly string[]): Promise<void> {
  for (let rounds = 0; rounds < 3; rounds++) {
    advanceClock(15 * MINUTE);
    for (const operation of operations) await runAlarm(keyObject(operation));
    await runRounds();
  }
}

/** Streams that the log has since `before`, by the types of their entries in order. */
async function readNew(before: ReadonlySet<string>): Promise<string[][]> {
  const streams = typesByStream(await readAllLines());
  return [...streams].filter(([stream]) => !before.has(stream)).map(([, types]) => types);
}

async function knownStreams(): Promise<Set<string>> {
  await runRounds();
  return new Set(typesByStream(await readAllLines()).keys());
}

afterEach(() => vi.restoreAllMocks());

describe.each([
  ["D1", faultDatabase],
  ["the ledger object", faultObjects],
] as const)("while %s", (what, inject) => {
  it.each(FAULTS)(
    "FR-068 %s, requests are answered as ever, and afterwards every entry is there once",
    async (_name, fault) => {
      stopClockWithShortLimits();
      const origin = mockOrigin();
      const before = await knownStreams();
      let hits = 0;
      const broken = inject((call) => {
        hits += 1;
        return fault(call);
      });
      const operations = await sendPairs(KEYS);
      await settleDown();
      await runRounds();
      // Keys fall on shards by chance: one at least has something to publish.
      expect(hits).toBeGreaterThanOrEqual(what === "D1" ? 1 : KEYS);
      broken.mend();
      await catchUp(operations);
      expect(origin.count).toBe(KEYS);
      expect(await readNew(before)).toEqual(
        Array.from({ length: KEYS }, () => ["granted", "settled", "observed"]),
      );
    },
  );
});

describe("FR-069 a flush whose word was lost", () => {
  it("does not stand in the way of what comes behind it", async () => {
    stopClock();
    mockOrigin();
    const before = await knownStreams();
    const broken = faultDatabase(async (call) => call().then(lost));
    const first = await sendPairs(5);
    await settleDown();
    await runRounds();
    broken.mend();
    const second = await sendPairs(5);
    await catchUp([...first, ...second]);
    expect(await readNew(before)).toEqual(
      Array.from({ length: 10 }, () => ["granted", "settled", "observed"]),
    );
  });

  it("with the same entries twice in one batch holds them once", async () => {
    stopClock();
    const delivery = await makeDelivery(3);
    const stub = env.LEDGERS.getByName("1:0");
    const place = { shard: "1:0", shards: 4 };
    await Promise.all([stub.append(place, delivery), stub.append(place, delivery)]);
    await runRounds();
    const seqs = (await readAllLines())
      .filter(({ stream }) => stream === delivery.stream)
      .map(({ seq }) => seq);
    expect(seqs).toEqual([1, 2, 3]);
  });
});

describe("FR-071 what is read back", () => {
  it.each(["0", "007", "1e3", "true", "null"])(
    "of key %s is a stream of its own, with exact numbers",
    async (key) => {
      stopClock();
      mockOrigin(() => new Response('{"id":1234567824702058496}', { status: 201 }));
      const before = await knownStreams();
      const at = Date.now();
      const answer = await post("/pay", key);
      await expectAnswer(answer, "executed");
      await publish(operationOf(answer));
      const lines = (await readAllLines()).filter(({ stream }) => !before.has(stream));
      expect(lines.map(({ type, seq }) => [type, seq])).toEqual([
        ["granted", 1],
        ["settled", 2],
      ]);
      for (const line of lines) {
        expect(line).toMatchObject({ at, v: 1, attempt: 1, stream: expect.stringMatching(/^[0-9a-f]{64}$/) });
      }
      const row = await env.DB.prepare("SELECT * FROM effects WHERE stream = ?")
        .bind(lines[0]?.stream ?? "")
        .first();
      expect(row).toEqual({
        effect_id: lines[0]?.effect_id,
        stream: lines[0]?.stream,
        reported: 0,
        operation: await nameOf("pay", key),
        shard: lines[0]?.shard,
        attempt: 1,
        capability: "origin.request",
        state: "committed",
        target: null,
        cost: null,
        digest: null,
        code: null,
        intent_at: at,
        changed_at: at,
        flagged: 0,
        version: 2,
      });
    },
  );
});

describe("a finished key", () => {
  it("ends its stream in the ledger before it is forgotten, and storage is empty then", async () => {
    stopClock();
    mockOrigin();
    const before = await knownStreams();
    const operation = operationOf(await post("/short", makeKey()));
    await settleDown();
    advanceClock(MINUTE);
    await runAlarm(keyObject(operation));
    await runRounds();
    expect(await readNew(before)).toEqual([["granted", "settled", "purged"]]);
    await runInDurableObject(keyObject(operation), (_object, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
    });
  });
});
