import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { FLUSH_RETRY_MS } from "../../../src/core/limits.ts";
import type { Operation } from "../../../src/core/ports.ts";
import type { Stream } from "../../../src/core/record.ts";
import type { Env } from "../../../src/env.ts";
import type { KeyObjectShell } from "../../../src/key/key-object.ts";
import { wire } from "../../../src/wiring.ts";
import { advanceClock, DAY, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import {
  beginAt,
  evict,
  expectNoTraces,
  keyObject,
  makeLedger,
  makeOperation,
  recordIn,
  submitTo,
  withParts,
  withRoutes,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const WHOLE_LIFE_MS = 15 * SECOND;

const hasEnd = ({ entries }: Stream): boolean => entries.at(-1)?.type === "purged";

describe("a record whose time is over", () => {
  it("stays until the ledger has taken its last entry", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("short", makeKey());
    const stub = keyObject(operation.name);
    let isUp = false;
    const ledger = makeLedger(() => isUp);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      for (const pause of [WHOLE_LIFE_MS, DAY, DAY]) {
        advanceClock(pause);
        await object.alarm();
        expect(recordIn(storage).state).toBe("settled");
      }
      expect(await storage.getAlarm()).toBeGreaterThan(Date.now());
      isUp = true;
      await object.alarm();
    });
    await expectNoTraces(stub);
    expect(ledger.types.slice(-3)).toEqual(["granted", "settled", "purged"]);
  });

  it("stays while only the entry of its own end is not taken, and says the same again", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("short", makeKey());
    const stub = keyObject(operation.name);
    let isUp = false;
    const ledger = makeLedger((types) => isUp || !types.includes("purged"));
    const sent = vi.spyOn(ledger, "append");
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      advanceClock(WHOLE_LIFE_MS);
      await object.alarm();
      expect(recordIn(storage).state).toBe("settled");
      advanceClock(DAY);
      isUp = true;
      await object.alarm();
    });
    await expectNoTraces(stub);
    const ends = sent.mock.calls
      .map(([, stream]) => stream.entries)
      .filter(([entry]) => entry?.type === "purged");
    expect(ends).toHaveLength(2);
    expect(ends[1]).toEqual(ends[0]);
  });

  it("stays ended once its end was told, though the clock goes back: nothing takes its last entry's place", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("short", makeKey());
    const stub = keyObject(operation.name);
    const ledger = makeLedger((types) => !types.includes("purged"));
    const sent = vi.spyOn(ledger, "append");
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      const first = recordIn(storage);
      advanceClock(WHOLE_LIFE_MS);
      await object.alarm();
      advanceClock(-WHOLE_LIFE_MS);
      const again = await submitTo(object, { ...operation, nonce: crypto.randomUUID() });
      expect(again.kind).toBe("executed");
      expect(recordIn(storage)).toMatchObject({ n: 1, state: "settled" });
      expect(recordIn(storage)).not.toMatchObject({ inc: "inc" in first ? first.inc : "" });
      await settleDown();
    });
    const [told, ...later] = sent.mock.calls.map(([, stream]) => stream).filter(hasEnd);
    expect(told).toBeDefined();
    for (const stream of later) expect(stream).toEqual(told);
  });

  it("goes although it was stopped between its last entry and its end, and what it had told before is told again", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("short", makeKey());
    const stub = keyObject(operation.name);
    const wiring = await wire(env);
    if (wiring.kind === "misconfigured") throw new Error("misconfigured");
    const { ledger } = wiring.keyParts;
    // The log takes the last entry, and its word is lost with the object's memory of what was acknowledged before.
    const append: typeof ledger.append = async (name, stream) => {
      const held = await ledger.append(name, stream);
      return stream.entries.at(-1)?.type === "purged" ? { kind: "failed" } : held;
    };
    await withParts(stub, { ledger: { isKept: true, append } }, async (object, { storage }) => {
      await submitTo(object, operation);
      advanceClock(WHOLE_LIFE_MS);
      await object.alarm();
      expect(recordIn(storage).state).toBe("settled");
    });
    await withParts(stub, {}, (object) => object.alarm());
    await expectNoTraces(stub);
  });

  it("makes way for a new life whose outbox carries what the old one has to tell", async () => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    const operation = await makeOperation("short", key);
    const stub = keyObject(operation.name);
    let isUp = false;
    const ledger = makeLedger(() => isUp);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      advanceClock(WHOLE_LIFE_MS);
      await submitTo(object, await makeOperation("short", key));
      const { outbox } = recordIn(storage);
      expect(outbox.map(({ entries }) => entries.map(({ type }) => type))).toEqual([
        ["granted", "settled", "purged"],
        ["granted", "settled"],
      ]);
      isUp = true;
      ledger.types.length = 0;
      advanceClock(WHOLE_LIFE_MS);
      await object.alarm();
    });
    expect(ledger.types).toEqual(["granted", "settled", "purged", "granted", "settled", "purged"]);
    await expectNoTraces(stub);
    expect(origin.count).toBe(2);
  });

  it("is not told twice once a new life has its place: the ledger may have forgotten it by then", async () => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    const operation = await makeOperation("short", key);
    const stub = keyObject(operation.name);
    const ledger = makeLedger(() => true);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      await settleDown();
      advanceClock(WHOLE_LIFE_MS);
      await submitTo(object, await makeOperation("short", key));
      await settleDown();
      const { outbox, inc } = recordIn(storage);
      expect(outbox.map((stream) => stream.inc)).toEqual([inc]);
    });
    await evict(stub);
    ledger.types.length = 0;
    await withParts(stub, { ledger }, async (object) => {
      advanceClock(WHOLE_LIFE_MS);
      await object.alarm();
    });
    expect(ledger.types.filter((type) => type === "purged")).toEqual(["purged"]);
    await expectNoTraces(stub);
  });

  it("is not wiped under a life that began while the ledger was being told of its end", async () => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    const operation = await makeOperation("short", key);
    const stub = keyObject(operation.name);
    let begin: (() => Promise<unknown>) | null = null;
    const ledger = makeLedger(() => true);
    const append = ledger.append.bind(ledger);
    ledger.append = async (name, stream) => {
      if (stream.entries.some(({ type }) => type === "purged")) {
        const now = begin;
        begin = null;
        await now?.();
      }
      return append(name, stream);
    };
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      advanceClock(WHOLE_LIFE_MS);
      const again = await makeOperation("short", key);
      begin = () => submitTo(object, again);
      await object.alarm();
      expect(recordIn(storage).nonce).toBe(again.nonce);
    });
    expect(origin.count).toBe(2);
  });
});

