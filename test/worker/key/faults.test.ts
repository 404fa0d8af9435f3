import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { LiveRecord } from "../../../src/core/record.ts";
import { settleDown } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { linesOf } from "../support/log.ts";
import { type KeyStub, keyObject, nameOf, readRecord, replaceRecord, runAlarm } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

type States = readonly LiveRecord["state"][];

type Fault = { readonly refused: number; mend: () => void };

/** From here on, until it is mended, storage refuses the first `times` records in one of these states. */
async function failWrites(stub: KeyStub, states: States, times: number): Promise<Fault> {
  return runInDurableObject(stub, (_object, { storage }) => {
    const put = storage.kv.put.bind(storage.kv);
    let refused = 0;
    const spy = vi.spyOn(storage.kv, "put").mockImplementation((key, value) => {
      if (key === "record" && states.includes((value as LiveRecord).state) && refused < times) {
        refused += 1;
        throw new Error("disk full");
      }
      put(key, value);
    });
    return {
      get refused() {
        return refused;
      },
      mend: () => spy.mockRestore(),
    };
  });
}

describe.each(["pay", "worker"])("a store that fails while the answer of /%s is settled", (route) => {
  it("FR-029 once: the origin's answer is stored at the next try and given", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    const fault = await failWrites(keyObject(await nameOf(route, key)), ["settled"], 1);
    const body = await expectAnswer(await post(`/${route}`, key), "executed");
    expect(fault.refused).toBe(1);
    expect(await expectAnswer(await post(`/${route}`, key), "replayed")).toBe(body);
    expect(origin.count).toBe(1);
  });

  it.each<[string, States]>([
    ["every answer", ["settled"]],
    ["every close", ["settled", "unknown", "released"]],
  ])("FR-029 for %s: the outcome is unknown, no retry runs", async (_case, states) => {
    const origin = mockOrigin();
    const key = makeKey();
    const fault = await failWrites(keyObject(await nameOf(route, key)), states, Number.POSITIVE_INFINITY);
    await expectProblem(await post(`/${route}`, key), "outcome-unknown", 502);
    expect(fault.refused).toBeGreaterThanOrEqual(3);
    fault.mend();
    const again = await post(`/${route}`, key);
    expect(again.status).toBe(409);
    expect(["unknown", "in-flight"]).toContain(again.headers.get("Idempotency-Status"));
    expect(origin.count).toBe(1);
  });
});

describe.each(["pay", "worker"])("a store that fails while /%s is claimed", (route) => {
  it("is answered store-unavailable, sends nothing, and leaves the key unused", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    await failWrites(keyObject(await nameOf(route, key)), ["in-flight"], 1);
    const refused = await post(`/${route}`, key);
    expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await expectProblem(refused, "store-unavailable", 503);
    expect(origin.count).toBe(0);
    await expectAnswer(await post(`/${route}`, key), "executed");
    expect(origin.count).toBe(1);
  });
});

const UNREADABLE: [string, (record: LiveRecord) => unknown][] = [
  ["of a newer version", (record) => ({ ...record, v: 999 })],
  ["in an unknown state", (record) => ({ ...record, state: "paused" })],
  ["without its fingerprint", ({ fp: _fp, ...rest }) => rest],
  ["with a time that is no number", (record) => ({ ...record, t: "soon" })],
  ["that is a text", () => "garbage"],
  ["that is null", () => null],
  ["that is bytes", () => new Uint8Array([1, 2, 3])],
];

describe("FR-037 a record", () => {
  it.each(UNREADABLE)(
    "%s refuses its key, is reported by its alarm, and harms no other key",
    async (_case, change) => {
      const origin = mockOrigin();
      const key = makeKey();
      const response = await post("/pay", key);
      const [name = ""] = operationOf(response).split(".");
      const stub = keyObject(name);
      await settleDown();
      await replaceRecord(stub, change);
      for (let tries = 0; tries < 2; tries++) {
        const refused = await post("/pay", key);
        expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
        await expectProblem(refused, "store-unavailable", 503);
      }
      expect(origin.count).toBe(1);
      await runAlarm(stub);
      expect(linesOf("record-unreadable")).toEqual([{ event: "record-unreadable", operation: name }]);
      await runInDurableObject(stub, async (_object, { storage }) => {
        expect(storage.kv.get("record")).not.toBeUndefined();
        expect(await storage.getAlarm()).not.toBeNull();
      });
      await expectAnswer(await post("/pay", makeKey()), "executed");
    },
  );

  it("is read again by a version that can", async () => {
    mockOrigin();
    const key = makeKey();
    const response = await post("/pay", key);
    const stub = keyObject(operationOf(response));
    const body = await expectAnswer(response, "executed");
    const record = await readRecord(stub);
    await replaceRecord(stub, () => ({ ...record, v: 999 }));
    await expectProblem(await post("/pay", key), "store-unavailable", 503);
    await replaceRecord(stub, () => record);
    expect(await expectAnswer(await post("/pay", key), "replayed")).toBe(body);
  });
});
