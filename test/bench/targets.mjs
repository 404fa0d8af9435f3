/**
 * What is measured: the gateway as `wrangler deploy` would upload it, and the floors, on the same workerd
 * binary.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { unstable_readConfig } from "wrangler";
import { startChild } from "./children.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FLOORS = fileURLToPath(new URL("floors", import.meta.url));
const BUILD_MS_MAX = 90_000;
const MEMORY_DISK = "/dev/shm";

const QUIET = {
  CI: "1",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
};

const config = unstable_readConfig({ config: join(ROOT, "wrangler.toml") });

/** Bundles the Worker into a directory that is removed when this process ends; the path of the bundle. */
export function buildGateway() {
  const directory = mkdtempSync(join(tmpdir(), "oncegate-bench-build-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  execFileSync(process.execPath, [wrangler, "deploy", "--dry-run", "--outdir", directory], {
    cwd: ROOT,
    env: { ...process.env, ...QUIET },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: BUILD_MS_MAX,
  });
  const bundle = readdirSync(directory).find((name) => name.endsWith(".js"));
  return join(directory, bundle);
}

/**
 * Starts what the target names: { floor: NAME }, or { routes: [...], vars: {...} } for the gateway with these routes. `driver`: a Worker that
 * stands in front of the gateway's objects in its place.
 */
export function startTarget(target, { bundle, originPort }) {
  const origin = { ORIGIN_URL: `http://127.0.0.1:${originPort}` };
  const shared = {
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
    storage: mkdtempSync(join(existsSync(MEMORY_DISK) ? MEMORY_DISK : tmpdir(), "oncegate-bench-")),
  };
  const spec =
    target.floor === undefined
      ? {
          ...shared,
          ...describeGateway(bundle, target.driver ?? null),
          bindings: bindGateway(target.routes, { ...origin, ...target.vars }),
        }
      : { ...shared, ...describeFloor(target.floor), bindings: origin };
  return startChild("serve.mjs", { argument: JSON.stringify(spec), storage: shared.storage });
}

function describeGateway(bundle, driver) {
  const [database] = config.d1_databases;
  return {
    name: config.name,
    scripts: driver === null ? [bundle] : [copyBeside(bundle, driver), bundle],
    objects: Object.fromEntries(config.durable_objects.bindings.map((each) => [each.name, each.class_name])),
    databases: Object.fromEntries(config.d1_databases.map((each) => [each.binding, each.database_name])),
    migrations: database === undefined ? null : join(ROOT, database.migrations_dir ?? "migrations"),
  };
}

/** A Worker that imports the bundle as `./worker.js`. */
function copyBeside(bundle, driver) {
  const copy = join(dirname(bundle), basename(driver));
  if (copy !== driver) copyFileSync(driver, copy);
  return copy;
}

function bindGateway(routes, origin) {
  const secret = () => randomBytes(32).toString("base64");
  return {
    ...config.vars,
    // A log line costs as much as some of the rows; one row measures it by itself.
    LOG_REQUESTS: "problems",
    // The floors keep no ledger; one row measures it by itself.
    LEDGER_SINKS: '["none"]',
    ...origin,
    ROUTES: JSON.stringify(routes),
    NAMING_KEY: secret(),
    SEALING_KEY: secret(),
  };
}

function describeFloor(name) {
  const hasObject = name.startsWith("object-") || ["replay-object", "replay-noted"].includes(name);
  return {
    name,
    scripts: [join(FLOORS, `${name}.js`)],
    objects: hasObject ? { KEYS: "KeyObject" } : {},
    databases: {},
    migrations: null,
  };
}
