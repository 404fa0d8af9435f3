// Aim: what is noted of callers is never in anybody's way, and is lost only where that is said.
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import {
  FLUSH_RETRY_MS,
  OBSERVED_OUTBOX_MAX,
  OBSERVED_WAITING_MAX,
  OBSERVER_PATIENCE_MS,
} from "../../../src/core/limits.ts";
import type { KeyPort, LedgerPort } from "../../../src/core/ports.ts";
import { type LiveRecord, undelivered } from "../../../src/core/record.ts";
import { IsolateObserver } from "../../../src/gateway/audit/observer.ts";
import { noLedger } from "../../../src/ledger/none.ts";
import { advanceClock, DAY, MINUTE, SECOND, settleDown, stopClock, until } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { linesOf } from "../support/log.ts";
import {
  beginAt,
  countWritesIn,
  evict,
  grantAt,
  keyObject,
  makeLedger,
  makeOperation,
  recordIn,
  submitTo,
  withParts,
} from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

const isObserved = ({ type }: { type: string }): boolean => type === "observed";
const observedIn = (record: LiveRecord): number =>
  record.outbox.flatMap(({ entries }) => entries.filter(isObserved)).length;

/** Storage refuses every record that has an observation in its outbox. */
function refuseObservations(storage: DurableObjectStorage): { mend: () => void } {
  const put = storage.kv.put.bind(storage.kv);
  const spy = vi.spyOn(storage.kv, "put").mockImplementation((key, value) => {
    if (key === "record" && observedIn(value as LiveRecord) > 0) throw new Error("disk full");
    put(key, value);
  });
  return { mend: () => spy.mockRestore() };
}

const down = (): LedgerPort => makeLedger(() => false);

describe("storage that refuses an observation", () => {
  it("makes a durable refusal or replay a 503, and nothing runs again", async () => {
    const origin = mockOrigin();
    const operation = await makeOperation("durable", makeKey());
    const again = () => makeOperation("durable", "", { name: operation.name });
    await withParts(keyObject(operation.name), {}, async (object, { storage }) => {
      expect(await submitTo(object, operation)).toMatchObject({ kind: "executed" });
      const fault = refuseObservations(storage);
      for (const changes of [{}, { fp: "another" }]) {
        const refused = await submitTo(object, { ...(await again()), ...changes });
        expect(refused).toMatchObject({ kind: "refused", problem: { slug: "store-unavailable" } });
      }
      expect(await object.observe(["not-authorized"])).toBe(false);
      fault.mend();
      expect(await submitTo(object, await again())).toMatchObject({ kind: "replayed" });
      expect(observedIn(recordIn(storage))).toBe(1);
    });
    expect(origin.count).toBe(1);
  });

  it("is reported with audit eager, and the caller has the answer", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    await withParts(keyObject(operation.name), {}, async (object, { storage }) => {
      await submitTo(object, operation);
      refuseObservations(storage);
      const again = await makeOperation("pay", "", { name: operation.name });
      expect(await submitTo(object, again)).toMatchObject({ kind: "replayed" });
      await until(() => linesOf("observations-dropped").length === 1);
      expect(linesOf("observations-dropped")).toMatchObject([{ operation: operation.name, count: 1 }]);
    });
  });
});

