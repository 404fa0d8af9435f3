// Aim: a receiver that takes its time costs the ledger 5 s a try, and nothing else.
import { describe, expect, it, vi } from "vitest";
import { advanceClock, MINUTE, stopClock } from "../support/clock.ts";
import { ledgerObject, makeDelivery, withLedgerParts } from "../support/ledger.ts";
import { linesOf } from "../support/log.ts";
import { accept, makeReceiver } from "../support/receiver.ts";

describe("a receiver", () => {
  it("that takes longer than 5 s is given up, and gets the same again", async () => {
    stopClock();
    const limits: number[] = [];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      limits.push(ms);
      return AbortSignal.abort();
    });
    const bodies: unknown[] = [];
    const send = async (_url: string, { body, signal }: RequestInit): Promise<Response> => {
      bodies.push(body);
      signal?.throwIfAborted();
      return accept();
    };
    const { webhook } = makeReceiver(accept);
    await withLedgerParts(ledgerObject("1:0"), { webhook, send, database: null }, async (object) => {
      await object.append({ shard: "1:0", shards: 4 }, await makeDelivery(2));
      for (let tries = 0; tries < 2; tries++) {
        await object.alarm();
        advanceClock(2 * MINUTE);
      }
    });
    expect([...new Set(limits)]).toEqual([5_000]);
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
    expect(linesOf("ledger-webhook-failed")).toHaveLength(2);
  });
});
