// Aim: a ledger whose number of shards has grown is checked as one, and what is missing between its epochs is found. Method: logs of the
// tests' own writer, as rows of a database and behind a server.
import { afterEach, describe, expect, it } from "vitest";
import { openUrl, readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { close, type Grown, goOn, growLogs, logsOf, open, streamAt } from "../../support/ledger-epochs.ts";
import { emptyLog, type Log, pruneLog, sha256, storeLogs, tell, Writer } from "../../support/ledger-log.ts";
import { type LedgerServer, READER_TOKEN, serveLogs } from "../../support/ledger-server.ts";

type Options = Parameters<typeof verifyLedger>[1];

const servers: LedgerServer[] = [];

function check(logs: Log[], { key }: Grown, options: Options = {}) {
  return verifyLedger(readDatabase(storeLogs(logs)), { key: key.vkey, ...options });
}

/** What the database of a grown ledger is found to be. */
async function judge(grown: Grown, logs = logsOf(grown), options: Options = {}) {
  return (await check(logs, grown, options)).verdict;
}

async function judgeServed(grown: Grown, logs = logsOf(grown)) {
  const server = await serveLogs(logs);
  servers.push(server);
  return (await verifyLedger(await openUrl(server.url, READER_TOKEN))).verdict;
}

const without = (grown: Grown, ...shards: string[]): Log[] =>
  logsOf(grown).filter(({ shard }) => !shards.includes(shard));

/** A shard's log anew, without its last entries. */
function cut(log: Log, size: number): void {
  log.lines.splice(size);
  log.leaves.splice(size);
  log.checkpoints.splice(0, log.checkpoints.length, ...log.checkpoints.filter((each) => each.size <= size));
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

describe("a ledger whose number of shards has grown", () => {
  it("is sound across its epochs, whose closed shards are said to be", async () => {
    const grown = growLogs(3);
    const sound = { verdict: "sound", entries: 30 };

    const verdict = await judge(grown);

    expect(verdict).toMatchObject(sound);
    expect("shards" in verdict && verdict.shards.map(({ shard, isClosed }) => [shard, isClosed])).toEqual([
      ["1:0", true],
      ["1:1", true],
      ["2:0", false],
      ["2:1", false],
      ["2:2", false],
      ["2:3", false],
    ]);
    expect(await judgeServed(grown)).toMatchObject(sound);
  });

  it("is sound while shards are still to be closed and opened", async () => {
    const grown = growLogs(3);
    cut(grown.old[1].log, 6);

    expect(await judge(grown, without(grown, "2:1", "2:2", "2:3"))).toMatchObject({ verdict: "sound" });
  });

  it("is sound in any order of its shards' names", async () => {
    const grown = growLogs(3);

    expect(await judge(grown, logsOf(grown).toReversed())).toMatchObject({ verdict: "sound" });
  });

  it("may have the beginning of a closed shard pruned, and no less is known of the streams that go on", async () => {
    const grown = growLogs(200);
    for (const writer of grown.old) {
      pruneLog(writer, 256);
      writer.checkpoint();
    }

    const sound = { verdict: "sound", shards: [{ first: 256 }, { first: 256 }, { first: 0 }, {}, {}, {}] };
    expect(await judge(grown)).toMatchObject(sound);
    expect(await judgeServed(grown)).toMatchObject(sound);
  });

  it("may have entries of a later epoch pruned, while the end of an earlier one stays", async () => {
    const grown = growLogs(300);
    const [writer] = grown.young;
    for (const stream of [streamAt(0, 10), streamAt(0, 299)]) writer.add(stream, tell("purged", stream, 1));
    pruneLog(writer, 256);
    writer.checkpoint();

    expect(await judge(grown)).toMatchObject({ verdict: "sound" });
  });

  it("is compared with a pin file of an earlier epoch, and keeps its end in the next", async () => {
    const grown = growLogs(3);
    const pin = {
      v: 1 as const,
      key: grown.key.vkey,
      shards: { "1:0": { size: 6, root: grown.old[0].log.checkpoints[0]?.root.toString("base64") ?? "" } },
    };

    const done = await check(logsOf(grown), grown, { pin });

    expect(done.verdict).toMatchObject({ verdict: "sound" });
    expect(Object.entries(done.pin?.shards ?? {}).map(([shard, { size }]) => [shard, size])).toEqual([
      ["1:0", 7],
      ["1:1", 7],
      ["2:0", 4],
      ["2:1", 4],
      ["2:2", 4],
      ["2:3", 4],
    ]);
    cut(grown.old[0].log, 6);
    const verdict = await judge(grown, without(grown, "2:0", "2:2"), { pin: done.pin });
    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "pin", shard: "1:0", index: 6 } });
  });
});

