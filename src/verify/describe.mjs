// @ts-check
/** The verdict in words. */

/** @import { Finding, ShardReport, Verdict } from "./types.ts" */

const FINDINGS_SHOWN = 10;

/**
 * @param {Verdict} verdict
 * @returns {string} Lines that end with a line feed; the first one says it all.
 */
export function describeVerdict(verdict) {
  switch (verdict.verdict) {
    case "sound":
      return toLines([
        `sound: ${count(verdict.entries, "entry", "entries")} in ${count(verdict.shards.length, "shard", "shards")}`,
        ...verdict.shards.map(describeShard),
        verdict.key === null
          ? "no key"
          : `key ${verdict.key}${verdict.isSelfHeld ? " (self-held by the ledger)" : ""}`,
        ...verdict.unchecked.map((what) => `NOT CHECKED: ${what}`),
      ]);
    case "broken":
      return toLines([
        `broken: ${describeFinding(verdict.first)}`,
        ...verdict.findings
          .filter((finding) => finding !== verdict.first)
          .slice(0, FINDINGS_SHOWN)
          .map((finding) => `  also: ${describeFinding(finding)}`),
      ]);
    case "not-checked":
      return toLines([`could not be checked: ${verdict.reason}`]);
  }
}

/** @param {Finding} finding */
function describeFinding({ class: kind, shard, index, detail }) {
  return `${kind} at index ${index} of shard ${shard}: ${detail}`;
}

/** @param {ShardReport} report */
function describeShard({ shard, first, size, covered, checkpoints, root, isClosed }) {
  const pruned = first > 0 ? `, ${first} of them pruned` : "";
  const closed = isClosed ? ", closed" : "";
  const open = size > covered ? `, ${size - covered} not yet under a checkpoint` : "";
  const signed =
    checkpoints === 0 ? "no checkpoint" : `${count(checkpoints, "checkpoint", "checkpoints")}, root ${root}`;
  return `  ${shard}: tree size ${covered}${closed}${pruned}${open}; ${signed}`;
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} many
 */
function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

/** @param {string[]} lines */
function toLines(lines) {
  return lines.map((line) => `${line}\n`).join("");
}
