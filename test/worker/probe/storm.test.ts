// Aim: many retries of one unknown outcome cost its key nothing while nobody can be asked.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { advanceClock, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, post } from "../support/gateway.ts";
import { type Lost, losePayment } from "../support/lost.ts";
import { readTraces, replaceRecord, runAlarm } from "../support/object.ts";
import { committed, cutLine } from "../support/probed-origin.ts";

const RETRIES = 10;

beforeEach(() => stopClock());

/** How often the alarm rings while retries come, a tenth of a second apart. */
async function countRings({ key, stub }: Lost): Promise<number> {
  let rings = 0;
  for (let retry = 0; retry < RETRIES; retry++) {
    advanceClock(SECOND / 10);
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    await settleDown();
    const { alarm } = await readTraces(stub);
    if (alarm === null || alarm > Date.now()) continue;
    rings += 1;
    await runAlarm(stub);
  }
  return rings;
}

describe("retries of an outcome that is unknown", () => {
  it("don't ring the alarm each time while the origin is asked too much", async () => {
    const lost = await losePayment("seal", { ask: cutLine });
    const take = vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(false);
    await runAlarm(lost.stub);
    expect(await countRings(lost)).toBe(0);
    take.mockReturnValue(true);
    lost.words.ask = committed("paid");
    advanceClock(10 * SECOND);
    await runAlarm(lost.stub);
    expect(await expectAnswer(await post("/seal", lost.key), "replayed")).toBe("paid");
  });

  it("don't ring it each time where its route has nobody to ask any more", async () => {
    const lost = await losePayment("seal", { ask: cutLine });
    vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(false);
    await replaceRecord(lost.stub, (record) => ({ ...record, route: "pay" }));
    await runAlarm(lost.stub);
    expect(await countRings(lost)).toBe(0);
  });
});
