/** Ways to break a machine: what it hears, what it finds stored, what it stores, by which terms it judges. */
import type { Event } from "../../src/core/event.ts";
import { type KeyRecord, type LiveRecord, type Terms, tokenOf } from "../../src/core/record.ts";
import type { Step } from "./history.ts";

type OfEvent<D extends Event["do"]> = Extract<Event, { do: D }>;
export type OfState<S extends KeyRecord["state"]> = Extract<KeyRecord, { state: S }>;

export const NEVER = Number.MAX_SAFE_INTEGER;

/** Changes the event before the machine sees it. */
export function hearing<D extends Event["do"]>(
  which: D,
  change: (event: OfEvent<D>, before: LiveRecord, now: number) => Event,
) {
  const isWhich = (event: Event): event is OfEvent<D> => event.do === which;
  return (step: Step): Step =>
    (before, event, now) =>
      before.state !== "absent" && isWhich(event)
        ? step(before, change(event, before, now), now)
        : step(before, event, now);
}

/** Changes what the machine finds stored. */
export function finding<S extends LiveRecord["state"]>(
  state: S,
  change: (record: OfState<S>, event: Event, now: number) => KeyRecord,
) {
  const isState = (record: KeyRecord): record is OfState<S> => record.state === state;
  return (step: Step): Step =>
    (before, event, now) =>
      step(isState(before) ? change(before, event, now) : before, event, now);
}

/** Changes what is stored after an event. */
export function storing(
  change: (after: LiveRecord, event: Event, before: KeyRecord, now: number) => KeyRecord,
) {
  return (step: Step): Step =>
    (before, event, now) => {
      const made = step(before, event, now);
      return made.record.state === "absent"
        ? made
        : { ...made, record: change(made.record, event, before, now) };
    };
}

/** Judges by other terms than the life was begun under, in one state and for one kind of event. */
export function judging(state: LiveRecord["state"], which: Event["do"], terms: Partial<Terms>) {
  return (step: Step): Step =>
    (before, event, now) => {
      if (before.state !== state || event.do !== which) return step(before, event, now);
      const made = step({ ...before, terms: { ...before.terms, ...terms } }, event, now);
      if (made.record.state === "absent" || made.record.inc !== before.inc) return made;
      return { ...made, record: { ...made.record, terms: before.terms } };
    };
}

/** Every token taken for the current one. */
export function unfenced(which: "settle" | "release" | "report" | "renew" | "probed") {
  return hearing(which, (event, before) => ({ ...event, token: tokenOf(before) }));
}

export function isOver(record: OfState<"in-flight">, now: number): boolean {
  return record.leaseUntil <= now;
}

export function freed(record: LiveRecord, now: number): KeyRecord {
  return { ...record, state: "released", releasedAt: now, evidence: "status-list" };
}

export function forget(record: LiveRecord): LiveRecord {
  return { ...record, outbox: record.outbox.map((stream) => ({ ...stream, entries: [] })) };
}
