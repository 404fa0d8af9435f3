/** What is known of a life's reported effects, as storage holds it. What this version can't read is never treated as nothing. */
import { EFFECTS_VERSION, type KnownEffect, type KnownEffects } from "../../core/effect/judge.ts";

/** Null: written by a newer version, or not what it should be. */
export function decodeEffects(stored: unknown, inc: string): KnownEffects | null {
  const none: KnownEffects = { v: EFFECTS_VERSION, inc, attempts: [], effects: [] };
  if (stored === undefined) return none;
  if (!isKnown(stored)) return null;
  // What an earlier life's attempts have reported is told already, and is nobody's business any more.
  return stored.inc === inc ? stored : none;
}

function isShape(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isKnown(value: unknown): value is KnownEffects {
  return (
    isShape(value) &&
    value.v === EFFECTS_VERSION &&
    typeof value.inc === "string" &&
    Array.isArray(value.attempts) &&
    value.attempts.every(isAttempt) &&
    Array.isArray(value.effects) &&
    value.effects.every(isEffect)
  );
}

function isAttempt(value: unknown): boolean {
  return (
    isShape(value) &&
    Number.isSafeInteger(value.n) &&
    typeof value.effect === "string" &&
    Number.isSafeInteger(value.count)
  );
}

function isEffect(value: unknown): value is KnownEffect {
  return (
    isShape(value) &&
    [value.id, value.capability, value.phase].every((text) => typeof text === "string") &&
    Number.isSafeInteger(value.attempt) &&
    typeof value.isFlagged === "boolean" &&
    Array.isArray(value.words)
  );
}
