/** What in a delivery somebody should know of without polling, as a field beside its lines. */
import { EVENTS_PER_PUSH_MAX } from "../bounds.ts";

export type LedgerEvent = "outcome.unknown" | "outcome.resolved" | "contradiction";

/** Members of a line. */
type Line = { type: string; index: number; actor?: string; code?: string };

/** Null: nobody has to look. */
function eventOf(line: string): { event: LedgerEvent; index: number } | null {
  const { type, code, actor, index } = JSON.parse(line) as Line;
  switch (type) {
    case "unknown":
      return { event: "outcome.unknown", index };
    case "settled":
    case "released":
      // Whoever is not the executor is asked about unknown outcomes only; of its own late word the key says what it ended.
      return actor !== "executor" || code === "resolved" ? { event: "outcome.resolved", index } : null;
    case "contradiction":
    case "effect-contradiction":
      return { event: "contradiction", index };
    default:
      return null;
  }
}

/**
 * As many of the lines as one delivery takes, and the value of its `Ledger-Events`: a list of RFC 9651 with a token an event, in the order
 * of the lines. Empty: there is none, and an empty list is not sent. `isFixed`: the lines are those of an earlier try.
 */
export function readEvents(
  lines: readonly string[],
  isFixed: boolean,
): { lines: readonly string[]; events: string } {
  const events: string[] = [];
  for (const [at, line] of lines.entries()) {
    const found = eventOf(line);
    if (found === null) continue;
    if (events.length === EVENTS_PER_PUSH_MAX && !isFixed)
      return { lines: lines.slice(0, at), events: join(events) };
    events.push(`${found.event};index=${found.index}`);
  }
  return { lines, events: join(events) };
}

function join(events: readonly string[]): string {
  return events.join(", ");
}
