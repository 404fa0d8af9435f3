/** Processes of a simulation: each gets a task and says what came of it, line by line. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("worker.mjs", import.meta.url));

const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    for (const child of running) child.kill("SIGKILL");
    process.exit(1);
  });
}

/** Resolves when the process has ended; rejects where it failed. `onMessage` gets each message, `onText` what else it prints. */
export function runTask(task, onMessage, onText = () => undefined) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WORKER, JSON.stringify(task)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    let complaint = "";
    child.stderr.on("data", (chunk) => {
      complaint = (complaint + String(chunk)).slice(-4_000);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith('{"kind":')) onMessage(JSON.parse(line));
      else onText(line);
    });
    child.once("error", reject);
    child.once("close", (code) => {
      running.delete(child);
      if (code === 0) resolve();
      else reject(new Error(`a process of the simulation ended with ${code}: ${complaint}`));
    });
  });
}
