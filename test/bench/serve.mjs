/**
 * One server: miniflare with one Worker on a direct socket (nothing passes through Node), leader of its own
 * process group. Its only argument is JSON: { scripts (the first one is the Worker, the others what it imports),
 * name, compatibilityDate, compatibilityFlags, bindings, objects (binding to class), databases (binding to name),
 * migrations (directory or null), storage (directory, removed at the end) }. Tells its parent the port. When the
 * parent is gone, however it went, everything here goes too.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { listGroup } from "./process-group.mjs";

const spec = JSON.parse(process.argv[2]);
process.on("disconnect", endGroup);

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.ERROR),
    logRequests: false,
    telemetry: { enabled: false },
    resourcePersistencePath: spec.storage,
    name: spec.name,
    modules: spec.scripts.map((path) => ({ type: "ESModule", path })),
    modulesRoot: dirname(spec.scripts[0]),
    compatibilityDate: spec.compatibilityDate,
    compatibilityFlags: spec.compatibilityFlags,
    bindings: spec.bindings,
    durableObjects: Object.fromEntries(
      Object.entries(spec.objects).map(([binding, className]) => [binding, { className, useSQLite: true }]),
    ),
    d1Databases: spec.databases,
    versionMetadata: "VERSION",
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  }),
);

await miniflare.ready;
await applyMigrations();
process.send({ kind: "ready", port: Number((await miniflare.unsafeGetDirectURL()).port) });

async function applyMigrations() {
  if (spec.migrations === null) return;
  const { unstable_splitSqlQuery } = await import("wrangler");
  const [binding] = Object.keys(spec.databases);
  const database = await miniflare.getD1Database(binding);
  const files = readdirSync(spec.migrations).filter((name) => name.endsWith(".sql"));
  for (const name of files.sort()) {
    const statements = unstable_splitSqlQuery(readFileSync(join(spec.migrations, name), "utf8"));
    if (statements.length > 0) await database.batch(statements.map((text) => database.prepare(text)));
  }
}

function endGroup() {
  for (const pid of listGroup(process.pid)) {
    if (pid !== process.pid) process.kill(pid, "SIGKILL");
  }
  rmSync(spec.storage, { recursive: true, force: true });
  process.exit(0);
}
