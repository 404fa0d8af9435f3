/**
 * `npm start`: everything a first run needs, on this machine alone. Secrets, local database, an origin to stand in front
 * of, then `wrangler dev` with the arguments given here passed on as they are.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { findMistake, readOption, readVar } from "./arguments.mjs";
import { ensureDevVars } from "./dev-vars.mjs";
import { waitForHealth } from "./health.mjs";
import { startDemoOrigin } from "./origin.mjs";
import { isPortFree, suggestArguments } from "./port.mjs";
import { DEMO_ROUTES, findOrigin, hasRoutes, readSettings } from "./settings.mjs";
import { takeLock } from "./state-lock.mjs";
import { applyMigrations, ROOT, startDev } from "./wrangler.mjs";

/** The gateway's lines on what is wrong come through a pipe; the word that points at them waits for them. */
const LINES_MS = 500;

const args = process.argv.slice(2);
const ip = readOption(args, ["--ip"]) ?? "127.0.0.1";
const port = Number(readOption(args, ["--port"]) ?? 8787);
const say = (text) => process.stdout.write(`${text}\n`);

// wrangler reads relative paths from where it runs, which is here.
process.chdir(ROOT);
process.exitCode = await start();

async function start() {
  const mistake = findMistake(args, process.env);
  if (mistake !== null) return refuse(mistake);
  if (!existsSync(join("node_modules", ".bin", "wrangler"))) return refuse("Run `npm ci` first.");
  const stop = listenForStop();
  const config = dirname(resolve(readOption(args, ["--config", "-c"]) ?? "wrangler.toml"));
  const persistTo = readOption(args, ["--persist-to", "--persistTo"]);
  const state = persistTo === null ? join(config, ".wrangler", "state") : resolve(persistTo);
  const lock = await lockState(state);
  if (lock.kind === "refused") return refuse(lock.message);
  try {
    return await startLocked(config, lock, stop);
  } finally {
    await lock.release();
  }
}

function refuse(message) {
  process.stderr.write(`${message}\n`);
  return 1;
}

/** Aborted, with the signal's name as its reason, when somebody wants the gateway to end. */
function listenForStop() {
  const asked = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => asked.abort(signal));
  process.on("SIGHUP", () => asked.abort("SIGTERM")); // wrangler's wrapper would end alone
  // npm puts a shell in between that passes no signal on: when it is gone, so is whoever wanted the gateway.
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && asked.abort("SIGTERM"), 500).unref();
  }
  return asked.signal;
}

async function lockState(folder) {
  try {
    const lock = await takeLock(folder);
    if (lock.kind === "held") return lock;
    if (lock.kind === "stuck") return { kind: "refused", message: `Remove ${lock.file} and start again.` };
    const own = `npm start -- ${await suggestArguments(ip, port)}`;
    const message = `Another gateway uses this state (pid ${lock.pid}): stop it, or give this one its own: ${own}`;
    return { kind: "refused", message };
  } catch (error) {
    return { kind: "refused", message: `The state folder cannot be used: ${error.message}` };
  }
}

async function startLocked(config, lock, stop) {
  if (!(await isPortFree(ip, port))) {
    return refuse(`Port ${port} on ${ip} is in use: npm start -- ${await suggestArguments(ip, port)}`);
  }
  const secrets = await ensureDevVars(join(config, ".dev.vars"));
  if (secrets === "created") say("Wrote .dev.vars with random secrets; the operators' tokens are in it.");
  const [migrated, settings] = await Promise.all([
    applyMigrations(sharedOptions(), stop),
    readSettings(args),
  ]);
  if (stop.aborted) return 0;
  const reason = migrated.kind === "failed" ? migrated.output : settings.message;
  if (migrated.kind === "failed" || settings.kind === "failed") {
    return refuse(`wrangler could not read the configuration or prepare the local database:\n${reason}`);
  }
  const origin = findOrigin(args, settings);
  const demo = origin.kind === "none" ? await startDemoOrigin() : null;
  const prefix = readVar(args, "PREFIX") ?? settings.vars.PREFIX?.value ?? "/_oncegate";
  try {
    const routes = hasRoutes(args, settings) ? null : DEMO_ROUTES;
    const behind = demo === null ? origin : { kind: "demo", url: demo.url, routes };
    return await runGateway(behind, prefix, lock, stop);
  } finally {
    await demo?.close();
  }
}

