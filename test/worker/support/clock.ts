/** A clock that stands where a test puts it, in the Worker and in its objects. */
import { vi } from "vitest";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Far enough ahead that no alarm set for a later time comes due while the tests run. */
export const START = Date.UTC(2035, 0, 1);

/** Stops the clock at `START`. Timers still run in real time. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
}

/** Also stops the timers of the Worker: they ring when the test moves the clock by `passTime`. */
export function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: START });
}

/** Needs timers that are stopped. What is under way comes to rest first: a call of the ledger has a limit, which would be over, too. */
export async function passTime(ms: number): Promise<void> {
  await settleDown();
  vi.advanceTimersByTime(ms);
  await settleDown();
}

export function advanceClock(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Gives everything that is under way between Worker, objects and storage the time to come to rest. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await scheduler.wait(8);
}

/** Waits until something that is under way has come true. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (await isTrue()) return;
    await scheduler.wait(5);
  }
  throw new Error("it never came true");
}
