// Operators and probes look for the same truth at the same time. First come, first believed; the other one is told.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { stopClock, until } from "../support/clock.ts";
import { expectAnswer, expectProblem, post } from "../support/gateway.ts";
import { type Line, readPublished } from "../support/ledger.ts";
import { losePayment } from "../support/lost.ts";
import { readRecord, runAlarm } from "../support/object.ts";
import { resolve } from "../support/operator.ts";
import { makeGate } from "../support/origin.ts";
import { committed, say, type Words } from "../support/probed-origin.ts";

beforeEach(() => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
});

/** A question that is under way until the gate opens. `decide` lets both operators say the same. */
async function askAndDecide(words: (passed: Promise<void>) => Words) {
  const gate = makeGate();
  const lost = await losePayment("seal", words(gate.passed));
  const asking = runAlarm(lost.stub);
  await until(() => lost.origin.probes.length === 1);
  const { effect } = await readRecord(lost.stub);
  return {
    ...lost,
    async decide(said: object): Promise<number[]> {
      const open = { id: lost.operation, effect };
      const answers = [await resolve(open, "op1", said), await resolve(open, "op2", said)];
      return answers.map(({ status }) => status);
    },
    async answer(): Promise<void> {
      gate.open();
      await asking;
    },
    /** Entries behind the grant and the unknown outcome, by type and actor. */
    async told(): Promise<(readonly unknown[])[]> {
      const lines = await readChanges(lost.operation);
      return lines.slice(2).map(({ type, actor }) => [type, actor]);
    },
  };
}

/** The entries of an operation that tell of a change. What callers were told meanwhile stands beside the story. */
async function readChanges(operation: string): Promise<Line[]> {
  return (await readPublished(operation)).filter(({ type }) => type !== "observed");
}

const NOT = { outcome: "not-committed" };
const paid = (passed: Promise<void>): Words => ({
  ask: (arrival, number) => passed.then(() => committed("paid")(arrival, number)),
});

describe("operators who are first", () => {
  it("free the key: that the origin has it after all is a contradiction", async () => {
    const race = await askAndDecide(paid);
    expect(await race.decide(NOT)).toEqual([202, 200]);
    await race.answer();
    expect(await readRecord(race.stub)).toMatchObject({ state: "released", evidence: "operator" });
    expect(await race.told()).toEqual([
      ["proposed", "operator:op1"],
      ["released", "operator:op2"],
      ["contradiction", undefined],
    ]);
  });

  it("free the key and the next attempt runs: the origin's word on the old one is late, and told", async () => {
    const race = await askAndDecide((passed) => ({ ...paid(passed), pay: () => new Response("second") }));
    await race.decide(NOT);
    expect(await expectAnswer(await post("/seal", race.key), "executed", 200)).toBe("second");
    await race.answer();
    expect(await readRecord(race.stub)).toMatchObject({ n: 2, state: "settled", actor: "executor" });
    expect(await race.told()).toEqual([
      ["proposed", "operator:op1"],
      ["released", "operator:op2"],
      ["granted", undefined],
      ["settled", "executor"],
      ["late", undefined],
    ]);
  });

  it("settle it: that the origin has voided it is a contradiction", async () => {
    const race = await askAndDecide((passed) => ({
      ask: (arrival, number) => passed.then(() => say({ outcome: "none" })(arrival, number)),
      seal: say({ outcome: "void" }),
    }));
    expect(await race.decide({ outcome: "committed", answer: { status: 201, body: "ours" } })).toEqual([
      202, 200,
    ]);
    await race.answer();
    expect(await expectAnswer(await post("/seal", race.key), "replayed")).toBe("ours");
    expect((await race.told()).at(-1)).toEqual(["contradiction", undefined]);
  });

  it.each([
    ["with another answer than the origin's: that is a contradiction", "ours", "contradiction"],
    ["with the origin's own answer: there is nothing to tell", "paid", "settled"],
  ])("settle it %s", async (_claim, body, last) => {
    const race = await askAndDecide(paid);
    await race.decide({ outcome: "committed", answer: { status: 201, body } });
    await race.answer();
    expect(await expectAnswer(await post("/seal", race.key), "replayed")).toBe(body);
    expect((await race.told()).at(-1)?.[0]).toBe(last);
  });
});

describe("operators who are second", () => {
  it("contradict what a probe has found: refused, each of them told", async () => {
    const race = await askAndDecide(paid);
    await race.answer();
    expect(await race.decide(NOT)).toEqual([409, 409]);
    expect(await expectAnswer(await post("/seal", race.key), "replayed")).toBe("paid");
    expect(await race.told()).toEqual([
      ["settled", "probe"],
      ["contradiction", "operator:op1"],
      ["contradiction", "operator:op2"],
    ]);
  });
});

describe("an origin that has voided an effect", () => {
  it("and refuses the request when it comes changes nothing any more, and is told", async () => {
    const pay = makeGate();
    const lost = await losePayment("seal-worker", {
      ask: say({ outcome: "none" }),
      seal: say({ outcome: "void" }),
      pay: () => pay.passed.then(() => new Response("voided", { status: 409 })),
    });
    await runAlarm(lost.stub);
    const { inc, n, effect } = await readRecord(lost.stub);
    const late = { kind: "not-kept", status: 409, size: 6, digest: "a".repeat(64) } as const;
    const settle = () =>
      lost.stub.settle("seal-worker", { token: { inc, n }, effect }, late, { fp: "", rawKey: "" });
    expect(await settle()).toEqual({ kind: "fenced" });
    expect(await readRecord(lost.stub)).toMatchObject({ state: "released", evidence: "sealed-none" });
    const second = post("/seal-worker", lost.key);
    await until(() => lost.origin.payments.length === 2);
    expect(await settle()).toEqual({ kind: "fenced" });
    expect(await readRecord(lost.stub)).toMatchObject({ state: "in-flight", n: 2 });
    await expectProblem(await post("/seal-worker", lost.key), "in-flight", 409);
    pay.open();
    await (await second).text();
    const lines = await readChanges(lost.operation);
    expect(lines.map(({ type, attempt }) => [type, attempt])).toEqual([
      ["granted", 1],
      ["unknown", 1],
      ["released", 1],
      ["contradiction", 1],
      ["granted", 2],
      ["late", 1],
      ["settled", 2],
    ]);
  });
});
