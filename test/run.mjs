/**
 * `npm test`: type check, lint, then every layer of tests, each run whatever the ones before it said. Arguments go to
 * vitest (`npm test -- --project unit`). The last line is `N passed, N failed`, the type check and the lint counted as
 * one each; exit code 0 only if nothing failed.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { killTree } from "../src/demo/process-tree.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const STEP_MS_MAX = 25 * 60_000;
const PATH = `${join(ROOT, "node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`;
// `biome ci` colours its output even into a file.
const plainLint = process.stdout.isTTY ? [] : ["--", "--colors=off"];

const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    for (const child of running) child.kill(signal);
    setTimeout(() => process.exit(1), 5_000).unref();
  });
}

const steps = [
  await runCheck("type check", "npm", ["run", "--silent", "typecheck"]),
  await runCheck("lint", "npm", ["run", "--silent", "lint", ...plainLint]),
  await runTests(process.argv.slice(2)),
];
const passed = steps.reduce((sum, step) => sum + step.passed, 0);
const failed = steps.reduce((sum, step) => sum + step.failed, 0);
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

async function runCheck(name, command, args) {
  const code = await runCommand(command, args);
  process.stdout.write(`${name}: ${code === 0 ? "passed" : "FAILED"}\n`);
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), "oncegate-report-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const code = await runCommand("vitest", ["run", ...reporters, ...args]);
    return countTests(report, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that could not be loaded, a hook that failed, an error outside of any test and a run without tests fail too. */
function countTests(report, code) {
  const files = readReport(report);
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === "passed").length;
  const broken = files.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  const failed = tests.filter((test) => test.status === "failed").length + broken.length;
  const unsaid = failed === 0 && (code !== 0 || passed === 0);
  return { passed, failed: unsaid ? 1 : failed };
}

function readReport(report) {
  try {
    return JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    process.stdout.write("vitest ended without a report\n");
    return [];
  }
}

/** Runs to the end with the output shown; a command that takes too long is killed and counts as failed. */
function runCommand(command, args) {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, PATH }, stdio: ["ignore", "inherit", "inherit"] };
    const child = spawn(command, args, options);
    running.add(child);
    const timer = setTimeout(() => {
      process.stdout.write(`${command} took more than ${STEP_MS_MAX / 60_000} minutes\n`);
      killTree(child.pid);
    }, STEP_MS_MAX);
    const finish = (code) => {
      clearTimeout(timer);
      running.delete(child);
      resolve(code ?? 1);
    };
    child.once("error", (error) => {
      process.stdout.write(`${command} could not be started: ${error.message}\n`);
      finish(1);
    });
    child.once("close", finish);
  });
}
