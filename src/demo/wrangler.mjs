/** Runs the project's own wrangler: offline, without questions, and with only those of its lines that say something. */
import { execFile, spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { killTree } from "./process-tree.mjs";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIN = join(ROOT, "node_modules", ".bin");
const WRANGLER = join(BIN, "wrangler");
const STOP_MS_MAX = 8_000;

/** wrangler's own talk at a start and its line per request; whatever the Worker or an error says is none of these. */
const NOISE = [
  /^\s*$/,
  /^\[wrangler:info\] /,
  /^\s*⎔ /,
  /^Using (secrets|vars) defined in /,
  /^Your Worker has access to the following bindings:/,
  /^Binding\s+Resource(\s+Mode)?\s*$/,
  /^env\.\w+ \(.*\)\s+\S.*\slocal\s*$/,
  /^env\.\w+\s+Worker Version Metadata\s/,
  /Scheduled Workers are not automatically triggered/,
];

/**
 * Applies the D1 migrations of the ledger to the local database.
 *
 * @param {readonly string[]} shared the options that decide where that database is (`--persist-to`, `--config`, `--env`)
 * @returns {Promise<{kind: "applied"} | {kind: "failed", output: string}>}
 */
export function applyMigrations(shared) {
  return new Promise((resolve) => {
    const args = ["d1", "migrations", "apply", "DB", "--local", ...shared];
    const options = { cwd: ROOT, env: { ...quietEnvironment(), CI: "1" }, timeout: 60_000 };
    const child = execFile(WRANGLER, args, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim() || String(error?.message);
      resolve(error === null ? { kind: "applied" } : { kind: "failed", output });
    });
    child.stdin.end();
  });
}

/**
 * Starts `wrangler dev`. Its lines go to this process's own stdout and stderr, the noise left out.
 *
 * @param {readonly string[]} args
 * @param {{verbose: boolean}} options verbose: nothing is left out
 * @returns {{ended: Promise<number>, stop: (signal: string) => void}} `ended` gives the exit code (0 after a `stop`);
 *   `stop` ends it and everything it started
 */
export function startDev(args, { verbose }) {
  const child = spawn(WRANGLER, ["dev", ...args], {
    cwd: ROOT,
    env: quietEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  passLines(child.stdout, process.stdout, verbose);
  passLines(child.stderr, process.stderr, verbose);
  let stopping = false;
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(stopping ? 0 : (code ?? 1)));
  });
  const stop = (signal) => {
    if (stopping) return;
    stopping = true;
    child.kill(signal);
    setTimeout(() => killTree(child.pid), STOP_MS_MAX).unref();
  };
  return { ended, stop };
}

function passLines(from, to, verbose) {
  createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    const plain = stripVTControlCharacters(line);
    if (!verbose && NOISE.some((pattern) => pattern.test(plain))) return;
    // wrangler colours its errors whatever it writes to.
    to.write(`${to.isTTY ? line : plain}\n`);
  });
}

function quietEnvironment() {
  return {
    ...process.env,
    ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
    PATH: `${BIN}${delimiter}${process.env.PATH ?? ""}`,
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_WRITE_LOGS: "false",
  };
}
