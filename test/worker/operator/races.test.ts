// Whoever commits first has told the truth; who comes second changes nothing and is in the ledger.
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Grant } from "../../../src/core/event.ts";
import type { FreshAnswer, Resolution } from "../../../src/core/ports.ts";
import type { KeyObject } from "../../../src/worker.ts";
import { advanceClock, DAY, HOUR, SECOND, stopClock } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import {
  beginAt,
  grantAt,
  type KeyStub,
  keyObject,
  makeLedger,
  makeOperation,
  readRecord,
  readTraces,
  withParts,
} from "../support/object.ts";

const LATE: FreshAnswer = { kind: "whole", status: 201, headers: [], body: new TextEncoder().encode("late") };
const OTHER = { status: 201, headers: [], body: new TextEncoder().encode("other") };
const NOT: Resolution["outcome"] = { kind: "not-committed" };
const COMMITTED: Resolution["outcome"] = { kind: "committed", answer: OTHER };

type Race = {
  stub: KeyStub;
  grant: Grant;
  settle: () => Promise<string>;
  refuse: () => Promise<string>;
  resolve: (outcome: Resolution["outcome"], effect?: string) => Promise<string>;
};

/** An attempt that another place runs, by default until its lease is over. One operator is enough. */
async function makeRace(route = "worker", elapsedMs = 31 * SECOND): Promise<Race> {
  stopClock();
  const operation = await makeOperation(route, makeKey());
  const stub = keyObject(operation.name);
  const grant = await grantAt(stub, operation);
  advanceClock(elapsedMs);
  const grounds = { code: "checked", target: "ticket-1", digest: "d".repeat(64) };
  return {
    stub,
    grant,
    settle: async () => (await stub.settle(route, grant, LATE, operation)).kind,
    refuse: () => stub.release(route, grant.token, "status-list"),
    async resolve(outcome, effect = grant.effect) {
      const word = { effect, operator: "op1", operatorsRequired: 1, grounds, outcome };
      return (await stub.resolve(word)).kind;
    },
  };
}

/** Entries that were told, as far as the record still has them, and those that the ledger has. */
async function toldOf(stub: KeyStub): Promise<string[]> {
  const { outbox } = await readRecord(stub);
  return outbox.flatMap(({ entries }) => entries.map(({ type }) => type));
}

async function stateOf(stub: KeyStub): Promise<string> {
  return (await readRecord(stub)).state;
}

describe("an operator who was first", () => {
  it("has freed the key: the late answer is a contradiction and changes nothing", async () => {
    const { stub, settle, resolve } = await makeRace();
    expect(await resolve(NOT)).toBe("resolved");
    expect(await settle()).toBe("fenced");
    expect(await stateOf(stub)).toBe("released");
    expect(await toldOf(stub)).toEqual(expect.arrayContaining(["released", "contradiction"]));
  });

  it("has settled it: another answer is a contradiction and changes nothing", async () => {
    const { stub, settle, resolve } = await makeRace();
    expect(await resolve(COMMITTED)).toBe("resolved");
    const { outbox: _, t: __, ...before } = await readRecord(stub);
    expect(await settle()).toBe("fenced");
    expect(before).toMatchObject({ state: "settled", actor: "operator:op1" });
    expect(await readRecord(stub)).toMatchObject(before);
    expect(await toldOf(stub)).toContain("contradiction");
  });

  it("has settled it without an answer: the late one says the same, is not stored, and nobody has to look", async () => {
    const { stub, settle, resolve } = await makeRace();
    expect(await resolve({ kind: "committed", answer: null })).toBe("resolved");
    const before = await readRecord(stub);
    expect(await settle()).toBe("fenced");
    expect(await readRecord(stub)).toEqual(before);
  });

  it("has settled it: the executor's word that nothing happened is a contradiction", async () => {
    const { stub, refuse, resolve } = await makeRace();
    expect(await resolve(COMMITTED)).toBe("resolved");
    expect(await refuse()).toBe("fenced");
    expect(await stateOf(stub)).toBe("settled");
    expect(await toldOf(stub)).toContain("contradiction");
  });

  it("has freed the key: a second attempt has run, and the first one's answer is late", async () => {
    const { stub, grant, settle, resolve } = await makeRace();
    await resolve(NOT);
    const { fp, owner } = await readRecord(stub);
    const next = await beginAt(stub, await makeOperation("worker", "any", { name: "", fp, owner }));
    expect(next).toMatchObject({ kind: "run", grant: { token: { inc: grant.token.inc, n: 2 } } });
    expect(await settle()).toBe("fenced");
    expect(await readRecord(stub)).toMatchObject({ state: "in-flight", n: 2 });
    expect(await toldOf(stub)).toContain("late");
    expect(await resolve(NOT)).toBe("stale");
  });
});

