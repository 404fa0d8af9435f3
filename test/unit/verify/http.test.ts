// Aim: what is read through a gateway's endpoints is checked as well as a database. Method: a server of the tests' own on loopback.
import { afterEach, describe, expect, it } from "vitest";
import { openUrl, verifyLedger } from "../../../src/verify/verify.mjs";
import { emptyLog, type Log, makeKey, makeLog, pruneLog, Writer } from "../../support/ledger-log.ts";
import { type LedgerServer, READER_TOKEN, serveLogs } from "../../support/ledger-server.ts";

const servers: LedgerServer[] = [];

async function check(logs: Log[], options: Parameters<typeof verifyLedger>[1] = {}) {
  const server = await serveLogs(logs);
  servers.push(server);
  return verifyLedger(await openUrl(server.url, READER_TOKEN), options);
}

/** A log of 600 entries whose first 256 are pruned. */
function makePruned(): Log {
  const log = makeLog(600, 100);
  const writer = new Writer(log);
  pruneLog(writer, 256);
  writer.checkpoint();
  return log;
}

function edit(log: Log, index: number): void {
  log.lines[index] = (log.lines[index] ?? "").replace(/"at":\d/, '"at":2');
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

describe("a ledger behind a gateway", () => {
  it("is sound, shard by shard, and its key is said to be self-held", async () => {
    const key = makeKey();
    const logs = [makeLog(350, 100, emptyLog("1:0", key)), makeLog(1, 1, emptyLog("1:1", key), 1_000)];

    const { verdict } = await check(logs);

    expect(verdict).toMatchObject({ verdict: "sound", entries: 351, key: key.vkey, isSelfHeld: true });
  });

  it("may have its first entries pruned: the first one that is left proves what came before", async () => {
    const { verdict } = await check([makePruned()]);

    expect(verdict).toMatchObject({ verdict: "sound", shards: [{ first: 256, size: 601, covered: 601 }] });
  });

  it("is compared with a pin file that is older than what was pruned", async () => {
    const log = makePruned();
    const [old] = log.checkpoints;
    const pinned = { size: old?.size ?? 0, root: old?.root.toString("base64") ?? "" };
    const forked = { ...pinned, root: Buffer.alloc(32).toString("base64") };

    const sound = await check([log], { pin: { v: 1, key: null, shards: { "1:0": pinned } } });
    const broken = await check([log], { pin: { v: 1, key: null, shards: { "1:0": forked } } });

    expect(sound.verdict.verdict).toBe("sound");
    expect(broken.verdict).toMatchObject({ verdict: "broken", first: { class: "pin", index: 0 } });
  });

  it.each([0, 1, 57, 255, 256, 599])("is broken at entry %d when that one was changed", async (index) => {
    const log = makeLog(600, 600);
    edit(log, index);

    const { verdict } = await check([log]);

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "entry", shard: "1:0", index } });
  });

  it.each([
    ["its newest entries are missing", (log: Log) => log.lines.splice(550), { class: "missing", index: 550 }],
    ["its first entries are missing", (log: Log) => (log.prunedUntil = 256), { class: "missing", index: 0 }],
    ["all its entries are missing", (log: Log) => log.lines.splice(0), { class: "missing", index: 0 }],
    [
      "its checkpoint is another key's",
      (log: Log) => log.checkpoints.push(...makeLog(600, 600).checkpoints),
      { class: "signature", index: 0 },
    ],
    [
      "its checkpoint is older than the pin file's",
      (log: Log) => log.checkpoints.splice(1),
      { class: "pin", index: 300 },
    ],
  ])("is broken when %s", async (_what, change, first) => {
    const log = makeLog(600, 300);
    const { pin } = await check([log]);
    change(log);

    const { verdict } = await check([log], { pin });

    expect(verdict).toMatchObject({ verdict: "broken", first });
  });

  it("is not checked when entries are refused", async () => {
    const server = await serveLogs([makeLog(10, 10)]);
    servers.push(server);

    const { verdict } = await verifyLedger(await openUrl(server.url, "reader.wrong"));

    expect(verdict).toMatchObject({ verdict: "not-checked" });
  });
});
