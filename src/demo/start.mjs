/**
 * `npm start`: everything a first run needs, on this machine alone. Secrets, local database, an origin to stand in front
 * of, then `wrangler dev` with the arguments given here passed on as they are.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { readOption, readVar } from "./arguments.mjs";
import { ensureDevVars } from "./dev-vars.mjs";
import { waitForHealth } from "./health.mjs";
import { startDemoOrigin } from "./origin.mjs";
import { applyMigrations, ROOT, startDev } from "./wrangler.mjs";

const args = process.argv.slice(2);
const ip = readOption(args, ["--ip"]) ?? "127.0.0.1";
const port = Number(readOption(args, ["--port"]) ?? 8787);
const say = (text) => process.stdout.write(`${text}\n`);

process.exitCode = await start();

async function start() {
  const obstacle = await findObstacle();
  if (obstacle !== null) {
    process.stderr.write(`${obstacle}\n`);
    return 1;
  }
  const secrets = await ensureDevVars(join(ROOT, ".dev.vars"));
  if (secrets === "created") say("Wrote .dev.vars with random secrets; the operator's token is in it.");
  const migrated = await applyMigrations(sharedOptions());
  if (migrated.kind === "failed") {
    process.stderr.write(`The ledger's migrations could not be applied:\n${migrated.output}\n`);
    return 1;
  }
  const given = readVar(args, "ORIGIN_URL");
  const demo = given === null ? await startDemoOrigin() : null;
  try {
    return await runGateway(given, demo);
  } finally {
    await demo?.close();
  }
}

async function findObstacle() {
  if (!existsSync(join(ROOT, "node_modules", ".bin", "wrangler"))) return "Run `npm ci` first.";
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return "--port is a number from 1 to 65535.";
  return (await isPortFree()) ? null : `Port ${port} on ${ip} is in use: npm start -- --port ${port + 1}`;
}

function isPortFree() {
  return new Promise((resolve) => {
    const probe = createServer();
    // An address that is not ours is for wrangler to explain; only a taken port is said here.
    probe.once("error", (error) => resolve(error.code !== "EADDRINUSE"));
    probe.listen({ port, host: ip === "*" ? undefined : ip, exclusive: true }, () =>
      probe.close(() => resolve(true)),
    );
  });
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

async function runGateway(given, demo) {
  const verbose = readOption(args, ["--log-level"]) !== null;
  const dev = startDev(completeArguments(demo), { verbose });
  const ended = new AbortController();
  onStopAsked((signal) => {
    ended.abort();
    dev.stop(signal);
  });
  const exit = dev.ended.finally(() => ended.abort());
  exit.catch(() => {}); // its reason is thrown by the await below
  const health = await waitForHealth(`${gatewayUrl()}${readPrefix()}/health`, ended.signal);
  if (!ended.signal.aborted) sayHealth(health, given ?? demo.url, demo !== null);
  return await exit;
}

function onStopAsked(stop) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop(signal));
  // npm puts a shell in between that passes no signal on: when it is gone, so is whoever wanted the gateway.
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop("SIGTERM"), 500).unref();
}

function completeArguments(demo) {
  const defaults = [
    ["--ip", ip],
    ["--port", String(port)],
    ["--inspector-port", "0"],
    ["--show-interactive-dev-session", "false"],
  ];
  const missing = defaults.flatMap(([name, value]) =>
    readOption(args, [name]) === null ? [`${name}=${value}`] : [],
  );
  const origin = demo === null ? [] : ["--var", `ORIGIN_URL:${demo.url}`];
  return [...missing, ...args, ...origin];
}

function gatewayUrl() {
  const scheme = readOption(args, ["--local-protocol"]) === "https" ? "https" : "http";
  const everywhere = ["0.0.0.0", "::", "*"].includes(ip);
  const host = everywhere ? "127.0.0.1" : ip.includes(":") ? `[${ip}]` : ip;
  return `${scheme}://${host}:${port}`;
}

function readPrefix() {
  const fromArguments = readVar(args, "PREFIX");
  if (fromArguments !== null) return fromArguments;
  const config = readOption(args, ["--config", "-c"]) ?? join(ROOT, "wrangler.toml");
  const line = /^\s*PREFIX\s*=\s*["']([^"']*)["']/m;
  for (const file of [join(ROOT, ".dev.vars"), config]) {
    const found = existsSync(file) ? line.exec(readFileSync(file, "utf8")) : null;
    if (found !== null) return found[1];
  }
  return "/_oncegate";
}

function sayHealth(health, origin, isDemo) {
  if (health.kind === "silent") say("The gateway gave no answer about its health within a minute.");
  if (health.kind === "refused") {
    say(`The gateway is up but not healthy (status ${health.status}):\n${health.text}`);
  }
  if (health.kind !== "sound") return;
  const url = gatewayUrl();
  say(`Gateway: ${url}`);
  say(
    `Behind it: ${origin}${isDemo ? " (the demo origin: a payments API that counts real executions)" : ""}`,
  );
  if (isDemo) sayWhatToTry(url);
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
