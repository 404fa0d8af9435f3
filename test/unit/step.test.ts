/**
 * The key's state machine as a table: what every event makes of a record in every state. Written from the design's
 * transitions, not from the code. The type of `TABLE` refuses a missing cell, and so does the test.
 */
import { describe, expect, it } from "vitest";
import type { KeyRecord, LiveRecord } from "../../src/core/record.ts";
import { step } from "../../src/core/step.ts";
import type { Cell } from "./step-cells.ts";
import { TABLE } from "./step-rows.ts";
import {
  apply,
  EVENT_NAMES,
  EVENTS,
  type EventName,
  HOLD,
  live,
  SCENES,
  STATE_NAMES,
  timeOf,
} from "./step-table.ts";

const cells = STATE_NAMES.flatMap((state) => EVENT_NAMES.map((event) => [event, state] as const));

describe("the state machine", () => {
  it.each(cells)("does what the table says of [%s] when [%s]", (event, state) => {
    const cell: Cell | undefined = TABLE[state][event];
    const { record } = SCENES[state];
    const after = step(record, EVENTS[event](record, 9, HOLD), timeOf(event, SCENES[state]));
    const isSame = after.record === record;
    expect({
      to: isSame ? "same" : after.record.state,
      answer: after.answer.kind,
      adds: after.entries.map((entry) => entry.type),
    }).toEqual(cell);
  });
});

describe("a proposal", () => {
  const [A_YES, A_NO] = ["resolve, A says committed", "resolve, A says not committed"] as const;
  const [B_YES, B_NO] = [
    "resolve, B says committed, three required",
    "resolve, B says not committed",
  ] as const;
  const B_ELSE = "resolve, B says another answer";
  const spoken = (first: LiveRecord, events: readonly EventName[]): KeyRecord =>
    events.reduce<KeyRecord>((record, event) => apply(record, event, first.t).record, first);

  it.each<[string, EventName[], string[], string]>([
    ["is one operator's", [A_YES], ["a"], "committed"],
    ["gathers those who say the same", [A_YES, B_YES], ["a", "b"], "committed"],
    ["counts an operator once", [B_YES, B_YES], ["b"], "committed"],
    ["starts anew with whoever contradicts it", [A_YES, B_NO], ["b"], "not-committed"],
    ["starts anew with whoever has seen another answer", [A_YES, B_ELSE], ["b"], "committed"],
    ["starts anew with one of its own who changes his mind", [A_YES, B_YES, A_NO], ["a"], "not-committed"],
  ])("%s", (_claim, events, operators, kind) => {
    expect(spoken(live("unknown, hold"), events)).toMatchObject({
      proposal: { by: "operators", operators, outcome: { kind } },
    });
  });
});
