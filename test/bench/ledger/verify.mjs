/** `oncegate verify` over a ledger in a SQLite file. */
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const COUNT = 100_000;
const FULL_COUNT = 1_000_000;
const AIM_SECONDS = 60;
const LOOK_MS = 100;
const TICKS_A_SECOND = 100;
const COMMAND = fileURLToPath(new URL("../../../src/verify/oncegate.mjs", import.meta.url));
const MAKER = fileURLToPath(new URL("make-log.mjs", import.meta.url));

/** With `--full` the ledger that the aim is about; without, a tenth of it. CPU is that of all the verifier's threads. */
export async function measureVerify({ options }) {
  const count = options.full ? FULL_COUNT : COUNT;
  const directory = mkdtempSync(join(tmpdir(), "oncegate-bench-verify-"));
  try {
    const file = join(directory, "ledger.sqlite");
    const found = await verifyFile(file, await makeFile(file, count));
    const aim = (AIM_SECONDS * count) / FULL_COUNT;
    console.log(
      `\nverify: ${count} entries in a SQLite file\n` +
        `  ${found.cpu.toFixed(1)} s CPU, aim ${aim}; ${found.wall.toFixed(1)} s on this machine; peak memory ${found.peakMb.toFixed(0)} MB`,
    );
    return { count, ...found };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Gives the ledger's key. */
async function makeFile(file, count) {
  const child = fork(MAKER, [file, String(count)], {
    execArgv: ["--max-old-space-size=8192", "--disable-warning=ExperimentalWarning"],
  });
  const ended = once(child, "exit");
  const [key] = await Promise.race([once(child, "message"), ended.then(() => [null])]);
  await ended;
  if (key === null) throw new Error("verify: the ledger was not made");
  return key;
}

async function verifyFile(file, key) {
  const started = performance.now();
  const { child, done } = runVerifier(file, key);
  let last = { cpu: 0, peakMb: 0 };
  const timer = setInterval(() => {
    last = readProcess(child.pid) ?? last;
  }, LOOK_MS);
  const output = await done.finally(() => clearInterval(timer));
  const { verdict, entries } = JSON.parse(output);
  if (verdict !== "sound") throw new Error(`verify: the verdict is ${verdict}`);
  return { ...last, wall: (performance.now() - started) / 1_000, entries };
}

function runVerifier(file, key) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const args = [
    "--disable-warning=ExperimentalWarning",
    COMMAND,
    "verify",
    "--d1",
    file,
    "--key",
    key,
    "--json",
  ];
  const child = execFile(process.execPath, args, (error, output) => {
    if (error === null) resolve(output);
    else reject(error);
  });
  return { child, done: promise };
}

/** CPU seconds and peak memory by now; null when the process has ended. */
function readProcess(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
    const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    if (peak === undefined) return null;
    return { cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND, peakMb: Number(peak) / 1_024 };
  } catch {
    return null;
  }
}
