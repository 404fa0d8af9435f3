// Aim: whatever is done to a stored ledger is reported with its class and the first bad index, and what a reader of one trust can't
// know is not claimed. Method: every unit in a database in memory is tampered with in every way; read without a key, with the key,
// and with the key and a pin file of the untampered log.
import { emptyLog, makeLog, rootOf, sha256, signCheckpoint } from "../../support/ledger-log.ts";
import { describeRows, flipDigit, flipEffect, flipStream, flipTime, swapLines } from "./tamper-rows.ts";
import { Ledger } from "./tampering.ts";

describeRows("an entry", () => new Ledger(), [
  ["flipped", (l) => l.editEntry(130, flipTime), "entry 130"],
  [
    "flipped in the newest bundle, where nothing else tells what it was: all it was signed with is named",
    (l) => l.editEntry(560, flipTime),
    "root 500",
  ],
  [
    "flipped so that it is no entry any more",
    (l) => l.editEntry(130, (line) => line.replace('"v":1', '"v":2')),
    "encoding 130",
  ],
  [
    "flipped in its place",
    (l) => l.editEntry(130, (line) => line.replace('"index":130', '"index":131')),
    "place 130",
  ],
  [
    "flipped in its prev",
    (l) => l.editEntry(560, (line) => line.replace(/"prev":"(.)/, (_, c) => `"prev":"${flipDigit(c)}`)),
    "entry 560",
  ],
  ["flipped in its stream", (l) => l.editEntry(130, flipStream), "entry 130"],
  ["truncated", (l) => l.editEntry(130, (line) => line.slice(0, -9)), "encoding 130"],
  ["extended by a space", (l) => l.editEntry(130, (line) => line.replace(":1,", ": 1,")), "encoding 130"],
  [
    "extended by a member",
    (l) => l.editEntry(130, (line) => line.replace("}", ',"note":"hello"}')),
    "encoding 130",
  ],
  ["deleted", (l) => l.editLines(0, (lines) => lines.toSpliced(130, 1)), "place 130"],
  ["duplicated", (l) => l.editLines(0, (lines) => lines.toSpliced(130, 0, lines[130] ?? "")), "place 131"],
  ["swapped with the next one", (l) => l.editLines(0, (lines) => swapLines(lines, 130, 131)), "place 130"],
  [
    "replaced by an older one",
    (l) => l.editLines(0, (lines) => lines.with(130, lines[30] ?? "")),
    "place 130",
  ],
  [
    "flipped with all hashes made to fit",
    (l) => {
      l.editEntry(130, flipTime);
      l.recompute();
    },
    "entry 130",
  ],
  [
    "deleted with all hashes made to fit",
    (l) => {
      l.editLines(0, (lines) => lines.toSpliced(130, 1));
      l.recompute();
    },
    "place 130",
  ],
]);

describeRows("an entry of a small log", () => new Ledger(makeLog(20, 20)), [
  ["flipped, with others after it in its stream", (l) => l.editEntry(0, flipTime), "entry 0"],
  ["flipped, the last one of its stream", (l) => l.editEntry(19, flipTime), "entry 19"],
  [
    "changed in two bytes, the last one of its stream",
    (l) => l.editEntry(19, (line) => flipTime(flipEffect(line))),
    "root 0",
  ],
]);

describeRows("a bundle", () => new Ledger(), [
  [
    "with a flipped digest",
    (l) => l.run("UPDATE bundles SET digest = ? WHERE first = 256", "0".repeat(64)),
    "bundle 256",
  ],
  ["with a wrong count", (l) => l.run("UPDATE bundles SET count = 257 WHERE first = 256"), "bundle 512"],
  [
    "with a wrong count and no hashes",
    (l) => l.run("UPDATE bundles SET count = 80 WHERE first = 512"),
    "bundle 592",
  ],
  [
    "truncated",
    (l) => l.run("UPDATE bundles SET body = substr(body, 1, 1000) WHERE first = 256"),
    "bundle 258",
  ],
  ["extended", (l) => l.editLines(512, (lines) => [...lines, lines[0] ?? ""]), "bundle 600"],
  ["deleted", (l) => l.run("DELETE FROM bundles WHERE first = 256"), "missing 256"],
  [
    "deleted with its hashes",
    (l) => {
      l.run("DELETE FROM bundles WHERE first = 256");
      l.run("DELETE FROM hashes WHERE first = 256");
    },
    "missing 256",
  ],
  [
    "duplicated",
    (l) => l.run("INSERT INTO bundles SELECT shard, 600, count, body, digest FROM bundles WHERE first = 512"),
    "place 600",
  ],
  [
    "overlapping another",
    (l) => l.run("INSERT INTO bundles SELECT shard, 300, count, body, digest FROM bundles WHERE first = 512"),
    "bundle 300",
  ],
  [
    "swapped with another",
    (l) => {
      const [a, b] = [l.linesFrom(0), l.linesFrom(256)];
      l.writeLines(0, b);
      l.writeLines(256, a);
    },
    "place 0",
  ],
  [
    "replaced by an older copy of itself",
    (l) => {
      l.editLines(512, (lines) => lines.slice(0, 40));
      l.recompute();
    },
    "missing 552",
  ],
  [
    "moved to another shard",
    (l) => l.run("UPDATE bundles SET shard = '1:1' WHERE first = 512"),
    "missing 512",
  ],
]);

describeRows("a row of hashes", () => new Ledger(), [
  [
    "with one hash flipped",
    (l) => {
      const leaves = String(l.get("SELECT leaves FROM hashes WHERE first = 256").leaves);
      l.run(
        "UPDATE hashes SET leaves = ? WHERE first = 256",
        leaves.slice(0, 640) + flipDigit(leaves.slice(640)),
      );
    },
    "hash 266",
  ],
  [
    "truncated",
    (l) => l.run("UPDATE hashes SET leaves = substr(leaves, 1, 640) WHERE first = 256"),
    "hash 256",
  ],
  [
    "extended",
    (l) => l.run("UPDATE hashes SET leaves = leaves || ? WHERE first = 256", "0".repeat(64)),
    "hash 256",
  ],
  [
    "with another root",
    (l) => l.run("UPDATE hashes SET root = ? WHERE first = 256", "0".repeat(64)),
    "hash 256",
  ],
  ["deleted, so that its proofs are lost", (l) => l.run("DELETE FROM hashes WHERE first = 256"), "hash 256"],
  [
    "swapped with another",
    (l) =>
      l.run(
        "UPDATE hashes SET leaves = (SELECT leaves FROM hashes AS other WHERE other.first = 256 - hashes.first)",
      ),
    "hash 0",
  ],
]);

describeRows("a stream's chain", () => new Ledger(), [
  [
    "without one of its entries, by whoever can sign",
    (l) => resign(l, (lines) => renumber(lines.toSpliced(130, 1))),
    "chain 133",
  ],
]);

/** Gives lines the indexes at which they stand now. */
function renumber(lines: string[]): string[] {
  return lines.map((line, index) => line.replace(/"index":\d+/, `"index":${index}`));
}

/** Another log of the same key, over changed lines. */
function resign(ledger: Ledger, edit: (lines: string[]) => string[]): void {
  const log = { ...emptyLog(ledger.log.shard, ledger.log.key), lines: edit(ledger.log.lines) };
  log.leaves = log.lines.map((line) => sha256(Uint8Array.of(0), line));
  const size = log.lines.length;
  const root = rootOf(log.leaves);
  log.checkpoints = [{ size, root, note: signCheckpoint(log, size, root), at: 0 }];
  for (const table of ["bundles", "hashes", "checkpoints"]) ledger.replaceTable(table, log);
  ledger.database.exec("DELETE FROM effects");
}
