/** Liveness: once nothing fails any more, every place leads to an end. */

import type { Event, Verdict } from "../../src/core/event.ts";
import { alarmOf } from "../../src/core/step.ts";
import { Violation } from "../model/world.ts";
import { happen } from "./judge.ts";
import type { Search } from "./moves.ts";
import { type Attempt, type Case, isOut, nameRecord, objectTime, type Place } from "./place.ts";

const TURNS_MAX = 30;

/** Keeps what has been found, since many places differ only in what old attempts may still say. */
export class Healer {
  readonly #search: Search;
  readonly #sound = new Set<string>();

  constructor(search: Search) {
    this.#search = search;
  }

  /** The ledger acknowledges, the object wakes when it asked to, the origin answers probes. Throws where that leads to no end. */
  check(place: Place): void {
    const { record, clock, behind } = place;
    const last = place.attempts.at(-1);
    if (record.state === "absent" || last === undefined) return;
    const name = `${nameRecord(record, (time) => time - clock, clock - behind)}/${behind}/${last.fate}`;
    const key = `${name}/${isOut(last, clock, this.#search.about)}`;
    if (this.#sound.has(key)) return;
    this.#heal(place);
    this.#sound.add(key);
  }

  #heal(from: Place): void {
    const { step, about } = this.#search;
    // Nobody dispatches any more, and where the origin can be told to, it refuses what has not arrived yet.
    let place: Place = { ...from, attempts: from.attempts.map((attempt) => rest(attempt, about)) };
    let alarm: number | null = from.record.state === "absent" ? null : alarmOf(from.record, objectTime(from));
    const send = (event: Event): void => {
      const made = happen(step, about, place, event);
      place = made.place;
      alarm = made.row.alarm;
    };
    for (let turn = 0; turn < TURNS_MAX && place.record.state !== "absent"; turn += 1) {
      for (const { inc, made } of place.told) send({ do: "acknowledge", inc, seq: made, head: "all" });
      send({ do: "tick" });
      if (alarm === null) break;
      place = { ...place, clock: place.clock + Math.max(0, alarm - objectTime(place)) };
      send({ do: "tick" });
      const last = place.attempts.at(-1);
      const isAsked = place.record.state === "unknown" && about.probe !== "none";
      if (last !== undefined && isAsked)
        send({
          do: "probed",
          token: { inc: last.inc, n: last.n },
          verdict: verdictOn(last, about),
          jitter: 0,
        });
    }
    const { state } = place.record;
    if (state !== "absent" && !(state === "unknown" && about.probe === "none"))
      throw new Violation("L", `${state} stays for ever`);
  }
}

function rest(attempt: Attempt, { probe }: Case): Attempt {
  const dispatch = attempt.dispatch === "not-yet" ? "never" : attempt.dispatch;
  const fate = probe === "seal" && attempt.fate === "open" ? "void" : attempt.fate;
  return { ...attempt, dispatch, fate };
}

function verdictOn(last: Attempt, { probe }: Case): Verdict {
  if (last.fate === "happened") return { kind: "committed", answer: { kind: "lost" } };
  return { kind: "none", sealed: probe === "seal", ageMs: 0 };
}
