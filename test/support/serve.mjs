/**
 * Serves a built Worker with miniflare until it is told to stop or its parent is gone. Runs as a process group of its
 * own, so that a test can kill everything at once. Takes its settings, and gives its port, over the IPC channel.
 */
import { readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

const MODULE_TYPES = {
  ".js": "ESModule",
  ".mjs": "ESModule",
  ".txt": "Text",
  ".html": "Text",
  ".sql": "Text",
  ".bin": "Data",
  ".wasm": "CompiledWasm",
};

function listModules({ directory, entry }) {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && extname(each.name) in MODULE_TYPES)
    .map((each) => join(each.parentPath, each.name))
    .filter((path) => path !== entry);
  return [entry, ...paths].map((path) => ({ type: MODULE_TYPES[extname(path)], path }));
}

function describeOptions({ worker, bindings, persist }) {
  const durableObjects = worker.durableObjects.map(({ binding, className }) => [
    binding,
    { className, useSQLite: true },
  ]);
  return convertV4MiniflareOptions({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.WARN),
    logRequests: false,
    telemetry: { enabled: false },
    resourcePersistencePath: persist,
    name: worker.name,
    modules: listModules(worker),
    modulesRoot: worker.directory,
    compatibilityDate: worker.compatibilityDate,
    compatibilityFlags: worker.compatibilityFlags,
    bindings,
    durableObjects: Object.fromEntries(durableObjects),
    d1Databases: Object.fromEntries(worker.databases.map(({ binding }) => [binding, `test-${binding}`])),
    ...(worker.versionBinding === "" ? {} : { versionMetadata: worker.versionBinding }),
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  });
}

async function applyMigrations(miniflare, databases) {
  for (const { binding, migrations } of databases) {
    if (migrations.length === 0) continue;
    const database = await miniflare.getD1Database(binding);
    await database.exec(
      "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE)",
    );
    const { results } = await database.prepare("SELECT name FROM d1_migrations").all();
    if (results.length > 0) continue;
    const done = database.prepare("INSERT INTO d1_migrations (name) VALUES ('all')");
    await database.batch([...migrations.map((text) => database.prepare(text)), done]);
  }
}

let miniflare = null;

async function stop(code) {
  await miniflare?.dispose().catch(() => {});
  process.exit(code);
}

process.on("disconnect", () => void stop(0));
process.on("message", async (message) => {
  if (message.kind === "stop") return stop(0);
  try {
    miniflare = new Miniflare(describeOptions(message.settings));
    await miniflare.ready;
    await applyMigrations(miniflare, message.settings.worker.databases);
    const url = await miniflare.unsafeGetDirectURL();
    process.send({ kind: "ready", port: Number(url.port) });
  } catch (error) {
    process.send({ kind: "failed", text: String(error?.stack ?? error) });
    await stop(1);
  }
});
