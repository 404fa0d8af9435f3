// Aim: a retry that meets an unknown outcome has the origin asked, and gets what the origin's word makes true.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { advanceClock, MINUTE, SECOND, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { linesOf } from "../support/log.ts";
import { losePayment } from "../support/lost.ts";
import { keyObject, macs, readRecord } from "../support/object.ts";
import { type Answerer, answerCreated } from "../support/origin.ts";
import { committed, cutLine, mockProbedOrigin, say, type Words } from "../support/probed-origin.ts";

beforeEach(() => {
  stopClock();
  vi.spyOn(ProbeBudget.prototype, "take").mockReturnValue(true);
});

describe.each(["", "-worker"])(
  "a retry of an operation whose outcome is unknown (executor%s)",
  (executor) => {
    const seal = `seal${executor}`;
    const probe = `probe${executor}`;

    it("gets the answer that the origin has kept, and so does every later one", async () => {
      const { origin, key } = await losePayment(seal, { ask: committed("paid", [["X-Payment", "7"]]) });
      const retry = await post(`/${seal}`, key);
      expect(retry.headers.get("X-Payment")).toBe("7");
      expect(await expectAnswer(retry, "replayed")).toBe("paid");
      expect(await expectAnswer(await post(`/${seal}`, key), "replayed")).toBe("paid");
      expect([origin.payments.length, origin.probes.length, origin.seals.length]).toEqual([1, 1, 0]);
    });

    it("is told that there is no answer to give when the origin has kept none", async () => {
      const { origin, key } = await losePayment(seal, { ask: say({ outcome: "committed" }) });
      await expectProblem(await post(`/${seal}`, key), "answer-not-kept", 409);
      await expectProblem(await post(`/${seal}`, key), "answer-not-kept", 409);
      expect(origin.payments).toHaveLength(1);
    });

    it("runs, as the next attempt, once the origin has voided the one that it has not seen", async () => {
      const { origin, key, operation } = await losePayment(seal, {
        ask: say({ outcome: "none" }),
        seal: say({ outcome: "void" }),
        pay: answerCreated,
      });
      await expectAnswer(await post(`/${seal}`, key), "executed");
      expect(origin.payments.map(({ headers }) => headers.get("Effect-Attempt"))).toEqual(["1", "2"]);
      expect(new Set(origin.payments.map(({ headers }) => headers.get("Effect-Id"))).size).toBe(2);
      expect(await readRecord(keyObject(operation))).toMatchObject({ n: 2, state: "settled" });
    });

    it("gets the answer when the effect came about between the question and the seal", async () => {
      const { origin, key } = await losePayment(seal, {
        ask: say({ outcome: "none" }),
        seal: committed("just paid"),
      });
      expect(await expectAnswer(await post(`/${seal}`, key), "replayed")).toBe("just paid");
      expect(origin.payments).toHaveLength(1);
    });

    it("stays unknown while what was not seen may still come, and runs once it can't", async () => {
      const { origin, key, operation } = await losePayment(probe, {
        ask: say({ outcome: "none" }),
        pay: answerCreated,
      });
      await expectProblem(await post(`/${probe}`, key), "outcome-unknown", 409);
      advanceClock(MINUTE - 1);
      await expectProblem(await post(`/${probe}`, key), "outcome-unknown", 409);
      expect(origin.payments).toHaveLength(1);
      advanceClock(SECOND);
      await expectAnswer(await post(`/${probe}`, key), "executed");
      expect(origin.payments).toHaveLength(2);
      expect(await readRecord(keyObject(operation))).toMatchObject({ n: 2 });
    });
  },
);

