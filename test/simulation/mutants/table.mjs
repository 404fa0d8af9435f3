/** Writes what became of each mutant into `test/README.md`. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const README = new URL("../../README.md", import.meta.url);
const BLOCK = /(<!-- mutants -->)[\s\S]*?(<!-- \/mutants -->)/;

export function writeTable(mutants, deaths, { seed, histories }) {
  const rows = mutants.map(({ name, layer }) => {
    const death = deaths.get(name);
    return `| ${name} | ${layer} | ${death === null ? "**lives**" : `${death.history} | ${death.invariant}`} |`;
  });
  const dead = mutants.filter(({ name }) => deaths.get(name) !== null).length;
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const day = new Date().toISOString().slice(0, 10);
  const text = [
    `${dead} of ${mutants.length} dead, each within ${histories} histories from seed ${seed}; ${day}, on ${commit}.`,
    "",
    "| mutant | layer | dies at history | by |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
  writeFileSync(
    README,
    readFileSync(README, "utf8").replace(BLOCK, (_, open, close) => `${open}\n${text}\n${close}`),
  );
}
