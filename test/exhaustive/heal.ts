/** Liveness: once nothing fails any more, every place leads to an end. */
import type { Event, Verdict } from "../../src/core/event.ts";
import { alarmOf } from "../../src/core/step.ts";
import { Violation } from "../model/world.ts";
import { happen } from "./judge.ts";
import { change, follow, pass } from "./outside.ts";
import type { Case, Doing, Key, Outside, Place } from "./place.ts";
import type { Search } from "./search.ts";

const TURNS_MAX = 30;

/** Keeps what has been found, since many places differ only in what old attempts may still say. */
export class Healer {
  readonly #search: Search;
  readonly #nameOf: (key: Key, last: Doing) => string;
  readonly #sound = new Set<string>();

  /** `nameOf`: two with one name have the same future, once nobody dispatches any more. */
  constructor(search: Search, nameOf: (key: Key, last: Doing) => string) {
    this.#search = search;
    this.#nameOf = nameOf;
  }

  /** The ledger acknowledges, the object wakes when it asked to, the origin answers probes. Throws where that leads to no end. */
  check({ key, outside }: Place): void {
    const last = outside.doings.length - 1;
    const doing = outside.doings[last];
    if (key.record.state === "absent" || doing === undefined) return;
    // Nobody dispatches any more, and where the origin can be told to, it refuses what has not arrived yet.
    this.#heal(key, change(outside, last, rest(doing, this.#search.about)), last);
  }

  #heal(from: Key, world: Outside, last: number): void {
    const { step, about } = this.#search;
    let [key, outside] = [from, world];
    let alarm: number | null = from.record.state === "absent" ? null : alarmOf(from.record, from.now);
    const send = (event: Event): void => {
      const made = happen(step, key, event);
      outside = follow(outside, made.facts, about);
      key = made.key;
      alarm = made.row.alarm;
    };
    const passed: string[] = [];
    let isKnown = false;
    for (let turn = 0; turn < TURNS_MAX && key.record.state !== "absent"; turn += 1) {
      const doing = outside.doings[last];
      if (doing === undefined) break;
      const name = this.#nameOf(key, doing);
      isKnown = this.#sound.has(name);
      if (isKnown) break;
      passed.push(name);
      for (const { inc, made } of key.told) send({ do: "acknowledge", inc, seq: made, head: "all" });
      send({ do: "tick" });
      if (alarm === null) break;
      const ms = Math.max(0, alarm - key.now);
      [key, outside] = [{ ...key, now: key.now + ms }, pass(outside, ms)];
      send({ do: "tick" });
      const attempt = key.attempts[last];
      if (key.record.state !== "unknown" || about.probe === "none" || attempt === undefined) continue;
      const { inc, n } = attempt;
      send({ do: "probed", token: { inc, n }, verdict: verdictOn(doing, about), jitter: 0 });
    }
    const { state } = key.record;
    const isLeft = state === "unknown" && about.probe === "none";
    if (state !== "absent" && !isLeft && !isKnown) throw new Violation("L", `${state} stays for ever`);
    for (const name of passed) this.#sound.add(name);
  }
}

function rest({ dispatch, fate }: Doing, { probe }: Case): Partial<Doing> {
  return {
    dispatch: dispatch === "not-yet" ? "never" : dispatch,
    fate: probe === "seal" && fate === "open" ? "void" : fate,
  };
}

function verdictOn({ fate }: Doing, { probe }: Case): Verdict {
  if (fate === "happened") return { kind: "committed", answer: { kind: "lost" } };
  return { kind: "none", sealed: probe === "seal", ageMs: 0 };
}
