/** Runs the project's own wrangler: offline, without questions, and with only those of its lines that say something. */
import { execFile, spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { dropNoise, isNoise } from "./noise.mjs";
import { killTree } from "./process-tree.mjs";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIN = join(ROOT, "node_modules", ".bin");
const WRANGLER = join(BIN, "wrangler");
const STOP_MS_MAX = 8_000;

/** Ctrl-C reaches wrangler and its runtime as well: a line waits so long for the word that it comes of stopping. */
const HOLD_MS = 50;

/**
 * Applies the D1 migrations of the ledger to the local database.
 *
 * @param {readonly string[]} shared the options that decide where that database is (`--persist-to`, `--config`, `--env`)
 * @param {AbortSignal} stop ends it before its time
 * @returns {Promise<{kind: "applied"} | {kind: "failed", output: string}>} `output` is what wrangler says of the reason
 */
export function applyMigrations(shared, stop) {
  return new Promise((resolve) => {
    const args = ["d1", "migrations", "apply", "DB", "--local", ...shared];
    const options = { cwd: ROOT, env: { ...quietEnvironment(), CI: "1" }, timeout: 60_000, signal: stop };
    const child = execFile(WRANGLER, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ kind: "applied" });
      const [told, aside] = [stderr, stdout].map((text) => dropNoise(stripVTControlCharacters(text)));
      resolve({ kind: "failed", output: told || aside || error.message });
    });
    child.stdin.end();
  });
}

/**
 * Starts `wrangler dev`. Its lines go to this process's own stdout and stderr, the noise left out.
 *
 * @param {readonly string[]} args
 * @param {{verbose: boolean}} options verbose: nothing is left out
 * @returns {{pid: number | undefined, ended: Promise<number>, stop: (signal: string) => void}} `pid` is missing when it
 *   could not be started; `ended` gives the exit code (0 after a `stop`); `stop` ends it and everything it started, and
 *   nothing it says from then on is passed on
 */
export function startDev(args, { verbose }) {
  const child = spawn(WRANGLER, ["dev", ...args], {
    cwd: ROOT,
    env: quietEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stopping = false;
  const isWanted = (line) => !stopping && (verbose || !isNoise(line));
  passLines(child.stdout, process.stdout, isWanted);
  passLines(child.stderr, process.stderr, isWanted);
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
  return { pid: child.pid, ended, stop };
}

function passLines(from, to, isWanted) {
  createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    const plain = stripVTControlCharacters(line);
    // wrangler colours its errors whatever it writes to.
    setTimeout(() => isWanted(plain) && to.write(`${to.isTTY ? line : plain}\n`), HOLD_MS);
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
