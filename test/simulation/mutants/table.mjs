/** Writes what became of each mutant into `test/README.md`. Rows of mutants that were not hunted this time stay as they are. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { MUTANTS } from "./list.mjs";

const README = new URL("../../README.md", import.meta.url);
const BLOCK = /(<!-- mutants -->)([\s\S]*?)(<!-- \/mutants -->)/;
const LIVES = "**lives**";

export function writeTable(deaths, { seed, histories }) {
  const readme = readFileSync(README, "utf8");
  const earlier = rowsIn(BLOCK.exec(readme)?.[2] ?? "");
  const rows = MUTANTS.flatMap(({ name, layer }) => {
    const death = deaths.get(name);
    if (death === undefined) return earlier.has(name) ? [earlier.get(name)] : [];
    return `| ${name} | ${layer} | ${death === null ? `${LIVES} |` : `${death.history} | ${death.invariant}`} |`;
  });
  const dead = rows.filter((row) => !row.includes(LIVES)).length;
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const day = new Date().toISOString().slice(0, 10);
  const text = [
    `${dead} of ${rows.length} dead, each within ${histories.toLocaleString("en")} histories from seed ${seed}; ${day}, on ${commit}.`,
    "",
    "| mutant | layer | dies at history | by |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
  writeFileSync(
    README,
    readme.replace(BLOCK, (_, open, _block, close) => `${open}\n${text}\n${close}`),
  );
}

/** By the names of the mutants. */
function rowsIn(block) {
  const rows = block.split("\n").filter((line) => line.startsWith("| "));
  return new Map(rows.map((row) => [row.split(" | ")[0]?.slice(2), row]));
}
