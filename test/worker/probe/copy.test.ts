// Aim: an answer that a probe has brought is kept as any other: sealed, bounded, less what must not be kept.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, post } from "../support/gateway.ts";
import { losePayment } from "../support/lost.ts";
import { evict, readRecord, readTraces, runAlarm } from "../support/object.ts";
import { committed, say } from "../support/probed-origin.ts";

beforeEach(() => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
});

const LARGE = "large ".repeat(400_000);

describe("an answer that a probe has brought", () => {
  it("has the fields that an answer keeps, in their order, and no others", async () => {
    const { key } = await losePayment("seal", {
      ask: committed("paid", [
        ["X-B", "1"],
        ["X-A", "2"],
        ["X-B", "3"],
        ["Set-Cookie", "a=b"],
        ["Connection", "X-Hop"],
        ["X-Hop", "1"],
        ["Content-Length", "999"],
        ["Transfer-Encoding", "chunked"],
        ["Idempotency-Status", "executed"],
        ["Effect-Evidence", "none"],
        ["X-Request-Id", "r1"],
      ]),
    });
    const retry = await post("/seal", key);
    const names = [
      "X-A",
      "X-B",
      "Set-Cookie",
      "X-Hop",
      "Idempotency-Status",
      "Effect-Evidence",
      "Idempotency-Original-Request-Id",
    ];
    expect(names.map((name) => retry.headers.get(name))).toEqual([
      "2",
      "1, 3",
      null,
      null,
      "replayed",
      null,
      "r1",
    ]);
    expect(await expectAnswer(retry, "replayed")).toBe("paid");
  });

  it("survives its object in rows of its own, and is the same to the byte", async () => {
    const { key, stub } = await losePayment("seal", { ask: committed(LARGE) });
    await runAlarm(stub);
    expect((await readTraces(stub)).rows).toContain("body:1");
    await evict(stub);
    expect(await expectAnswer(await post("/seal", key), "replayed")).toBe(LARGE);
  });

  it("is stored sealed", async () => {
    const { stub } = await losePayment("seal", { ask: committed("a secret of the origin") });
    await runAlarm(stub);
    const record = await readRecord(stub);
    if (record.state !== "settled" || record.answer.kind !== "kept") throw new Error(record.state);
    expect(new TextDecoder("latin1").decode(record.answer.sealed.head)).not.toContain("secret");
  });

  it("over the route's largest size is described, not kept", async () => {
    const { key } = await losePayment("seal-small", { ask: committed("x".repeat(2_000)) });
    const members = await expectProblem(await post("/seal-small", key), "answer-not-kept", 409);
    expect(members).toMatchObject({ answer_status: 201, answer_size: 2_000 });
  });

  it("is kept without what its route leaves out", async () => {
    const body = { card: { number: "4111", brand: "visa" } };
    const { key, stub } = await losePayment("seal-redact", {
      ask: committed(JSON.stringify(body), [["Content-Type", "application/json"]]),
    });
    await runAlarm(stub);
    expect(JSON.parse(await expectAnswer(await post("/seal-redact", key), "replayed"))).toEqual({
      card: { brand: "visa" },
    });
  });

  it("is nothing of the kind where the origin has answered what can't be given", async () => {
    const { key } = await losePayment("seal", {
      ask: say({ outcome: "committed", answer: { status: 204, body: "x" } }),
    });
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
  });
});

describe("where answers are sealed with the client's key", () => {
  it("a retry's question brings the answer, and only with that key it opens", async () => {
    const { key, stub } = await losePayment("seal-bound", { ask: committed("paid") });
    expect(await expectAnswer(await post("/seal-bound", key), "replayed")).toBe("paid");
    expect(await readRecord(stub)).toMatchObject({ answer: { kind: "kept", sealed: { isBound: true } } });
    await evict(stub);
    expect(await expectAnswer(await post("/seal-bound", key), "replayed")).toBe("paid");
  });

  it("an alarm's question describes the answer: nobody has brought the key", async () => {
    const { key, stub } = await losePayment("seal-bound", { ask: committed("paid") });
    await runAlarm(stub);
    expect(await readRecord(stub)).toMatchObject({
      state: "settled",
      answer: { kind: "not-kept", status: 201, size: 4, digest: await sha256Hex(encodeUtf8("paid")) },
    });
    await expectProblem(await post("/seal-bound", key), "answer-not-kept", 409);
  });
});