const NO_WORDS: [name: string, words: Words][] = [
  ["doesn't know", { ask: say({ outcome: "unknown" }) }],
  ["is silent", { ask: cutLine }],
  ["answers 500", { ask: say({ outcome: "committed" }, 500) }],
  ["answers 503", { ask: say({ outcome: "none" }, 503) }],
  ["answers 201", { ask: say({ outcome: "none" }, 201) }],
  ["answers 401", { ask: say({ outcome: "none" }, 401) }],
  ["answers 404, which says nothing by default", { ask: say({ outcome: "none" }, 404) }],
  ["redirects", { ask: () => Response.redirect("https://origin.example/effects/elsewhere", 302) }],
  [
    "answers a page",
    { ask: () => new Response("<html>none</html>", { headers: { "Content-Type": "text/html" } }) },
  ],
  ["answers nothing", { ask: () => new Response("") }],
  [
    "claims to have voided what it was only asked about",
    { ask: say({ outcome: "void" }), seal: say({ outcome: "void" }) },
  ],
  ["gives an answer of no status", { ask: say({ outcome: "committed", answer: { body: "x" } }) }],
  ["gives a field with a line feed", { ask: committed("x", [["X-A", "a\r\nSet-Cookie: b"]]) }],
  ["is silent to the seal", { ask: say({ outcome: "none" }), seal: cutLine }],
  ["answers the seal 404", { ask: say({ outcome: "none" }), seal: say({ outcome: "void" }, 404) }],
  ["answers the seal 500", { ask: say({ outcome: "none" }), seal: say({ outcome: "void" }, 500) }],
  ["does not void", { ask: say({ outcome: "none" }), seal: say({ outcome: "none" }) }],
  ["doesn't know whether it can void", { ask: say({ outcome: "none" }), seal: say({ outcome: "unknown" }) }],
];

describe("an origin that", () => {
  it.each(NO_WORDS)("%s leaves the outcome unknown, however late", async (_name, words) => {
    const { origin, key, operation } = await losePayment("seal", { ...words, pay: answerCreated });
    for (const ms of [0, MINUTE, 100 * MINUTE]) {
      advanceClock(ms);
      await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    }
    expect(origin.payments).toHaveLength(1);
    expect(origin.probes.map(({ url }) => new URL(url).pathname)).toEqual(
      Array(3).fill(`/effects/${origin.payments[0]?.headers.get("Effect-Id")}`),
    );
    expect(await readRecord(keyObject(operation))).toMatchObject({ state: "unknown", n: 1, probes: 3 });
  });

  it("answers what was not agreed on is named in the log", async () => {
    const { key, operation } = await losePayment("seal", { ask: say("committed") });
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    expect(linesOf("probe-illegible")).toEqual([
      { event: "probe-illegible", operation: operation.split(".")[0], route: "seal" },
    ]);
  });

  it("answers 404 where that means none is believed as one that says none", async () => {
    const { origin, key } = await losePayment("probe-404", {
      ask: () => new Response("nothing here", { status: 404 }),
      pay: answerCreated,
    });
    await expectProblem(await post("/probe-404", key), "outcome-unknown", 409);
    advanceClock(2 * MINUTE);
    await expectAnswer(await post("/probe-404", key), "executed");
    expect(origin.payments).toHaveLength(2);
  });
});

describe("a 5xx of the origin's own on a route with a probe", () => {
  const fail: Answerer = () => new Response("it broke", { status: 500 });

  it("is given to the first caller as unknown, and the retry gets what the probe has found", async () => {
    const words: Words = { pay: fail, ask: committed("paid after all") };
    const origin = mockProbedOrigin(words);
    const key = makeKey();
    expect(await expectAnswer(await post("/seal", key), "unknown", 500)).toBe("it broke");
    expect(await expectAnswer(await post("/seal", key), "replayed")).toBe("paid after all");
    expect(origin.payments).toHaveLength(1);
  });
});

describe("a probe", () => {
  it("goes to the addresses of its route, below the origin, with ids and a mac of its own and nothing of the client's", async () => {
    const { origin, key, operation } = await losePayment("seal", {
      ask: say({ outcome: "none" }),
      seal: say({ outcome: "unknown" }),
    });
    await expectProblem(await post("/seal", key), "outcome-unknown", 409);
    const effect = origin.payments[0]?.headers.get("Effect-Id") ?? "";
    const attempt = { name: "", effect, n: 1 };
    expect(origin.probes[0]?.url).toBe(
      `https://origin.example/effects/${effect}?attempt=1&operation=${operation}`,
    );
    expect(origin.seals[0]?.url).toBe(`https://origin.example/effects/${effect}/void`);
    for (const { headers, body } of [...origin.probes, ...origin.seals]) {
      expect(headers.get("Effect-Id")).toBe(effect);
      expect(headers.get("Effect-Attempt")).toBe("1");
      expect(headers.get("Effect-Probe")).toBe(await macs.signProbe(attempt));
      expect(headers.get("Authorization")).toBeNull();
      expect(headers.get("Effect-Token")).toBeNull();
      expect(body).toBe("");
    }
  });
});
