/** The gateway as a later version might be: its records have the next version number, and it reads those of this version too. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";

const PROJECT = resolve(import.meta.dirname, "../..");
const SHELF = join(PROJECT, ".wrangler", "later");
/** All that a build with the gated Worker before it reads. */
const PARTS = ["wrangler.toml", "package.json", "tsconfig.json", "src", "test/chaos/gated"];

type Change = { file: string; from: string; to: string };

const CHANGES: readonly Change[] = [
  {
    file: "src/core/record.ts",
    from: "export const RECORD_VERSION = 1;",
    to: "export const RECORD_VERSION = 2;",
  },
  {
    file: "src/key/storage/codec.ts",
    from: "value.v === RECORD_VERSION &&",
    to: "(value.v === RECORD_VERSION || value.v === 1) &&",
  },
  {
    file: "src/key/storage/codec.ts",
    from: 'is not written");\n  return record;',
    to: 'is not written");\n  return { ...record, v: RECORD_VERSION };',
  },
];

/** Copies the project with its changes made; gives the folder, one for the same sources. A text that is not there exactly once is an error. */
export async function makeLaterProject(): Promise<string> {
  await mkdir(SHELF, { recursive: true });
  const staged = await mkdtemp(join(SHELF, "staged-"));
  for (const part of PARTS) await cp(join(PROJECT, part), join(staged, part), { recursive: true });
  for (const { file, from, to } of CHANGES) {
    const path = join(staged, file);
    const text = await readFile(path, "utf8");
    if (text.split(from).length !== 2) throw new Error(`not exactly once in ${file}: ${from}`);
    await writeFile(path, text.replace(from, to));
  }
  const folder = join(SHELF, await digestFolder(staged));
  try {
    await rename(staged, folder);
  } catch {
    // Somebody has made the same one.
    await rm(staged, { recursive: true, force: true });
  }
  await dropOld(folder);
  return folder;
}

async function digestFolder(folder: string): Promise<string> {
  const tree = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = tree.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const digest = createHash("sha256");
  for (const file of files.sort()) {
    digest
      .update(`${relative(folder, file)}\0`)
      .update(await readFile(file))
      .update("\0");
  }
  return digest.digest("hex").slice(0, 20);
}

/** Whoever runs for longer than this has built long ago. */
const KEEP_MS = 3_600_000;

async function dropOld(current: string): Promise<void> {
  for (const name of await readdir(SHELF)) {
    const path = join(SHELF, name);
    const isOld = Date.now() - (await stat(path)).mtimeMs > KEEP_MS;
    if (path !== current && isOld) await rm(path, { recursive: true, force: true });
  }
}