/** What decides which configuration and which local database are meant: the same for migrations and gateway. */
function sharedOptions() {
  const names = [
    ["--persist-to", "--persistTo"],
    ["--config", "-c"],
    ["--env", "-e"],
  ];
  return names.flatMap((name) => {
    const value = readOption(args, name);
    return value === null ? [] : [name[0], value];
  });
}

async function runGateway(origin, prefix, lock, stop) {
  const verbose = readOption(args, ["--log-level"]) !== null;
  const dev = startDev(completeArguments(origin), { verbose });
  const ended = new AbortController();
  const exit = dev.ended.finally(() => ended.abort());
  exit.catch(() => {}); // its reason is thrown by the await below
  stop.addEventListener("abort", () => dev.stop(stop.reason));
  // Were this process killed, wrangler would live on and go on using the state.
  if (dev.pid !== undefined) await lock.addProcess(dev.pid);
  if (stop.aborted) dev.stop(stop.reason);
  const over = AbortSignal.any([ended.signal, stop]);
  const health = await waitForHealth(`${gatewayUrl()}${prefix}/health`, over);
  if (health.kind === "refused") await new Promise((wake) => setTimeout(wake, LINES_MS));
  if (!over.aborted) sayHealth(health, origin);
  return await exit;
}

function completeArguments(origin) {
  const defaults = [
    ["--ip", ip],
    ["--port", String(port)],
    ["--inspector-port", "0"],
    ["--show-interactive-dev-session", "false"],
  ];
  const missing = defaults.flatMap(([name, value]) =>
    readOption(args, [name]) === null ? [`${name}=${value}`] : [],
  );
  return [...missing, ...args, ...(origin.kind === "demo" ? demoArguments(origin) : [])];
}

function demoArguments({ url, routes }) {
  const own = routes === null ? [] : ["--var", `ROUTES:${JSON.stringify(routes)}`];
  return ["--var", `ORIGIN_URL:${url}`, ...own];
}

function gatewayUrl() {
  const scheme = readOption(args, ["--local-protocol"]) === "https" ? "https" : "http";
  const everywhere = ["0.0.0.0", "::", "*"].includes(ip);
  const host = everywhere ? "127.0.0.1" : ip.includes(":") ? `[${ip}]` : ip;
  return `${scheme}://${host}:${port}`;
}

function sayHealth(health, origin) {
  switch (health.kind) {
    case "silent":
      return say("The gateway gave no answer about its health within a minute.");
    case "refused":
      return health.text.includes("/problems/misconfigured")
        ? say("Not configured: see the lines above that say misconfigured")
        : say(`The gateway is up but not healthy (status ${health.status}): ${health.text}`);
    default:
      say(`Gateway: ${gatewayUrl()}`);
      say(`Behind it: ${describeOrigin(origin)}`);
      if (origin.kind === "demo") sayWhatToTry(gatewayUrl());
  }
}

function describeOrigin(origin) {
  switch (origin.kind) {
    case "demo":
      return `${origin.url} (the demo origin: a payments API that counts real executions)`;
    case "binding":
      return `the Worker ${origin.service} (service binding ORIGIN in ${origin.from}); it needs a wrangler dev of its own`;
    default:
      return `${origin.url} (ORIGIN_URL from ${origin.from})`;
  }
}

function sayWhatToTry(url) {
  // A key of its own for every start: stored answers outlive the demo origin's memory.
  const key = `try-${randomBytes(3).toString("hex")}`;
  const headers = ["Authorization: Bearer demo", `Idempotency-Key: ${key}`, "Content-Type: application/json"];
  const body = `{"amount":1200,"currency":"EUR"}`;
  const pay = `curl -i ${url}/payments ${headers.map((header) => `-H '${header}'`).join(" ")} -d '${body}'`;
  say(`\nPay, and pay again with the same key:\n\n${pay}\n${pay}\n`);
  say(`How many payments were really made:\n\ncurl ${url}/payments\n`);
}