describe("a ledger that takes nothing", () => {
  it("leaves room for changes of state: durable observations are refused before", async () => {
    mockOrigin();
    const operation = await makeOperation("durable", makeKey());
    await withParts(keyObject(operation.name), { ledger: down() }, async (object, { storage }) => {
      await submitTo(object, operation);
      const room = OBSERVED_OUTBOX_MAX - undelivered(recordIn(storage));
      expect(await object.observe(new Array(room).fill("key-reused"))).toBe(true);
      const before = recordIn(storage);
      const refused = await submitTo(object, await makeOperation("durable", "", { name: operation.name }));
      expect(refused).toMatchObject({ kind: "refused", problem: { slug: "store-unavailable" } });
      expect(recordIn(storage)).toEqual(before);
      expect(undelivered(before)).toBe(OBSERVED_OUTBOX_MAX);
    });
  });

  it.each([FLUSH_RETRY_MS, -DAY])(
    "drops eager observations beyond that, says so once a minute, and gives every answer (%i)",
    async (pauseMs) => {
      stopClock();
      mockOrigin();
      const operation = await makeOperation("pay", makeKey());
      await withParts(keyObject(operation.name), { ledger: down() }, async (object, { storage }) => {
        await submitTo(object, operation);
        const replay = async () => submitTo(object, await makeOperation("pay", "", { name: operation.name }));
        for (let left = OBSERVED_OUTBOX_MAX; left > 0; left -= OBSERVED_WAITING_MAX) {
          await object.observe(new Array(OBSERVED_WAITING_MAX).fill("key-reused"));
          await settleDown();
        }
        await until(() => linesOf("observations-dropped").length === 1);
        for (let again = 0; again < 5; again++) expect(await replay()).toMatchObject({ kind: "replayed" });
        await settleDown();
        expect(linesOf("observations-dropped")).toHaveLength(1);
        expect(undelivered(recordIn(storage))).toBeLessThanOrEqual(OBSERVED_OUTBOX_MAX);
        // A clock that goes back makes it no longer.
        advanceClock(pauseMs);
        await replay();
        await until(
          () => linesOf("observations-dropped").length === 2 || observedIn(recordIn(storage)) > 400,
        );
        expect(linesOf("observations-dropped").at(-1)).toMatchObject({ count: 5 });
      });
    },
  );

  it("has them in the outbox, and gets them from the alarm once it takes entries again", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    let isUp = true;
    const ledger = makeLedger(() => isUp);
    await withParts(keyObject(operation.name), { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      await settleDown();
      isUp = false;
      await submitTo(object, await makeOperation("pay", "", { name: operation.name }));
      await until(() => observedIn(recordIn(storage)) === 1);
      await settleDown();
      const alarm = await storage.getAlarm();
      expect(alarm).toBeLessThanOrEqual(Date.now() + 2 * MINUTE);
      isUp = true;
      ledger.types.length = 0;
      advanceClock(2 * MINUTE);
      await object.alarm();
      expect(ledger.types).toContain("observed");
    });
  });
});

describe("an object that dies with an observation in its outbox", () => {
  it("delivers it when it is used again", async () => {
    stopClock();
    mockOrigin();
    const operation = await makeOperation("durable", makeKey());
    const stub = keyObject(operation.name);
    await withParts(stub, { ledger: down() }, async (object) => {
      await submitTo(object, operation);
      await submitTo(object, await makeOperation("durable", "", { name: operation.name }));
    });
    await evict(stub);
    await stub.look(0);
    const ledger = makeLedger(() => true);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + MINUTE);
      await object.alarm();
      await object.alarm();
    });
    expect(ledger.types).toEqual(["granted", "settled", "observed"]);
  });
});

describe("an observation that waits in memory", () => {
  /** Nothing that is to go on after an answer goes on. */
  function holdBack(): void {
    const wait = scheduler.wait.bind(scheduler);
    vi.spyOn(scheduler, "wait").mockImplementation((ms, options) =>
      ms === 0 ? new Promise(() => undefined) : wait(ms, options),
    );
  }

  it("is written before the change that follows it, in the same row", async () => {
    holdBack();
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    const ledger = makeLedger(() => true);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      const first = submitTo(object, operation);
      await origin.arrived(1);
      await submitTo(object, await makeOperation("pay", "", { name: operation.name }));
      const writes = countWritesIn(storage);
      gate.open();
      await first;
      await settleDown();
      expect(ledger.types).toEqual(["granted", "observed", "settled"]);
      // The answer, and the alarm.
      expect(writes.rows).toBeLessThanOrEqual(2);
    });
  });

  it("is one of many that share a row", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey());
    const stub = keyObject(operation.name);
    const ledger = makeLedger(() => true);
    await withParts(stub, { ledger }, async (object, { storage }) => {
      await submitTo(object, operation);
      await settleDown();
      const writes = countWritesIn(storage);
      const replays = Array.from({ length: 50 }, () => makeOperation("pay", "", { name: operation.name }));
      await Promise.all((await Promise.all(replays)).map((again) => submitTo(object, again)));
      await until(() => ledger.types.filter((type) => type === "observed").length === 50);
      expect(writes.rows).toBeLessThanOrEqual(10);
    });
  });
});

