// Aim: no changed byte goes unseen. Method: one byte anywhere in any entry of two full bundles becomes another one.
import fc from "fast-check";
import { expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { makeLog, storeLogs } from "../../support/ledger-log.ts";

const ENTRIES = 512;

it("any one byte of any entry that becomes another is found at that entry", async () => {
  const log = makeLog(ENTRIES, 100);
  const database = storeLogs([log]);
  const write = database.prepare("UPDATE bundles SET body = CAST(? AS TEXT) WHERE first = ?");
  const bodies = [0, 256].map((first) =>
    Buffer.from(
      log.lines
        .slice(first, first + 256)
        .map((l) => `${l}\n`)
        .join(""),
    ),
  );
  const change = fc.record({
    index: fc.nat(ENTRIES - 1),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.integer({ min: 1, max: 255 }),
  });

  await fc.assert(
    fc.asyncProperty(change, async ({ index, at, byte }) => {
      const bundle = index < 256 ? 0 : 1;
      const body = Buffer.from(bodies[bundle] ?? "");
      const start = Buffer.byteLength(
        log.lines
          .slice(bundle * 256, index)
          .map((line) => `${line}\n`)
          .join(""),
      );
      const place = start + Math.floor(at * (log.lines[index] ?? "").length);
      // Not the line feed: that makes two entries of one.
      fc.pre(body[place] !== byte && byte !== 10);
      body[place] = byte;
      write.run(body, bundle * 256);
      const { verdict } = await verifyLedger(readDatabase(database), { key: log.key.vkey });
      write.run(bodies[bundle] ?? "", bundle * 256);

      expect(verdict).toMatchObject({ verdict: "broken", first: { index } });
    }),
    { numRuns: 150 },
  );
});
