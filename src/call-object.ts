/** One way to call a Durable Object that may not answer. Only what may be done twice is called so. */
import { STORE_PAUSE_MS, STORE_TRIES_MAX } from "./core/limits.ts";

/** `sent`: whether the object may have got one of the calls. `error`: what the last of them failed with. */
export type Called<Result> =
  | { kind: "answered"; result: Result }
  | { kind: "failed"; sent: boolean; error: unknown };

/** The platform says of an error what it knows (Durable Objects, error handling). */
type Flags = { retryable?: unknown; overloaded?: unknown; durableObjectReset?: unknown };

/**
 * Calls again where the platform says that the stub is broken or the line was lost, after a pause that doubles. `call` takes a new stub each
 * time: one that has thrown may be broken for good. Nothing is thrown.
 */
export async function callObject<Result>(call: () => Promise<Result>): Promise<Called<Result>> {
  let sent = false;
  for (let tries = 1; ; tries++) {
    try {
      return { kind: "answered", result: await call() };
    } catch (error) {
      const flags: Flags = typeof error === "object" && error !== null ? error : {};
      // An overloaded object refuses a call before it is delivered, and more calls would not help it.
      const isOverloaded = flags.overloaded === true;
      sent ||= !isOverloaded;
      const mayRepeat = !isOverloaded && (flags.retryable === true || flags.durableObjectReset === true);
      if (!mayRepeat || tries === STORE_TRIES_MAX) return { kind: "failed", sent, error };
      const pauseMs = STORE_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
