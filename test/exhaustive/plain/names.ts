/** Names of places as they are: of two places with one name, only times that no rule looks back at differ. */
import type { Entry } from "../../../src/core/entry.ts";
import type { KeyRecord, LiveRecord, Outbox } from "../../../src/core/record.ts";
import { describeAnswer } from "../../model/words.ts";
import type { Case, Doing, Key, Place } from "../place.ts";

/** No rule looks further back than this. */
const PAST_MAX = 10;

/** `back`: how far the clock may still step back. */
export function nameOf({ key, outside }: Place, { probe }: Case, back: number): string {
  const doings = outside.doings.map(
    (doing, place) => `${key.attempts[place]?.window}${nameDoing(doing, probe)}`,
  );
  return `${nameRecord(key.record, key.now, back)}/${outside.clock}/${key.given ?? ""}/${doings.join()}`;
}

/** The name of a key and its last attempt. */
export function nameAlone({ record, now }: Key, last: Doing, { probe }: Case, back: number): string {
  return `${nameRecord(record, now, back)}/${nameDoing(last, probe)}`;
}

function nameDoing(doing: Doing, probe: Case["probe"]): string {
  const { dispatch, fate, leaseLeft, arrivesLeft, happenedAgo, isFreed, isTold } = doing;
  const isOnItsWay = dispatch === "sent" && fate === "open" && probe === "observe";
  const isDated = fate === "happened" && probe === "observe";
  const time =
    dispatch === "not-yet"
      ? leaseLeft
      : isOnItsWay
        ? arrivesLeft
        : isDated
          ? Math.min(happenedAgo ?? 0, PAST_MAX)
          : "";
  return `${dispatch[0]}${fate[0]}${time}${isFreed ? "f" : ""}${isTold ? "t" : ""}`;
}

function nameRecord(record: KeyRecord, now: number, back: number): string {
  if (record.state === "absent") return "";
  const { inc, n, nonce, effect, fp, terms, t, outbox } = record;
  const life = `${inc},${n},${nonce},${effect},${fp},${terms.executor},${terms.windowMs},${Math.max(t - now, -back)}`;
  return `${life},${nameState(record, now)},${nameOutbox(outbox)}`;
}

function nameState(record: LiveRecord, now: number): string {
  const ago = (time: number): number => Math.max(time - now, -PAST_MAX);
  switch (record.state) {
    case "in-flight":
      return `i${ago(record.leaseUntil)},${ago(record.executionUntil)},${record.ahead}`;
    case "unknown": {
      const { proposal } = record;
      const said =
        proposal.by === "nobody"
          ? ""
          : `${proposal.operators.join("+")}:${"word" in proposal.outcome ? proposal.outcome.word : "none"}`;
      return `u${ago(record.since)},${record.reason},${said}`;
    }
    case "settled":
      return `s${ago(record.settledAt)},${record.actor},${describeAnswer(record.answer)}`;
    case "released":
      return `r${ago(record.releasedAt)},${record.evidence}`;
  }
}

/** Of undelivered entries, rules look at the last one, and at whether there is one, or more. */
const ENTRIES_TOLD_APART = 2;
const lastNames = new WeakMap<Entry, string>();

function nameOutbox(outbox: Outbox): string {
  return outbox
    .map(({ inc, entries }) => {
      const last = entries.at(-1);
      return `${inc}*${Math.min(entries.length, ENTRIES_TOLD_APART)}${last === undefined ? "" : nameEntry(last)}`;
    })
    .join("&");
}

function nameEntry(entry: Entry): string {
  const known = lastNames.get(entry);
  if (known !== undefined) return known;
  const name = JSON.stringify({ ...entry, at: 0 });
  lastNames.set(entry, name);
  return name;
}
