/**
 * One gateway per state folder. Two on the same one would each believe that nobody else dispatches, and a key would
 * reach the origin twice.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const NAME = "gateway.pid";
const TRIES = 100;
const STEP_MS = 20;

/** Only these may hold the lock: a number of theirs that the system has given to another program since is no holder. */
const HOLDERS = /start\.mjs|wrangler/;

/**
 * Takes the folder for this process, making it where it is missing. A lock whose processes are gone is taken over.
 *
 * @param {string} folder
 * @param {{isHolder?: (pid: number) => Promise<boolean>}} [options] isHolder: whether a process runs that may hold it
 * @returns {Promise<{kind: "held", addProcess: (pid: number) => Promise<void>, release: () => Promise<void>}
 *   | {kind: "taken", pid: number} | {kind: "stuck", file: string}>} `addProcess` names a process that uses the folder
 *   too, and may outlive this one; stuck: a takeover was cut off halfway, the file has to be removed by hand. Rejects
 *   with the system's error when the folder can't be written.
 */
export async function takeLock(folder, { isHolder = isGateway } = {}) {
  const file = join(folder, NAME);
  const token = randomUUID();
  await mkdir(folder, { recursive: true });
  for (let left = TRIES; left > 0; left -= 1) {
    if (await createLock(file, { token, pids: [process.pid] })) return holdLock(file, token);
    const found = await readLock(file);
    if (found === null) continue;
    for (const pid of found.pids) if (await isHolder(pid)) return { kind: "taken", pid };
    if (!(await removeStale(file, found.token))) await new Promise((wake) => setTimeout(wake, STEP_MS));
  }
  return { kind: "stuck", file };
}

function holdLock(file, token) {
  return {
    kind: "held",
    addProcess: async (pid) => {
      const draft = `${file}.${token}.new`;
      await writeFile(draft, formatLock({ token, pids: [process.pid, pid] }));
      await rename(draft, file);
    },
    release: async () => {
      if ((await readLock(file))?.token === token) await rm(file, { force: true });
    },
  };
}

/** A link appears with its content, and only where nothing stands: nobody ever reads half a lock. */
async function createLock(file, lock) {
  const draft = `${file}.${lock.token}.new`;
  await writeFile(draft, formatLock(lock));
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Two may find the same lock stale. Only the one that makes its mark may remove it, and looks again before it does: the
 * lock may be another's by then.
 */
async function removeStale(file, token) {
  const mark = `${file}.${token}.stale`;
  try {
    await writeFile(mark, "", { flag: "wx" });
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
  if ((await readLock(file))?.token === token) await rm(file);
  await rm(mark);
  return true;
}

const formatLock = ({ token, pids }) => `${pids.join(" ")}\n${token}\n`;

async function readLock(file) {
  try {
    const [pids = "", token = ""] = (await readFile(file, "utf8")).split("\n");
    return { pids: pids.split(" ").map(Number), token: token.replace(/[^\w-]/g, "") };
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function isGateway(pid) {
  // In a fresh container the one before may have had this process's own number.
  if (!Number.isInteger(pid) || pid < 1 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
  }
  const command = await readCommand(pid);
  return command === null || HOLDERS.test(command);
}

/** The command line of a process; null where the system's `ps` doesn't tell. */
function readCommand(pid) {
  return new Promise((resolve) => {
    execFile("ps", ["-A", "-ww", "-o", "pid=,args="], (error, stdout) => {
      const line = stdout.split("\n").find((row) => Number.parseInt(row, 10) === pid);
      resolve(error === null ? (line ?? null) : null);
    });
  });
}