describe("an observation", () => {
  it.each(["pay", "durable"])("on /%s is no change to whoever waits for one", async (route) => {
    const operation = await makeOperation(route, makeKey());
    await withParts(keyObject(operation.name), {}, async (object, { storage }) => {
      const grant = await grantAt(object, operation);
      let looked = false;
      const look = object.look(5 * SECOND).then((found) => {
        looked = true;
        return found;
      });
      await settleDown();
      await submitTo(object, await makeOperation(route, "", { name: operation.name }));
      await until(() => observedIn(recordIn(storage)) === 1);
      await settleDown();
      expect(looked).toBe(false);
      await object.report(route, grant.token, "timeout");
      expect(await look).toMatchObject({ status: { state: "unknown" } });
    });
  });

  it("of an earlier life is told to no other one", async () => {
    const operation = await makeOperation("pay", makeKey());
    await withParts(keyObject(operation.name), {}, async (object, { storage }) => {
      await beginAt(object, operation);
      await object.observe(["replayed"]);
      await settleDown();
      expect(observedIn(recordIn(storage))).toBe(0);
    });
  });

  it.each(["pay", "durable"])("on /%s writes nothing where no ledger is kept", async (route) => {
    mockOrigin();
    const operation = await makeOperation(route, makeKey());
    const stub = keyObject(operation.name);
    await withParts(stub, { ledger: noLedger }, async (object, { storage }) => {
      await submitTo(object, operation);
      const writes = countWritesIn(storage);
      await submitTo(object, await makeOperation(route, "", { name: operation.name }));
      expect(await object.observe(["key-reused"])).toBe(true);
      await settleDown();
      expect(writes.rows).toBe(0);
    });
  });
});

describe("an isolate that replays from its memory", () => {
  it("reports what its key object did not take, and has answered", async () => {
    mockOrigin();
    const key = makeKey();
    let isUp = true;
    const getByName = (name: string) => {
      if (!isUp) throw new Error("unreachable");
      return env.KEYS.getByName(name);
    };
    const bindings = bindWith({ KEYS: { getByName } });
    const operation = operationOf(await post("/pay", key, {}, bindings));
    await expectAnswer(await post("/pay", key, {}, bindings), "replayed");
    isUp = false;
    await expectAnswer(await post("/pay", key, {}, bindings), "replayed");
    await until(() => linesOf("observations-dropped").length === 1);
    expect(linesOf("observations-dropped")).toMatchObject([
      { operation: operation.split(".")[0] ?? "", count: 1 },
    ]);
  });

  it("that can't note a durable refusal does not give it", async () => {
    let status = 204;
    mockOrigin(undefined, { "authorize.example": () => new Response(null, { status }) });
    const key = makeKey();
    const operation = operationOf(await post("/durable-authorize", key));
    status = 403;
    await withParts(keyObject(operation), {}, async (_object, { storage }) => {
      refuseObservations(storage);
    });
    await expectProblem(await post("/durable-authorize", key), "store-unavailable", 503);
  });

  it("tells of all that came while a call was under way in one more call, and no more than it may gather", async () => {
    const gate = makeGate();
    const calls: number[] = [];
    const observe: KeyPort["observe"] = async (_name, seen) => {
      calls.push(seen.length);
      if (calls.length === 1) await gate.passed;
      return true;
    };
    const keys = { observe };
    const dropped: unknown[] = [];
    const observer = new IsolateObserver((event, members) => void dropped.push([event, members]));
    const work = observer.note(keys, "name", "replayed", Date.now());
    expect(calls).toEqual([]);
    await until(() => calls.length === 1);
    for (let more = 0; more < OBSERVED_WAITING_MAX + 3; more++) {
      expect(observer.note(keys, "name", "replayed", Date.now())).toBeNull();
    }
    gate.open();
    await work;
    expect(calls).toEqual([1, OBSERVED_WAITING_MAX]);
    expect(dropped).toEqual([["observations-dropped", { operation: "name", count: 3 }]]);
    expect(observer.note(keys, "name", "replayed", Date.now())).not.toBeNull();
  });

  it("forgets calls that never end, of keys that nobody asks again, and says what was lost", async () => {
    const dropped: unknown[] = [];
    const observer = new IsolateObserver((event, members) => void dropped.push([event, members]));
    const never: Pick<KeyPort, "observe"> = { observe: () => new Promise(() => undefined) };
    const begun = Date.now();
    const names = ["first", "second", "third"];
    for (const name of names) void observer.note(never, name, "replayed", begun);
    await settleDown();
    expect(observer.note(never, "second", "replayed", begun + 1)).toBeNull();
    expect(dropped).toEqual([]);
    void observer.note(never, "another", "replayed", Date.now() + OBSERVER_PATIENCE_MS);
    expect(dropped).toEqual([["observations-dropped", { operation: "second", count: 1 }]]);
    for (const name of names) expect(observer.note(never, name, "replayed", begun)).not.toBeNull();
  });

  it("does not wait for calls that were begun before the clock went back", async () => {
    const observer = new IsolateObserver(() => undefined);
    const observe: KeyPort["observe"] = () => new Promise(() => undefined);
    const ahead = Date.now() + 365 * DAY;
    expect(observer.note({ observe }, "name", "replayed", ahead)).not.toBeNull();
    expect(observer.note({ observe }, "name", "replayed", ahead)).toBeNull();
    expect(observer.note({ observe }, "name", "replayed", Date.now())).not.toBeNull();
  });
});
