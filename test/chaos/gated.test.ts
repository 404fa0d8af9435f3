// Aim: the places at which a run stops the gateway are in the build that is made for that, and in no other. Method: reads both builds.
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { buildWorker } from "../support/build.ts";
import { GATED_ENTRY } from "./gateway.ts";
import { POINT_NAMES, POINTS } from "./points.ts";

const BUILD_MS_MAX = 110_000;

it(
  "nothing of them is in what is deployed",
  async () => {
    const product = await buildWorker();
    const gated = await buildWorker(undefined, GATED_ENTRY);
    const text = await readFile(product.entry, "utf8");
    const places = POINT_NAMES.filter((point) => POINTS[point].build === "gated");
    const found = [...places.map((point) => `"${point}"`), "CHAOS_CONTROL", "_chaos"].filter((word) =>
      text.includes(word),
    );
    expect(await readFile(gated.entry, "utf8")).toContain("CHAOS_CONTROL");
    // Words that the ledger and the record have of their own.
    expect(found.filter((word) => !['"settled"', '"granted"'].includes(word))).toEqual([]);
  },
  BUILD_MS_MAX,
);