describe("a ledger between whose epochs something is wrong", () => {
  it.each<[string, () => { grown: Grown; logs?: Log[] }, object]>([
    [
      "a closing entry was never there",
      () => ({ grown: growLogs(3, { isCut: true }) }),
      { shard: "1:0", index: 6 },
    ],
    [
      "a closing entry was cut off",
      () => {
        const grown = growLogs(3);
        cut(grown.old[1].log, 6);
        return { grown };
      },
      { shard: "1:1", index: 6 },
    ],
    [
      "a closed shard is missing whole",
      () => {
        const grown = growLogs(0);
        return { grown, logs: without(grown, "1:1") };
      },
      { shard: "1:1", index: 0 },
    ],
    [
      "an epoch is missing whole",
      () => {
        const grown = growLogs(0);
        return { grown, logs: without(grown, "1:0", "1:1") };
      },
      { shard: "1:0", index: 0 },
    ],
    [
      "a closed shard goes on",
      () => {
        const grown = growLogs(0);
        grown.old[0].add(streamAt(0, 77), tell("granted", streamAt(0, 77), 1));
        grown.old[0].checkpoint();
        return { grown };
      },
      { shard: "1:0", index: 1 },
    ],
    [
      "a shard is closed twice",
      () => {
        const grown = growLogs(0);
        close(grown.old[0]);
        grown.old[0].checkpoint();
        return { grown };
      },
      { shard: "1:0", index: 1 },
    ],
    [
      "a shard is closed for a smaller epoch",
      () => ({ grown: growLogs(1, { target: "1/2-2/1" }) }),
      { shard: "1:0" },
    ],
    [
      "a shard is closed for no next epoch",
      () => ({ grown: growLogs(1, { target: "1/2-3/4" }) }),
      { shard: "1:0" },
    ],
    [
      "a shard is closed for an epoch that is too small",
      () => ({ grown: growLogs(1, { target: "1/2-2/3" }) }),
      {},
    ],
    ...(["begins with nothing", "begins with another root", "begins with another shard"] as const).map(
      (what): [string, () => { grown: Grown; logs?: Log[] }, object] => [
        `a shard ${what}`,
        () => {
          const grown = growLogs(0);
          const writer = new Writer(emptyLog("2:0", grown.key));
          if (what === "begins with nothing") writer.add(streamAt(0, 5), tell("granted", streamAt(0, 5), 1));
          if (what === "begins with another root") open(writer, grown.old[0].log, "0".repeat(64));
          if (what === "begins with another shard") open(writer, grown.old[1].log);
          writer.checkpoint();
          return { grown, logs: [...without(grown, "2:0"), writer.log] };
        },
        { shard: "2:0", index: 0 },
      ],
    ),
    [
      "a shard is opened in its midst",
      () => {
        const grown = growLogs(0);
        open(grown.young[3], grown.old[1].log);
        grown.young[3].checkpoint();
        return { grown };
      },
      { shard: "2:3", index: 1 },
    ],
  ])("is broken where %s", async (_what, make, first) => {
    const { grown, logs = logsOf(grown) } = make();
    const broken = { verdict: "broken", first: { class: "epoch", ...first } };

    expect(await judge(grown, logs)).toMatchObject(broken);
    expect(await judgeServed(grown, logs)).toMatchObject(broken);
  });

  it.each<[string, (grown: Grown) => number]>([
    [
      "a stream goes on in both epochs",
      ({ young: [writer] }) => {
        const stream = streamAt(0, 1);
        writer.streams.set(stream, { seq: 0, head: "0".repeat(64), isInDoubt: false });
        return writer.add(stream, tell("granted", stream, 1));
      },
    ],
    [
      "a stream goes on from another entry",
      ({ young: [writer] }) => {
        const stream = streamAt(0, 1);
        writer.streams.set(stream, { seq: 2, head: "a".repeat(64), isInDoubt: false });
        return writer.add(stream, tell("purged", stream, 1));
      },
    ],
    [
      "entries of a stream are missing between its epochs",
      ({ young: [writer] }) => {
        const stream = streamAt(0, 1);
        writer.streams.set(stream, { seq: 3, head: "a".repeat(64), isInDoubt: false });
        return writer.add(stream, tell("purged", stream, 1));
      },
    ],
  ])("is broken where %s", async (_what, change) => {
    const grown = growLogs(2);
    const index = change(grown);
    grown.young[0].checkpoint();

    expect(await judge(grown)).toMatchObject({
      verdict: "broken",
      first: { class: "chain", shard: "2:0", index },
    });
  });

  it("is broken where a stream begins again behind what is pruned", async () => {
    const grown = growLogs(300);
    const [writer] = grown.young;
    const stream = streamAt(0, 10);
    pruneLog(writer, 256);
    writer.streams.set(stream, { seq: 0, head: "0".repeat(64), isInDoubt: false });
    const index = writer.add(stream, tell("granted", stream, 1));
    writer.checkpoint();

    expect(await judge(grown)).toMatchObject({
      verdict: "broken",
      first: { class: "chain", shard: "2:0", index },
    });
  });

  it("is broken where a stream goes on in a shard that its own was not split into", async () => {
    const grown = growLogs(2);
    const stream = streamAt(1, 0);
    grown.old[1].streams.set(stream, {
      seq: 1,
      head: headOf(grown.old[1].log.lines[0] ?? ""),
      isInDoubt: false,
    });
    const index = goOn(grown.young[1], grown.young[0], stream, "settled");
    grown.young[0].checkpoint();

    expect(await judge(grown, without(grown, "2:1", "2:3"))).toMatchObject({
      verdict: "broken",
      first: { class: "chain", shard: "2:0", index },
    });
  });

  it("is broken where a stream goes on in another shard of the same epoch", async () => {
    const grown = growLogs(2);
    const stream = streamAt(0, 9);
    grown.young[0].add(stream, tell("granted", stream, 1));
    const index = goOn(grown.young[0], grown.young[2], stream, "settled");
    for (const writer of grown.young) if (writer.log.lines.length > 3) writer.checkpoint();

    expect(await judge(grown)).toMatchObject({
      verdict: "broken",
      first: { class: "chain", shard: "2:2", index },
    });
  });
});

/** The hash that the next entry of a line's stream names. */
function headOf(line: string): string {
  const { shard: _shard, index: _index, ...text } = JSON.parse(line);
  return sha256(JSON.stringify(text)).toString("hex");
}
