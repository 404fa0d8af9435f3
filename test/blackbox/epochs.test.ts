import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { OPERATORS } from "../support/gateway.ts";
import { makeKey, useStage } from "../support/stage.ts";

// Aim: a gateway that is started again with more shards goes on with its ledger, and a stranger finds one whole history. Method: keys that are
// released under the old number of shards and used again under the new one; the verifier as a process of its own.

const COMMAND = join(import.meta.dirname, "../../src/verify/oncegate.mjs");
const WAIT_MS = 30_000;
const KEYS = 6;

type Verdict = {
  verdict: string;
  entries: number;
  shards: { shard: string; size: number; isClosed: boolean }[];
};

const stage = useStage({
  vars: { LEDGER_SHARDS: "2" },
  routes: [{ id: "pay", match: "/pay", release_statuses: [429] }],
});
const kept: string[] = [];

async function verify(...args: string[]): Promise<Verdict> {
  const child = spawn(process.execPath, [COMMAND, "verify", "--json", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  await once(child, "close");
  return JSON.parse(Buffer.concat(pieces).toString());
}

const verifyUrl = () => verify("--url", stage.gateway.url, "--token", OPERATORS.reader.token);

async function untilTold(entries: number): Promise<Verdict> {
  for (const until = performance.now() + WAIT_MS; ; ) {
    const verdict = await verifyUrl();
    if (verdict.entries >= entries || performance.now() > until) return verdict;
    await sleep(200);
  }
}

/** A key whose first try was released is free again, and its stream goes on with the next one. */
async function sendAll(status: number): Promise<void> {
  stage.origin.handle((_arrival, reply) => reply.send(status, [], "{}"));
  for (const key of kept) await stage.post({ target: "/pay", key });
}

beforeAll(async () => {
  for (let i = 0; i < KEYS; i += 1) kept.push(makeKey());
});

describe("a gateway that is started again with more shards", () => {
  it("has one sound ledger across both epochs", async () => {
    await sendAll(429);
    const before = await untilTold(2 * KEYS);
    expect(before).toMatchObject({ verdict: "sound", entries: 2 * KEYS });

    await stage.gateway.restart({ vars: { LEDGER_SHARDS: "4" } });
    await sendAll(201);

    // Of each key two entries in each epoch, and one for the end or the beginning of each shard.
    const all = 4 * KEYS + 2 + 4;
    const verdict = await untilTold(all);
    expect(verdict).toMatchObject({ verdict: "sound", entries: all });
    expect(verdict.shards.map(({ shard, isClosed }) => [shard, isClosed])).toEqual([
      ["1:0", true],
      ["1:1", true],
      ["2:0", false],
      ["2:1", false],
      ["2:2", false],
      ["2:3", false],
    ]);
    expect(await verify("--d1", stage.gateway.persist)).toMatchObject({ verdict: "sound", entries: all });
  });

  it("keeps the larger number where it is started with the old one, and says so", async () => {
    await stage.gateway.restart({ vars: { LEDGER_SHARDS: "2" } });
    await stage.post({ target: "/pay", key: makeKey() });

    const all = 4 * KEYS + 2 + 4 + 2;
    expect(await untilTold(all)).toMatchObject({ verdict: "sound", entries: all });
    expect(stage.gateway.logs()).toContain("ledger-shards-changed");
  });
});
