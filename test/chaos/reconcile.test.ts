// Aim: a reconciliation that is killed loses nothing. Method: real processes, a real SIGKILL, a SQLite file with the shape of D1.
import { describe, expect, it } from "vitest";
import type { Hold } from "../support/reconcile/process.ts";
import { findMistakes } from "./reconcile-rules.ts";
import { killOne } from "./reconcile-runs.ts";

const IN_THE_SIXTH_PAGE: Hold = { at: "question", count: 275 };

describe("a reconciliation that is killed", () => {
  it.each<[place: string, hold: Hold, pages: number]>([
    ["at its first question", { at: "question", count: 1 }, 0],
    ["in the middle of a page", IN_THE_SIXTH_PAGE, 5],
    ["at its last question", { at: "question", count: 520 }, 10],
    ["while a page's verdicts and cursor are written", { at: "commit", count: 4 }, 2],
  ])(
    "%s is followed by one that goes on from its cursor and leaves nothing out",
    async (_place, hold, pages) => {
      expect(findMistakes(await killOne(hold, "none"), pages)).toEqual([]);
    },
  );

  it("is found out where the cursor is stored before its page is handled", async () => {
    const mistakes = findMistakes(await killOne(IN_THE_SIXTH_PAGE, "cursor-first"), 5);
    expect(mistakes).toContain("effects were never asked about");
    expect(mistakes).toContain("effects have no finding");
  });

  it("is found out where the cursor is not read", async () => {
    const mistakes = findMistakes(await killOne(IN_THE_SIXTH_PAGE, "cursor-unread"), 5);
    expect(mistakes).toContain("effects of a page that was kept were asked about again");
  });
});
