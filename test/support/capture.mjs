#!/usr/bin/env node
/**
 * Stands where miniflare expects the runtime: writes the arguments and the configuration it is given into the folder
 * `CAPTURE_TO`, then runs the runtime with them.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import workerd from "workerd";

const folder = process.env.CAPTURE_TO ?? "";
const args = process.argv.slice(2);
const config = await buffer(process.stdin);
writeFileSync(join(folder, "config.bin"), config);
writeFileSync(join(folder, "args.json"), JSON.stringify(args));

const child = spawn(workerd.default ?? workerd, args, { stdio: ["pipe", "inherit", "inherit", 3] });
child.stdin.end(config);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill("SIGKILL"));
child.on("exit", (code) => process.exit(code ?? 1));