describe("an operator who was second", () => {
  it("contradicts an answer that was stored: refused, and told", async () => {
    const { stub, settle, resolve } = await makeRace();
    expect(await settle()).toBe("settled");
    const { outbox: _, t: __, ...before } = await readRecord(stub);
    expect(await resolve(NOT)).toBe("stale");
    expect(await readRecord(stub)).toMatchObject(before);
    const { outbox } = await readRecord(stub);
    expect(outbox.flatMap(({ entries }) => entries).at(-1)).toMatchObject({
      type: "contradiction",
      actor: "operator:op1",
      target: "ticket-1",
    });
  });

  it("contradicts a key that was freed: refused, and told", async () => {
    const { stub, refuse, resolve } = await makeRace();
    expect(await refuse()).toBe("done");
    expect(await resolve(COMMITTED)).toBe("stale");
    expect(await stateOf(stub)).toBe("released");
    expect(await toldOf(stub)).toContain("contradiction");
  });

  it("says what is stored already: refused, and there is nothing to tell", async () => {
    const { stub, settle, resolve } = await makeRace();
    await settle();
    const { body } = LATE.kind === "whole" ? LATE : OTHER;
    expect(await resolve({ kind: "committed", answer: { status: 201, headers: [], body } })).toBe("stale");
    expect(await resolve({ kind: "committed", answer: null })).toBe("stale");
    expect(await toldOf(stub)).not.toContain("contradiction");
    expect(await resolve(COMMITTED)).toBe("stale");
    expect(await toldOf(stub)).toContain("contradiction");
  });

  it("speaks while the attempt runs: refused, and nothing is told", async () => {
    const { stub, resolve } = await makeRace("worker", 29 * SECOND);
    const record = await readRecord(stub);
    expect(await resolve(NOT)).toBe("stale");
    expect(await readRecord(stub)).toEqual(record);
  });
});

describe("an outcome that is open", () => {
  it("is kept for as long as it is, however long that takes", async () => {
    const { stub, settle } = await makeRace();
    const ledger = makeLedger(() => true);
    for (let year = 0; year < 3; year++) {
      advanceClock(365 * DAY);
      await withParts(stub, { ledger }, (object) => object.alarm());
      expect(await stateOf(stub)).toBe("unknown");
    }
    expect(await settle()).toBe("settled");
    expect(ledger.types).not.toContain("purged");
  });

  it("that was resolved is kept for its window and quarantine, and gone then for a late answer, too", async () => {
    const { stub, settle, resolve } = await makeRace();
    await resolve(NOT);
    const ledger = makeLedger(() => true);
    advanceClock(25 * HOUR - SECOND);
    await withParts(stub, { ledger }, (object) => object.alarm());
    expect(await stateOf(stub)).toBe("released");
    advanceClock(2 * SECOND);
    await withParts(stub, { ledger }, (object) => object.alarm());
    expect((await readTraces(stub)).rows).toEqual([]);
    expect(await settle()).toBe("fenced");
    expect((await readTraces(stub)).rows).toEqual([]);
    const asked = await runInDurableObject(stub, (object: KeyObject) => object.inspect(null));
    expect(asked).toEqual({ kind: "none" });
  });
});
