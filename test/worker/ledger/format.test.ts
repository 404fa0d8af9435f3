// Aim: what is stored and shown has the form that strangers were promised. Method: one line of every kind, made by the product itself.
import { describe, expect, it } from "vitest";
import { fromBase64 } from "../../../src/core/bytes.ts";
import { advanceClock, DAY, MINUTE, stopClock } from "../support/clock.ts";
import { expectAnswer, get, makeKey, makeRequest, operationOf, post, send } from "../support/gateway.ts";
import {
  ledgerObject,
  makeDelivery,
  publish,
  readTexts,
  SHARDS,
  withLedgerParts,
} from "../support/ledger.ts";
import { makeUnknown, resolve } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

/** The members of an entry, in the order in which they stand. */
const ORDER =
  "v shard index at type stream seq prev effect_id attempt capability phase target cost digest fp status answer_digest evidence actor code".split(
    " ",
  );
const HASHES = ["stream", "prev", "digest", "fp", "answer_digest"];
const NUMBERS = ["index", "at", "seq", "attempt", "status"];

const READER = { Authorization: "Bearer reader.secret-of-reader" };

function expectForm(text: string, shard: string): void {
  const line: Record<string, unknown> = JSON.parse(text);
  const members = Object.keys(line);
  expect(members).toEqual(ORDER.filter((name) => members.includes(name)));
  expect(text).toBe(JSON.stringify(line));
  expect(line).toMatchObject({ v: 1, shard });
  for (const [name, value] of Object.entries(line)) {
    if (HASHES.includes(name)) expect(value, name).toMatch(/^[0-9a-f]{64}$/);
    if (NUMBERS.includes(name)) expect(Number.isSafeInteger(value), name).toBe(true);
    expect(value, name).not.toBeNull();
  }
}

/** A payment with everything that can be told of it: a report and a contradiction of it, a replay, operators. */
async function tellAll(): Promise<void> {
  const origin = mockOrigin();
  const key = makeKey();
  const answer = await post("/durable", key);
  await expectAnswer(answer, "executed");
  await expectAnswer(await post("/durable", key), "replayed");
  const told = { effect_id: "charge", capability: "payments.charge" };
  const failed = {
    phase: "failed",
    cost: { eur: 1.5 },
    target: "t",
    error: { code: "no" },
    digest: "d".repeat(64),
  };
  const body = [told, { ...told, ...failed }, { ...told, phase: "committed" }];
  const report = makeRequest("/_oncegate/effects", {
    method: "POST",
    headers: { Authorization: `Bearer ${origin.arrivals[0]?.headers.get("Effect-Token")}` },
    body: body.map((entry) => JSON.stringify(entry)).join("\n"),
  });
  expect(await (await send(report)).json()).toMatchObject({ recorded: 3, flagged: 1 });
  const operations = [operationOf(answer)];
  for (const outcome of ["committed", "not-committed"]) {
    const open = await makeUnknown();
    operations.push(open.id);
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome });
  }
  await publish(...operations);
}

describe("an entry", () => {
  it("has its members in order, none of them empty, hashes in hex, and is as it is stored", async () => {
    stopClock();
    await tellAll();
    const types = new Set<unknown>();
    for (const shard of SHARDS) {
      const texts = await readTexts(shard);
      for (const text of texts) expectForm(text, shard);
      for (const text of texts) types.add(JSON.parse(text).type);
      const shown = await get(`/_oncegate/ledger/entries?shard=${shard}`, READER);
      expect(await shown.text()).toBe(texts.map((text) => `${text}\n`).join(""));
    }
    const expected = [
      "granted",
      "settled",
      "observed",
      "effect",
      "effect-contradiction",
      "unknown",
      "proposed",
      "released",
    ];
    expect([...types].toSorted()).toEqual(expected.toSorted());
  });

  it("of the ledger's own has them, too", async () => {
    stopClock();
    const place = { shard: "1:3", shards: 4 };
    await withLedgerParts(ledgerObject("1:3"), { retentionMs: DAY }, async (object) => {
      for (let i = 0; i < 3; i++) await object.append(place, await makeDelivery(100));
      await object.alarm();
      advanceClock(2 * DAY);
      for (let rounds = 0; rounds < 2; rounds++) {
        await object.alarm();
        advanceClock(MINUTE);
      }
    });
    const own = (await readTexts("1:3")).filter((text) => text.includes('"type":"prune"'));
    expect(own).toHaveLength(1);
    for (const text of own) expectForm(text, "1:3");
  });
});

describe("a checkpoint", () => {
  it.each(["oncegate", "ledger.example/pay"])(
    "of the ledger %s begins with name, epoch and shard",
    async (name) => {
      stopClock();
      const shard = name === "oncegate" ? "1:0" : "1:1";
      await withLedgerParts(ledgerObject(shard), { name }, async (object) => {
        await object.append({ shard, shards: 4 }, await makeDelivery(2));
        await object.alarm();
        const { note, size } = await object.checkpoint(shard);
        const [origin, count, root, blank, signature = "", ...rest] = note.split("\n");
        expect([origin, count, blank, rest]).toEqual([`${name}/${shard}`, String(size), "", [""]]);
        expect(fromBase64(root ?? "")).toHaveLength(32);
        expect(signature).toMatch(new RegExp(`^\u2014 ${name} [A-Za-z0-9+/]+=*$`));
        expect((await object.verifierKey()).vkey.split("+")[0]).toBe(name);
        advanceClock(MINUTE);
      });
    },
  );
});

describe("hashes of proofs", () => {
  it("are base64 of 32 bytes, beside the size they are for", async () => {
    const texts = await readTexts("1:0");
    const size = texts.length;
    for (const path of [`proof?shard=1:0&index=0&size=${size}`, `consistency?shard=1:0&from=1&to=${size}`]) {
      const told = await (await get(`/_oncegate/ledger/${path}`, READER)).json<{
        size: number;
        hashes: string[];
      }>();
      expect(told.size).toBe(size);
      expect(told.hashes.map((hash) => fromBase64(hash)?.byteLength)).toEqual(told.hashes.map(() => 32));
      expect(told.hashes.length).toBeGreaterThan(0);
    }
  });
});
