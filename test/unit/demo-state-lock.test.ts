// Aim: a state folder has one gateway at most. Method: real folders; which processes run is told by the test.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HeldLock, takeLock } from "../../src/demo/state-lock.mjs";

const GONE = 2_000_000_001;
const LIVING = 2_000_000_002;
const CROWD = 12;

/** This process and `LIVING` run; no other does. */
const isHolder = async (pid: number) => pid === process.pid || pid === LIVING;

let folder: string;
let file: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "state-lock-")), "state");
  file = join(folder, "gateway.pid");
});

afterEach(() => rm(join(folder, ".."), { recursive: true }));

async function takeHeld(options = { isHolder }): Promise<HeldLock> {
  const lock = await takeLock(folder, options);
  if (lock.kind !== "held") throw new Error(`not held: ${JSON.stringify(lock)}`);
  return lock;
}

/** Leaves the lock of a gateway that consisted of these processes. */
async function leaveLock(...pids: number[]): Promise<void> {
  const lock = await takeHeld();
  await lock.release();
  await writeFile(file, `${pids.join(" ")}\nleft-over\n`);
}

describe("a state folder", () => {
  it("is made where it is missing, and names the process that has it", async () => {
    await takeHeld();

    expect(await readFile(file, "utf8")).toMatch(new RegExp(`^${process.pid}\n`));
  });

  it("is refused to a second gateway, which is told the first one's pid", async () => {
    await takeHeld();

    expect(await takeLock(folder, { isHolder })).toEqual({ kind: "taken", pid: process.pid });
  });

  it("is free again after its release, with nothing left in it", async () => {
    await (await takeHeld()).release();

    expect(await readdir(folder)).toEqual([]);
    await takeHeld();
  });

  it("is taken over from a process that is gone", async () => {
    await leaveLock(GONE);
    await takeHeld();

    expect(await readdir(folder)).toEqual(["gateway.pid"]);
  });

  it("is refused while anything that a gone gateway started still runs", async () => {
    await leaveLock(GONE, LIVING);

    expect(await takeLock(folder, { isHolder })).toEqual({ kind: "taken", pid: LIVING });
  });

  it("names what its gateway started", async () => {
    await (await takeHeld()).addProcess(LIVING);

    expect(await readFile(file, "utf8")).toMatch(new RegExp(`^${process.pid} ${LIVING}\n`));
    expect(await readdir(folder)).toEqual(["gateway.pid"]);
  });

  it("is not freed by a gateway that lost it", async () => {
    const first = await takeHeld();
    await writeFile(file, `${LIVING}\nanother\n`);
    await first.release();

    expect(await takeLock(folder, { isHolder })).toEqual({ kind: "taken", pid: LIVING });
  });

  it.each([["nothing"], ["the lock of a gone process"]])(
    "with %s in it goes to one of many",
    async (what) => {
      if (what !== "nothing") await leaveLock(GONE);
      const locks = await Promise.all(Array.from({ length: CROWD }, () => takeLock(folder, { isHolder })));

      expect(locks.filter(({ kind }) => kind === "held")).toHaveLength(1);
      expect(locks.filter(({ kind }) => kind === "taken")).toHaveLength(CROWD - 1);
    },
  );
});

describe("a running process", () => {
  const rows: [what: string, program: string, args: string[], kind: string][] = [
    ["another program with a left-over number is no holder", "sleep", ["60"], "held"],
    ["wrangler is a holder", "node", ["-e", "setInterval(() => {}, 1000)", "wrangler", "dev"], "taken"],
  ];

  it.each(rows)("%s", async (_what, program, args, kind) => {
    const child = spawn(program, args, { stdio: "ignore" });
    try {
      await once(child, "spawn");
      await leaveLock(child.pid ?? 0);

      expect((await takeLock(folder)).kind).toBe(kind);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
