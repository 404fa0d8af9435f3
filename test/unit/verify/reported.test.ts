// Aim: effects that origins report verify where they can have gone like that, and nowhere else.
import { describe, expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { emptyLog, storeLogs, streamName, type Told, tell, Writer } from "../../support/ledger-log.ts";

const STREAM = streamName(1);
const DIGEST = "d".repeat(64);

const effect = (phase: string, changes: Record<string, unknown> = {}): Told => ({
  type: "effect",
  effect_id: "charge-1",
  attempt: 1,
  capability: "payments.charge",
  phase,
  ...changes,
});
const against = (phase: string): Told => ({ ...effect(phase), type: "effect-contradiction" });
const own = (type: string, attempt = 1): Told => tell(type, STREAM, attempt);

/** Verifies a ledger with one stream of these entries; the rows of its effects are as the test says. */
async function verify(entries: readonly Told[], rows: [state: string, version: number][] = []) {
  const log = emptyLog();
  const writer = new Writer(log);
  for (const entry of entries) writer.add(STREAM, entry);
  writer.checkpoint();
  log.effects.clear();
  const database = storeLogs([log]);
  for (const [state, version] of rows) {
    database
      .prepare(`INSERT INTO effects (effect_id, stream, reported, shard, attempt, capability, state, changed_at, version)
        VALUES ('charge-1', ?, 1, '1:0', 1, 'payments.charge', ?, 1, ?)`)
      .run(STREAM, state, version);
  }
  const { verdict } = await verifyLedger(readDatabase(database), { key: log.key.vkey });
  return verdict;
}

describe("reported effects", () => {
  it.each<[string, Told[], [string, number]]>([
    ["while the attempt runs", [own("granted"), effect("intent"), own("settled")], ["intent", 2]],
    [
      "behind its outcome, up to a compensation",
      [own("granted"), own("settled"), effect("intent"), effect("committed"), effect("compensated")],
      ["compensated", 5],
    ],
    [
      "with all members",
      [
        own("granted"),
        effect("intent", { target: 'a"b', cost: { "money.eur": 1.5 }, digest: DIGEST }),
        effect("failed", { code: "declined" }),
      ],
      ["failed", 3],
    ],
    [
      "of an earlier attempt",
      [own("granted"), effect("intent"), own("released"), own("granted", 2), effect("committed")],
      ["committed", 5],
    ],
    [
      "that contradict each other",
      [own("granted"), effect("intent"), effect("failed"), against("committed")],
      ["failed", 4],
    ],
  ])("are sound %s", async (_when, entries, row) => {
    expect(await verify(entries, [row])).toMatchObject({ verdict: "sound", entries: entries.length });
  });

  it("are apart from a dispatch of the same id", async () => {
    const { effect_id } = own("granted");
    const entries = [own("granted"), own("released"), own("granted", 2), effect("intent", { effect_id })];
    expect(await verify(entries)).toMatchObject({ verdict: "sound" });
  });

  it.each<[string, Told[], number]>([
    ["before any attempt", [effect("intent")], 0],
    ["of an attempt to come", [own("granted"), effect("intent", { attempt: 2 })], 1],
    ["behind the stream's end", [own("granted"), own("settled"), own("purged"), effect("intent")], 3],
    ["with an outcome before its intent", [own("granted"), effect("committed")], 1],
    ["with two outcomes", [own("granted"), effect("intent"), effect("committed"), effect("failed")], 3],
    ["compensated before they are committed", [own("granted"), effect("intent"), effect("compensated")], 2],
    ["that contradict nothing", [own("granted"), against("failed")], 1],
    [
      "of the gateway's own capability",
      [own("granted"), effect("intent", { capability: "origin.request" })],
      1,
    ],
    ["without a phase", [own("granted"), { ...effect(""), phase: undefined }], 1],
    ["with what only an attempt has", [own("granted"), effect("intent", { actor: "executor" })], 1],
  ])("are illegal %s", async (_what, entries, index) => {
    expect(await verify(entries)).toMatchObject({
      verdict: "broken",
      first: { class: "legality", index },
    });
  });

  it.each<[string, [string, number]]>([
    ["another state", ["committed", 2]],
    ["another version", ["intent", 1]],
  ])("whose row says %s are found", async (_what, row) => {
    expect(await verify([own("granted"), effect("intent")], [row])).toMatchObject({
      verdict: "broken",
      first: { class: "effect" },
    });
  });
});
