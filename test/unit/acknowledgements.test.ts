/** What the ledger has acknowledged is known until storage shows it, and no longer. */
import { describe, expect, it } from "vitest";
import { undelivered } from "../../src/core/record.ts";
import { Acknowledgements } from "../../src/key/storage/acknowledgements.ts";
import { apply, live, START } from "./step-table.ts";

const HEAD = "c".repeat(64);
const untold = live("settled, in window");
const [stream] = untold.outbox;
if (stream === undefined) throw new Error("a settled record has something to tell");
const last = stream.acked + stream.entries.length;
/** What storage shows once a change has been written on top of it. */
const shown = apply(untold, "acknowledge all", START).record;

describe("what the ledger has acknowledged", () => {
  it("is in every record that is read before storage shows it", () => {
    const acknowledgements = new Acknowledgements();
    acknowledgements.note(stream.inc, last, HEAD);
    for (const time of [START, START + 1]) {
      const record = acknowledgements.applyTo(untold, time);
      expect(record).toMatchObject({ outbox: [{ acked: last, head: HEAD, entries: [] }] });
    }
    expect(undelivered(untold)).toBeGreaterThan(0);
  });

  it("is forgotten once storage shows it", () => {
    const acknowledgements = new Acknowledgements();
    acknowledgements.note(stream.inc, last, HEAD);
    expect(acknowledgements.applyTo(shown, START)).toBe(shown);
    expect(acknowledgements.applyTo(untold, START)).toBe(untold);
  });

  it("of lives that have followed one another is forgotten with the next record that is read", () => {
    const acknowledgements = new Acknowledgements();
    const lives = Array.from({ length: 5 }, (_, n) => `life-of-${n}`);
    for (const inc of lives) acknowledgements.note(inc, last, HEAD);
    expect(acknowledgements.applyTo(untold, START)).toBe(untold);
    for (const inc of lives) {
      const earlier = { ...untold, inc, outbox: [{ ...stream, inc }] };
      expect(acknowledgements.applyTo(earlier, START)).toBe(earlier);
    }
  });
});
