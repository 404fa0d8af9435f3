// Aim: whatever is done to a stored ledger is reported with its class and the first bad index, and what a reader of one trust can't
// know is not claimed. Method: every unit in a database in memory is tampered with in every way; read without a key, with the key,
// and with the key and a pin file of the untampered log.
import { expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { makeKey, makeLog, sha256, signCheckpoint } from "../../support/ledger-log.ts";
import { describeRows, SOUND } from "./tamper-rows.ts";
import { ENTRIES, EVERY, Ledger } from "./tampering.ts";

describeRows("a checkpoint", () => new Ledger(), [
  [
    "with a flipped root in its note",
    (l) =>
      l.run(
        "UPDATE checkpoints SET note = replace(note, char(10) || '300' || char(10), char(10) || '301' || char(10)) WHERE size = 300",
      ),
    ["checkpoint 200", "signature 200", "signature 200"],
  ],
  [
    "with a flipped signature",
    (l) =>
      l.run(
        "UPDATE checkpoints SET note = substr(note, 1, length(note) - 10) || 'AAAAAAAA' || substr(note, -2) WHERE size = 300",
      ),
    [SOUND, "signature 200", "signature 200"],
  ],
  [
    "with a flipped root in its row",
    (l) => l.run("UPDATE checkpoints SET root = ? WHERE size = 300", "0".repeat(64)),
    "checkpoint 200",
  ],
  [
    "truncated",
    (l) => l.run("UPDATE checkpoints SET note = substr(note, 1, 30) WHERE size = 300"),
    "checkpoint 200",
  ],
  [
    "extended by a line",
    (l) => l.run("UPDATE checkpoints SET note = note || 'more' || char(10) WHERE size = 300"),
    "checkpoint 200",
  ],
  [
    "deleted from the middle",
    (l) => l.run("DELETE FROM checkpoints WHERE size = 300"),
    [SOUND, SOUND, SOUND],
  ],
  [
    "deleted, the newest one",
    (l) => l.run("DELETE FROM checkpoints WHERE size = 600"),
    [SOUND, SOUND, "pin 500"],
  ],
  ["deleted, all of them", (l) => l.run("DELETE FROM checkpoints"), [SOUND, SOUND, "pin 0"]],
  [
    "duplicated under another size",
    (l) =>
      l.run("INSERT INTO checkpoints SELECT shard, 350, root, note, at FROM checkpoints WHERE size = 300"),
    "checkpoint 300",
  ],
  [
    "swapped with another",
    (l) =>
      l.run(
        "UPDATE checkpoints SET note = (SELECT note FROM checkpoints AS other WHERE other.size = 700 - checkpoints.size) WHERE size IN (300, 400)",
      ),
    "checkpoint 200",
  ],
  [
    "signed by another key",
    (l) => {
      const { root } = l.log.checkpoints[2] ?? { root: Buffer.alloc(32) };
      l.run(
        "UPDATE checkpoints SET note = ? WHERE size = 300",
        signCheckpoint(l.log, 300, root, makeKey("oncegate")),
      );
    },
    [SOUND, "signature 200", "signature 200"],
  ],
  [
    "of another log",
    (l) => {
      const { root } = l.log.checkpoints[2] ?? { root: Buffer.alloc(32) };
      l.run(
        "UPDATE checkpoints SET note = ? WHERE size = 300",
        signCheckpoint({ ...l.log, shard: "1:1" }, 300, root),
      );
    },
    "checkpoint 200",
  ],
  [
    "of a tree that never was, signed by the key",
    (l) => {
      const root = sha256("another tree");
      l.run(
        "UPDATE checkpoints SET note = ?, root = ? WHERE size = 300",
        signCheckpoint(l.log, 300, root),
        root.toString("hex"),
      );
    },
    "root 200",
  ],
]);

describeRows("the whole log", () => new Ledger(), [
  ["without its newest rows", (l) => l.run("DELETE FROM bundles WHERE first = 512"), "missing 512"],
  ["without its newest rows and the checkpoints over them", (l) => l.cutTo(500), [SOUND, SOUND, "pin 500"]],
  ["without anything", (l) => l.replaceTable("bundles", makeLog(0, 1)), "missing 0"],
  [
    "without its first rows and no prune entry",
    (l) => l.run("DELETE FROM bundles WHERE first = 0"),
    "missing 0",
  ],
  [
    "rebuilt by somebody without the key",
    (l) => l.rebuild(makeKey("oncegate"), 1_000),
    [SOUND, "signature 0", "signature 0"],
  ],
  ["rebuilt by somebody with the key", (l) => l.rebuild(l.log.key, 1_000), [SOUND, SOUND, "pin 0"]],
]);

it("says how far what is missing goes: to the newest checkpoint", async () => {
  const ledger = new Ledger();
  ledger.run("DELETE FROM bundles WHERE first = 512");
  const { verdict } = await verifyLedger(readDatabase(ledger.database), { key: ledger.log.key.vkey });
  expect(verdict).toMatchObject({ first: { detail: expect.stringContaining("entries up to 599,") } });
});

describeRows("a prune record", () => Ledger.pruned(), [
  ["as it should be", () => {}, SOUND],
  ["whose row says another entry", (l) => l.run("UPDATE prunes SET entry = 599"), "prune 599"],
  ["whose row says more was pruned", (l) => l.run("UPDATE prunes SET until = 512"), "prune 600"],
  ["whose row is deleted: the entry is what counts", (l) => l.run("DELETE FROM prunes"), SOUND],
  ["that allows less than is gone", (l) => l.run("DELETE FROM bundles WHERE first = 256"), "missing 0"],
  [
    "that no checkpoint covers",
    (l) => l.run("DELETE FROM checkpoints WHERE size > 600"),
    ["prune 600", "prune 600", "pin 600"],
  ],
  [
    "that was edited",
    (l) => {
      l.editEntry(600, (line) => line.replace('"target":"256"', '"target":"512"'));
      l.recompute();
    },
    "entry 600",
  ],
  ["without the hashes of what is gone", (l) => l.run("DELETE FROM hashes WHERE first = 0"), "missing 0"],
]);

describeRows("a row of the effects table", () => new Ledger(), [
  [
    "with another state",
    (l) => l.run("UPDATE effects SET state = 'failed' WHERE stream = ?", streamOf(l, 0)),
    `effect ${lastOf(0)}`,
  ],
  [
    "of an older version",
    (l) => l.run("UPDATE effects SET version = 1, state = 'intent' WHERE stream = ?", streamOf(l, 0)),
    `effect ${lastOf(0)}`,
  ],
  [
    "of an effect that no entry tells of",
    (l) => l.run("UPDATE effects SET effect_id = 'e-1' WHERE stream = ?", streamOf(l, 0)),
    `effect ${lastOf(0)}`,
  ],
  [
    "of a stream that is not there",
    (l) => l.run("UPDATE effects SET stream = ? WHERE stream = ?", "f".repeat(64), streamOf(l, 0)),
    "effect 600",
  ],
  [
    "deleted: finished effects may have none",
    (l) => l.run("DELETE FROM effects WHERE stream = ?", streamOf(l, 0)),
    SOUND,
  ],
]);

/** The stream of an entry. */
function streamOf({ log }: Pick<Ledger, "log">, index: number): string {
  return /"stream":"([0-9a-f]{64})"/.exec(log.lines[index] ?? "")?.[1] ?? "";
}

/** Index of the last entry in the stream of one. */
function lastOf(index: number): number {
  const log = makeLog(ENTRIES, EVERY);
  const stream = streamOf({ log }, index);
  return log.lines.findLastIndex((line) => line.includes(`"stream":"${stream}"`));
}