describe("a ledger that is down", () => {
  it("never delays nor fails a request", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    const operation = await makeOperation("pay", key);
    const ledger = makeLedger(() => false);
    await withParts(keyObject(operation.name), { ledger }, async (object) => {
      expect((await submitTo(object, operation)).kind).toBe("executed");
      expect((await submitTo(object, await makeOperation("pay", key))).kind).toBe("replayed");
    });
    expect(origin.count).toBe(1);
  });

  it("keeps entries in the outbox until it is up again", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    let isUp = false;
    const ledger = makeLedger(() => isUp);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      advanceClock(31 * SECOND);
      await object.alarm();
      const { outbox } = recordIn(storage);
      expect(outbox.flatMap(({ entries }) => entries.map(({ type }) => type))).toEqual([
        "granted",
        "settled",
      ]);
      expect(await storage.getAlarm()).toBe(Date.now() + FLUSH_RETRY_MS);
      isUp = true;
      ledger.types.length = 0;
      await object.alarm();
      expect(ledger.types).toEqual(["granted", "settled"]);
      ledger.types.length = 0;
      await object.alarm();
      expect(ledger.types).toEqual([]);
    });
  });
});

/** Far more than there is to deliver: beyond it the ledger takes nothing, so that a delivery without end is seen. */
const DELIVERIES_MAX = 20;

describe("a lease that ends when the ledger has its claim already", () => {
  it.each<[string, (object: KeyObjectShell<Env>, again: Operation) => Promise<unknown>, string[]]>([
    ["the alarm", (object) => object.alarm(), []],
    ["a retry", (object, again) => beginAt(object, again), ["observed"]],
  ])("is stored as unknown by %s, and told once", async (_case, use, more) => {
    stopClock();
    const key = makeKey();
    const operation = await makeOperation("worker", key);
    const again = await makeOperation("worker", key);
    const ledger = makeLedger(() => ledger.types.length < DELIVERIES_MAX);
    await withParts(keyObject(operation.name), { ledger }, async (object, { storage }) => {
      await beginAt(object, operation);
      await settleDown();
      expect(ledger.types).toEqual([]);
      await object.alarm();
      expect(ledger.types).toEqual(["granted"]);
      advanceClock(31 * SECOND);
      await use(object, again);
      expect(recordIn(storage)).toMatchObject({ state: "unknown", reason: "lease-over" });
      await settleDown();
      expect(ledger.types).toEqual(["granted", "unknown", ...more]);
    });
  });
});

describe("a stored record", () => {
  it("is judged by the terms it was begun under, whatever the route says since", async () => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    const operation = await makeOperation("short", key);
    const stub = keyObject(operation.name);
    await withParts(stub, {}, (object) => submitTo(object, operation));
    await withRoutes(stub, { windowMs: DAY }, async (object) => {
      const retry = async () => submitTo(object, await makeOperation("short", key));
      advanceClock(9 * SECOND);
      expect((await retry()).kind).toBe("replayed");
      advanceClock(SECOND);
      expect(await retry()).toMatchObject({ kind: "refused", problem: { slug: "key-expired" } });
    });
    expect(origin.count).toBe(1);
  });

  it("refuses its key where this version has no such route", async () => {
    const origin = mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    await withParts(keyObject(operation.name), { route: () => null }, async (object) => {
      const begun = await submitTo(object, operation);
      expect(begun).toMatchObject({ kind: "refused", problem: { slug: "store-unavailable" } });
    });
    expect(origin.count).toBe(0);
  });
});
