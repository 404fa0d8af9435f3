import { beforeEach, describe, expect, it, vi } from "vitest";
import { Waiters } from "../../../src/key/waiters.ts";
import { advanceClock, DAY, SECOND, stopTimers, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, get, makeKey, post } from "../support/gateway.ts";
import { idOf, type KeyStub, keyObject, nameOf, readTraces, runAlarm } from "../support/object.ts";
import { type Gate, makeGate, mockOrigin } from "../support/origin.ts";

const WAIT = { Prefer: "wait=10" };

/** A call whose lease is over and that still runs, and how often somebody has come to wait for it. */
type Held = { key: string; stub: KeyStub; first: Promise<Response>; gate: Gate; waits: () => number };

async function holdKey(): Promise<Held> {
  const gate = makeGate();
  const origin = mockOrigin(() => gate.passed.then(() => new Response("late", { status: 201 })));
  const wait = vi.spyOn(Waiters.prototype, "wait");
  const key = makeKey();
  const first = post("/worker", key);
  await origin.arrived(1);
  const stub = keyObject(await nameOf("worker", key));
  return { key, stub, first, gate, waits: () => wait.mock.calls.length };
}

const ENDINGS: [string, (held: Held) => Promise<unknown>][] = [
  ["an alarm", ({ stub }) => runAlarm(stub)],
  ["a status read", async ({ key }) => get(`/_oncegate/operations/${await idOf("worker", key)}`)],
  ["another duplicate", ({ key }) => post("/worker", key)],
];

describe.each(ENDINGS)("a lease that %s ends", (_name, end) => {
  // Who is not woken waits for ever.
  beforeEach(stopTimers);

  it("wakes the duplicates that wait for it", async () => {
    const held = await holdKey();
    const waiting = [1, 2].map(() => post("/worker", held.key, { headers: WAIT }));
    await until(() => held.waits() === 2);
    advanceClock(31 * SECOND);
    await end(held);
    for (const waiter of waiting) await expectProblem(await waiter, "outcome-unknown", 409);
    held.gate.open();
    await held.first;
  });

  it("wakes a status read that waits for a change", async () => {
    const held = await holdKey();
    const waiting = get(`/_oncegate/operations/${await idOf("worker", held.key)}`, WAIT);
    await until(() => held.waits() === 1);
    advanceClock(31 * SECOND);
    await end(held);
    expect(await (await waiting).json()).toMatchObject({ state: "unknown" });
    held.gate.open();
    await held.first;
  });
});

it("of a clock that was years ahead, and came back, ends a lease's length after somebody has looked", async () => {
  stopTimers();
  advanceClock(10 * 365 * DAY);
  const { key, stub, gate, first } = await holdKey();
  advanceClock(-10 * 365 * DAY);
  await expectProblem(await post("/worker", key), "in-flight", 409);
  const { alarm } = await readTraces(stub);
  expect((alarm ?? 0) - Date.now()).toBeLessThanOrEqual(30 * SECOND);
  advanceClock(30 * SECOND);
  await expectProblem(await post("/worker", key), "outcome-unknown", 409);
  gate.open();
  await expectAnswer(await first, "executed");
  await expectAnswer(await post("/worker", key), "replayed");
});
