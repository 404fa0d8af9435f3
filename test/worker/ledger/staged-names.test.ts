// Aim: an effect's row says which key object it belongs to, whoever staged its lines. Method: tables of an earlier version, real D1.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { stopClock } from "../support/clock.ts";
import { from, ledgerObject, makeDelivery, runRound, upTo } from "../support/ledger.ts";

const PLACE = { shard: "1:0", shards: 4 };

function operationsOf(stream: string): Promise<unknown[]> {
  return env.DB.prepare("SELECT effect_id, operation FROM effects WHERE stream = ? ORDER BY effect_id")
    .bind(stream)
    .all()
    .then(({ results }) => results);
}

/** What a shard's storage was before lines had names: the column is not there. */
async function stageAsBefore(stub: ReturnType<typeof ledgerObject>, stage: () => Promise<unknown>) {
  await runInDurableObject(stub, (_object, { storage }) => {
    storage.sql.exec(
      "CREATE TABLE streams (stream TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, state TEXT NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID; CREATE TABLE staged (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, body TEXT NOT NULL, leaves BLOB NOT NULL)",
    );
  });
  await stage();
}

it("a shard whose tables are older gets the column, and lines without a name give rows without one", async () => {
  stopClock();
  const stub = ledgerObject("1:0");
  const old = await makeDelivery(2);
  const { operation: _unsaid, ...unsaid } = old;
  await stageAsBefore(stub, () => stub.append(PLACE, unsaid as typeof old));
  const named = { ...(await makeDelivery(2)), operation: "the-name" };
  await stub.append(PLACE, named);
  await runInDurableObject(stub, (_object, { storage }) => {
    storage.sql.exec("UPDATE staged SET operations = NULL WHERE first = 0");
  });
  await runRound(stub);
  expect(await operationsOf(old.stream)).toEqual([
    { effect_id: "ef1", operation: null },
    { effect_id: "ef2", operation: null },
  ]);
  expect(await operationsOf(named.stream)).toEqual([
    { effect_id: "ef1", operation: "the-name" },
    { effect_id: "ef2", operation: "the-name" },
  ]);
});

it("each line of a batch keeps the name of its own sender", async () => {
  stopClock();
  const stub = ledgerObject("1:0");
  const deliveries = await Promise.all(
    ["a", "b", "c"].map(async (operation) => ({ ...(await makeDelivery(2)), operation })),
  );
  await Promise.all(deliveries.map((delivery) => stub.append(PLACE, delivery)));
  await runRound(stub);
  for (const { stream, operation } of deliveries) {
    expect(await operationsOf(stream)).toMatchObject([{ operation }, { operation }]);
  }
});

it("a row without a name gets it from the next line that has one, and keeps it", async () => {
  stopClock();
  const stub = ledgerObject("1:0");
  const whole = await makeDelivery(4);
  const same = whole.lines.map(({ text, hash }) => ({ text: text.replace(/"ef\d"/, '"one"'), hash }));
  const delivery = { ...whole, lines: same };
  const rounds = [
    upTo(1, delivery),
    { ...from(2, delivery), lines: same.slice(1, 2), operation: "the-name" },
    { ...from(3, delivery), lines: same.slice(2, 3) },
  ];
  const seen: unknown[] = [];
  for (const round of rounds) {
    await stub.append(PLACE, round);
    await runRound(stub);
    seen.push(...(await operationsOf(whole.stream)));
  }
  expect(seen.map((row) => (row as { operation: unknown }).operation)).toEqual([
    null,
    "the-name",
    "the-name",
  ]);
});
