/** The command line of `npm run bench -- …`, with its defaults and bounds. */
import { parseArgs } from "node:util";
import { LEDGER_ROWS } from "./ledger/rows.mjs";
import { ROWS } from "./rows.mjs";

export const USAGE = `npm run bench -- [options]
  --rows a,b         only these: ${ROWS.map((row) => row.id).join(", ")};
                     or of the ledger, which only run when they are named: ${LEDGER_ROWS.map((row) => row.id).join(", ")}
  --rounds N         rounds, 1 to 100 (7)
  --seconds S        length of a point, 0.2 to 10 (1.5)
  --connections N    requests under way at a time, 1 to 64 (8)
  --seed N           order of the points (from the clock; printed)
  --self             the floors on both sides: how much of a ratio is noise
  --full             the ledger's rows in full size: minutes instead of seconds
  --memory           peak memory instead: one 5 MiB answer, 1,000 waiters on one key
  --json FILE        also everything measured, as JSON`;

/** The options, or throws an Error that names the mistake. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: "string", default: ROWS.map((row) => row.id).join(",") },
      rounds: { type: "string", default: "7" },
      seconds: { type: "string", default: "1.5" },
      connections: { type: "string", default: "8" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      self: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      memory: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const rows = values.rows.split(",");
  const unknown = rows.find((id) => ![...ROWS, ...LEDGER_ROWS].some((row) => row.id === id));
  if (unknown !== undefined) throw new Error(`--rows: no row is called "${unknown}"\n${USAGE}`);
  return {
    rows,
    rounds: Math.trunc(readNumber("rounds", values.rounds, 1, 100)),
    seconds: readNumber("seconds", values.seconds, 0.2, 10),
    connections: Math.trunc(readNumber("connections", values.connections, 1, 64)),
    seed: Math.trunc(readNumber("seed", values.seed, 0, 4_294_967_295)),
    self: values.self,
    full: values.full,
    memory: values.memory,
    help: values.help,
    json: values.json ?? null,
  };
}

function readNumber(name, text, least, most) {
  const value = Number(text);
  if (text !== "" && value >= least && value <= most) return value;
  throw new Error(`--${name}: "${text}" is not a number from ${least} to ${most}`);
}
