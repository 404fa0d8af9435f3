/**
 * Starts the runtime each time it is told to, and ends it when whoever tells is gone. Takes `{ args, config }` over the
 * IPC channel, gives `{ kind: "ready", pid, port, inspector }` when the server listens and `{ kind: "ended" }` when it has ended,
 * whoever ended it. `inspector`: the inspector's port; null where the arguments ask for none.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import workerd from "workerd";

/** The socket that leads to the Worker without another one before it. */
const DIRECT = /^direct:/;

let child = null;

function start({ args, config }) {
  const started = spawn(workerd.default ?? workerd, args, { stdio: ["pipe", "inherit", "inherit", "pipe"] });
  child = started;
  // It may be killed before it has read all of its configuration.
  started.stdin.on("error", () => {});
  started.stdin.end(readFileSync(config));
  const isInspected = args.some((arg) => arg.startsWith("--inspector-addr="));
  let direct = null;
  let inspector = null;
  createInterface(started.stdio[3]).on("line", (line) => {
    const { event, socket, port } = JSON.parse(line);
    const isDirect = DIRECT.test(socket ?? "");
    if (event === "listen-inspector") inspector = port;
    else if (isDirect) direct = port;
    else return;
    const isReady = direct !== null && (inspector !== null || !isInspected);
    if (isReady) process.send({ kind: "ready", pid: started.pid, port: direct, inspector });
  });
  started.once("exit", () => {
    if (process.connected) process.send({ kind: "ended" });
  });
}

process.on("message", start);
process.on("disconnect", () => {
  child?.kill("SIGKILL");
  process.exit(0);
});
