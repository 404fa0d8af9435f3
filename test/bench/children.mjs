/**
 * Starting and ending the processes of a run. Every child leads its own process group and is ended by that
 * group's id; children also end by themselves when the channel to this process closes, so nothing outlives a
 * run that was killed.
 */
import { fork } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const READY_MS = 30_000;
const children = new Set();

/** Resolves to { pid, port, ask(message, timeoutMs), stop() } once the script says that it is ready. */
export async function startChild(script, { argument = "", storage = null } = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = fork(path, [argument], { detached: true, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const entry = { pid: child.pid, storage };
  children.add(entry);
  const { port } = await awaitMessage(child, READY_MS, script);
  return {
    pid: child.pid,
    port,
    ask(message, timeoutMs) {
      child.send(message);
      return awaitMessage(child, timeoutMs, script);
    },
    stop: () => stopEntry(entry),
  };
}

export function stopChildren() {
  for (const entry of children) stopEntry(entry);
}

/** Ends all children when this process ends: by itself, by an error, or by a signal. */
export function stopChildrenAtExit() {
  process.on("exit", stopChildren);
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ]) {
    process.on(signal, () => process.exit(code));
  }
}

function stopEntry(entry) {
  if (!children.delete(entry)) return;
  try {
    process.kill(-entry.pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
  if (entry.storage !== null) rmSync(entry.storage, { recursive: true, force: true, maxRetries: 5 });
}

function awaitMessage(child, timeoutMs, script) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(new Error(`${script}: no answer in ${timeoutMs} ms`)), timeoutMs);
    const onExit = (code) => settle(new Error(`${script} ended with code ${code}`));
    const onMessage = (message) => settle(null, message);
    function settle(error, message) {
      clearTimeout(timer);
      child.off("exit", onExit);
      child.off("message", onMessage);
      if (error === null) resolve(message);
      else reject(error);
    }
    child.once("exit", onExit);
    child.once("message", onMessage);
  });
}
