/** The gateway as a later build might be: the one that the simulation runs, whose records have the next version, and which reads those of this one. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { NEXT_BUILD } from "../simulation/next-build.mjs";

const PROJECT = resolve(import.meta.dirname, "../..");
const SHELF = join(PROJECT, ".wrangler", "later");
/** All that a build with the gated Worker before it reads. */
const PARTS = ["wrangler.toml", "package.json", "tsconfig.json", "src", "test/chaos/gated"];

/** All but the size of bundles: those of a build that is taken back would begin inside one another. */
const CHANGES = NEXT_BUILD.changes.filter(({ file }) => !file.startsWith("src/ledger/"));

/** Copies the project with its changes made; gives the folder, one for the same sources. A text that is not there exactly once is an error. */
export async function makeLaterProject(): Promise<string> {
  await mkdir(SHELF, { recursive: true });
  const staged = await mkdtemp(join(SHELF, "staged-"));
  for (const part of PARTS) await cp(join(PROJECT, part), join(staged, part), { recursive: true });
  for (const { file, from, to } of CHANGES) {
    const path = join(staged, file);
    const text = await readFile(path, "utf8");
    if (text.split(from).length !== 2) throw new Error(`not exactly once in ${file}: ${from}`);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
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
    // Somebody else's may be gone by now.
    const found = await stat(path).catch(() => null);
    const isOld = found !== null && Date.now() - found.mtimeMs > KEEP_MS;
    if (path !== current && isOld) await rm(path, { recursive: true, force: true });
  }
}
