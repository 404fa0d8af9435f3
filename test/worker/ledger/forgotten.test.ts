// Aim: what the ledger has forgotten holds up nothing, and what it has lost is said. Method: the shards' own streams are deleted.
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { advanceClock, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import { ledgerObject, readAllLines, runRounds, SHARDS, typesByStream } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import {
  evict,
  expectNoTraces,
  type KeyStub,
  keyObject,
  keyring,
  makeOperation,
  readRecord,
  recordIn,
  runAlarm,
  submitTo,
  withParts,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const WHOLE_LIFE_MS = 15 * SECOND;

/** As pruning does it with streams that have ended; `which` is a condition on them. */
async function forgetStreams(which: string): Promise<void> {
  for (const shard of SHARDS) {
    await runInDurableObject(ledgerObject(shard), (_object, { storage }) => {
      const hasTable = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'streams'").toArray();
      if (hasTable.length > 0) storage.sql.exec(`DELETE FROM streams WHERE ${which}`);
    });
  }
}

/** Executed and told; what was acknowledged is stored, along with what is told next. */
async function execute(stub: KeyStub, key: string): Promise<void> {
  const operation = await makeOperation("short", key);
  await withParts(stub, {}, async (object) => {
    expect(await submitTo(object, operation)).toMatchObject({ kind: "executed" });
    await settleDown();
    await object.observe(["key-reused"]);
    await settleDown();
  });
}

async function open(key: string): Promise<KeyStub> {
  stopClock();
  mockOrigin();
  const stub = keyObject((await makeOperation("short", key)).name);
  await execute(stub, key);
  return stub;
}

describe("a stream that the ledger has forgotten", () => {
  it("lets a key go that was stopped between its end and the wipe", async () => {
    const stub = await open(makeKey());
    advanceClock(WHOLE_LIFE_MS);
    await withParts(stub, {}, async (object, { storage }) => {
      vi.spyOn(storage, "deleteAll").mockRejectedValueOnce(new Error("disk I/O error"));
      await object.alarm();
      expect(recordIn(storage).state).toBe("settled");
    });
    await evict(stub);
    await forgetStreams("state = 'ended'");
    await runAlarm(stub);
    await expectNoTraces(stub);
    expect(linesOf("ledger-gap").at(-1)).toMatchObject({ held: 0 });
  });

  it("does not hold up the life that follows", async () => {
    const key = makeKey();
    const stub = await open(key);
    advanceClock(WHOLE_LIFE_MS);
    await execute(stub, key);
    await evict(stub);
    await forgetStreams("state = 'ended'");
    const { inc } = await readRecord(stub);
    const stream = await keyring.stream((await makeOperation("short", key)).name, inc);
    advanceClock(WHOLE_LIFE_MS);
    await runAlarm(stub);
    await expectNoTraces(stub);
    await runRounds();
    expect(typesByStream(await readAllLines()).get(stream)).toEqual([
      "granted",
      "settled",
      "observed",
      "purged",
    ]);
  });

  it("is told again and again before its end, and given up at its end", async () => {
    const stub = await open(makeKey());
    await evict(stub);
    await forgetStreams("true");
    await runAlarm(stub);
    expect((await readRecord(stub)).state).toBe("settled");
    expect(linesOf("ledger-gap").at(-1)).toMatchObject({ held: 0 });
    advanceClock(WHOLE_LIFE_MS);
    await runAlarm(stub);
    await expectNoTraces(stub);
    expect(linesOf("ledger-gap").at(-1)).toMatchObject({ held: 0 });
  });
});
