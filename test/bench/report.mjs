/** What a run prints. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { median, quantile } from "./statistics.mjs";

const HEADINGS = [
  ["case", 35],
  ["floor", 14],
  ["µs CPU", 7],
  ["gateway", 8],
  ["ratio (quartiles)", 19],
  ["target", 8],
  ["", 7],
  ["p50 ms", 7],
  ["gateway", 8],
  ["ratio", 6],
  ["later µs", 9],
  ["gateway", 8],
];

/** What it was measured on, with the versions that matter. */
export function describeMachine() {
  const { version } = createRequire(import.meta.url)("workerd/package.json");
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    workerd: version,
    node: process.versions.node,
    load: readFileSync("/proc/loadavg", "utf8").split(" ")[0],
  };
}

export function printMachine(machine) {
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Linux ${machine.kernel}, ` +
      `workerd ${machine.workerd}, Node ${machine.node}, load average ${machine.load}`,
  );
}

/** Medians over the rounds; ratios are taken within each round, where both sides met the same weather. */
export function summarise(row, rounds) {
  const pick = (side, field) => median(rounds.map((points) => points[side][field]));
  const costOf = ({ cpu, cpuLater }) => cpu + (row.isPaidLater === true ? cpuLater : 0);
  const ratios = rounds.map(({ floor, gateway }) => costOf(gateway) / costOf(floor));
  const ratio = median(ratios);
  return {
    id: row.id,
    title: row.title,
    floorName: row.floor,
    factor: row.factor,
    verdict: row.factor === null ? "reported" : ratio <= row.factor ? "met" : "MISSED",
    cpu: {
      floor: median(rounds.map(({ floor }) => costOf(floor))),
      gateway: median(rounds.map(({ gateway }) => costOf(gateway))),
    },
    cpuLater: { floor: pick("floor", "cpuLater"), gateway: pick("gateway", "cpuLater") },
    ratio: { median: ratio, low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) },
    p50: {
      floor: pick("floor", "p50"),
      gateway: pick("gateway", "p50"),
      ratio: median(rounds.map(({ floor, gateway }) => gateway.p50 / floor.p50)),
    },
    rounds,
  };
}

export function printTable(summaries) {
  printRow(HEADINGS.map(([heading]) => heading));
  for (const row of summaries) {
    const { ratio } = row;
    printRow([
      row.title,
      row.floorName,
      row.cpu.floor.toFixed(0),
      row.cpu.gateway.toFixed(0),
      `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
      row.factor === null ? "" : `≤ ${row.factor.toFixed(2)}`,
      row.factor === null ? "" : row.verdict,
      row.p50.floor.toFixed(2),
      row.p50.gateway.toFixed(2),
      row.p50.ratio.toFixed(2),
      row.cpuLater.floor.toFixed(0),
      row.cpuLater.gateway.toFixed(0),
    ]);
  }
}

function printRow(cells) {
  const padded = cells.map((cell, column) => {
    const width = HEADINGS[column][1];
    return column < 2 ? cell.padEnd(width) : cell.padStart(width);
  });
  console.log(padded.join("  ").trimEnd());
}
