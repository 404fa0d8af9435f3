// Aim: values are on their way back what they were on their way in. Method: keys and references that look like something else.
import { describe, expect, it } from "vitest";
import { stopClock } from "../support/clock.ts";
import { expectAnswer, get, makeRequest, operationOf, post, send } from "../support/gateway.ts";
import { publish } from "../support/ledger.ts";
import { ask, tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

const KEYS = ["0", "007", "1e3", "true", "null"];
/** More digits than a double has. */
const REFERENCE = "1234567824702058496";

type Item = Record<string, unknown>;

/** One payment under a key, of which its origin reports an effect with the key for its id. */
async function payUnder(key: string): Promise<string> {
  const origin = mockOrigin();
  const answer = await post("/pay", key);
  const id = operationOf(answer);
  await expectAnswer(answer, "executed");
  const told = {
    effect_id: key,
    capability: "read.back",
    target: REFERENCE,
    cost: { eur: 0.1, big: 2 ** 53 },
  };
  const headers = { Authorization: `Bearer ${origin.arrivals[0]?.headers.get("Effect-Token")}` };
  const sent = { method: "POST", headers, body: JSON.stringify(told) };
  expect((await send(makeRequest("/_oncegate/effects", sent))).status).toBe(200);
  return id;
}

describe("FR-071 keys that look like numbers, flags and nothing", () => {
  it("are listed as they are, with exact numbers, and each is found alone", async () => {
    stopClock();
    const ids: string[] = [];
    for (const key of KEYS) ids.push(await payUnder(key));
    expect(new Set(ids).size).toBe(KEYS.length);
    await publish(...ids);

    const path = "/_oncegate/operator/effects?capability=read.back";
    const { items } = await (await get(path, tokenOf("reader"))).json<{ items: Item[] }>();
    expect(items.map(({ effect_id }) => effect_id).toSorted()).toEqual(KEYS.toSorted());
    expect(new Set(items.map(({ stream }) => stream)).size).toBe(KEYS.length);
    const time = new Date(Date.now()).toISOString();
    for (const item of items) {
      expect(item).toMatchObject({
        target: REFERENCE,
        cost: { eur: 0.1, big: 2 ** 53 },
        reported: true,
        flagged: false,
        attempt: 1,
        intent_at: time,
        changed_at: time,
      });
    }
    for (const [i, key] of KEYS.entries()) {
      const found = await ask("/keys/find", { route: "pay", principal: "Bearer alice", key }, "reader");
      const told = await found.json<{ items: Item[] }>();
      expect(told.items.map(({ id }) => id)).toEqual([ids[i]]);
    }
  });
});
