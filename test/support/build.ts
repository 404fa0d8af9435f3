/**
 * The Worker as `wrangler deploy` would upload it, built once for one state of the sources. Test files that run at
 * the same time share the build: the first takes a lock, the others wait for it.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** What a server needs to know of a built Worker. Paths are absolute. */
export type BuiltWorker = {
  directory: string;
  entry: string;
  name: string;
  compatibilityDate: string;
  compatibilityFlags: string[];
  /** `[vars]` of wrangler.toml. */
  vars: Record<string, unknown>;
  durableObjects: { binding: string; className: string }[];
  databases: { binding: string; migrations: string[] }[];
  /** Binding of the version metadata; empty when there is none. */
  versionBinding: string;
};

const PROJECT = resolve(import.meta.dirname, "../..");
const BUILD_MS_MAX = 110_000;
const KEEP_MS = 3_600_000;
const QUIET = {
  CI: "1",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  NO_COLOR: "1",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG: "warn",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
};

/** The part of wrangler's reading of wrangler.toml that a test server needs. */
type WranglerConfig = {
  name?: string | undefined;
  compatibility_date?: string | undefined;
  compatibility_flags: string[];
  vars: Record<string, unknown>;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  d1_databases: { binding: string; migrations_dir?: string }[];
  version_metadata?: { binding: string } | undefined;
};

const runFile = promisify(execFile);

/**
 * Builds the Worker of a project folder, or finds the build of the same sources. `entry`: a Worker that stands before the
 * project's own, below a folder of its own; its path from the project's. Throws in wrangler's own words.
 */
export async function buildWorker(project = PROJECT, entry: string | null = null): Promise<BuiltWorker> {
  const shelf = join(project, ".wrangler", "build-test");
  const directory = join(shelf, await digestSources(project, entry));
  const manifest = join(directory, "manifest.json");
  await mkdir(shelf, { recursive: true });
  const lock = `${directory}.lock`;
  for (let waited = 0; !existsSync(manifest); waited += 100) {
    if (waited > 2 * BUILD_MS_MAX) throw new Error(`waited too long for the build in ${directory}`);
    if (await takeLock(lock)) {
      try {
        if (!existsSync(manifest)) await build(project, directory, entry);
        await dropOldBuilds(shelf, directory);
      } finally {
        await rm(lock, { recursive: true, force: true });
      }
    } else {
      await sleep(100);
    }
  }
  return JSON.parse(await readFile(manifest, "utf8")) as BuiltWorker;
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch {
    const age = existsSync(lock) ? Date.now() - statSync(lock).mtimeMs : 0;
    if (age > BUILD_MS_MAX + 10_000) await rm(lock, { recursive: true, force: true });
    return false;
  }
}

async function digestSources(project: string, entry: string | null): Promise<string> {
  const digest = createHash("sha256").update(entry ?? "");
  const files = ["wrangler.toml", "package.json", "tsconfig.json"].map((name) => join(project, name));
  const folders = ["src", ...(entry === null ? [] : [dirname(entry)])];
  for (const folder of folders) {
    const tree = await readdir(join(project, folder), { recursive: true, withFileTypes: true });
    files.push(...tree.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name)));
  }
  for (const file of files.sort()) {
    if (!existsSync(file)) continue;
    digest
      .update(`${relative(project, file)}\0`)
      .update(await readFile(file))
      .update("\0");
  }
  return digest.digest("hex").slice(0, 20);
}

async function build(project: string, directory: string, entry: string | null): Promise<void> {
  const wrangler = join(PROJECT, "node_modules", "wrangler", "bin", "wrangler.js");
  const staged = `${directory}.${process.pid}.staged`;
  const config = join(project, "wrangler.toml");
  const script = entry === null ? [] : [join(project, entry)];
  const args = [wrangler, "deploy", ...script, "--dry-run", "--config", config, "--outdir", staged];
  try {
    await runFile(process.execPath, args, {
      cwd: project,
      env: { ...process.env, ...QUIET },
      timeout: BUILD_MS_MAX,
      killSignal: "SIGKILL",
    });
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`the Worker could not be built:\n${stdout}\n${stderr}`);
  }
  const described = await describeWorker(config, directory, await findEntry(staged));
  await writeFile(join(staged, "manifest.json"), JSON.stringify(described));
  await rm(directory, { recursive: true, force: true });
  await rename(staged, directory);
}

async function findEntry(directory: string): Promise<string> {
  const scripts = (await readdir(directory)).filter((name) => /\.m?js$/.test(name));
  const [entry] = scripts;
  if (entry === undefined || scripts.length > 1)
    throw new Error(`not one entry in the build: ${scripts.join(", ")}`);
  return entry;
}

async function describeWorker(config: string, directory: string, entry: string): Promise<BuiltWorker> {
  const { unstable_readConfig, unstable_splitSqlQuery } = await import("wrangler");
  const read: WranglerConfig = unstable_readConfig({ config }, { hideWarnings: true });
  const databases = read.d1_databases.map(async ({ binding, migrations_dir = "migrations" }) => ({
    binding,
    migrations: (await readMigrations(join(dirname(config), migrations_dir))).flatMap(unstable_splitSqlQuery),
  }));
  return {
    directory,
    entry: join(directory, entry),
    name: read.name ?? "worker",
    compatibilityDate: read.compatibility_date ?? "2026-11-17",
    compatibilityFlags: read.compatibility_flags,
    vars: read.vars,
    durableObjects: read.durable_objects.bindings.map(({ name, class_name }) => ({
      binding: name,
      className: class_name,
    })),
    databases: await Promise.all(databases),
    versionBinding: read.version_metadata?.binding ?? "",
  };
}

async function readMigrations(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
}

async function dropOldBuilds(shelf: string, current: string): Promise<void> {
  for (const name of await readdir(shelf)) {
    const path = join(shelf, name);
    if (path.startsWith(current) || Date.now() - statSync(path).mtimeMs < KEEP_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}
