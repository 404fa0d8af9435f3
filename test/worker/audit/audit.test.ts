// Aim: replays and refusals of a key that exists are in the ledger as its route's `audit` says, whoever decided them.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { advanceClock, SECOND, settleDown, stopClock, until } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { readPublished, runRounds } from "../support/ledger.ts";
import { expectNoTraces, keyObject, nameOf, readRecord } from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

/** Codes of the observed entries of one key in D1, and the types of all its entries. */
async function readStream(route: string, key: string): Promise<{ seen: string[]; types: string[] }> {
  const own = await readPublished(await nameOf(route, key));
  return {
    seen: own.filter(({ type }) => type === "observed").map(({ code }) => String(code)),
    types: own.map(({ type }) => type),
  };
}

async function expectSeen(route: string, key: string, seen: readonly string[]): Promise<void> {
  await until(async () => (await readStream(route, key)).seen.length >= seen.length);
  await settleDown();
  // Each of them is told by whoever decided it, so one may overtake another.
  expect((await readStream(route, key)).seen.toSorted()).toEqual(seen.toSorted());
}

const suffixed = (eager: string, durable: string) =>
  [
    ["eager", eager],
    ["durable", durable],
  ] as const;

describe("a replay", () => {
  it.each([
    ["eager", "pay"],
    ["durable", "durable"],
    ["eager with the other executor", "worker"],
  ])("with audit %s is an entry, from the object and from memory alike", async (_audit, route) => {
    mockOrigin();
    const key = makeKey();
    await expectAnswer(await post(`/${route}`, key), "executed");
    for (let again = 0; again < 3; again++) await expectAnswer(await post(`/${route}`, key), "replayed");
    await expectSeen(route, key, ["replayed", "replayed", "replayed"]);
  });

  it("with audit off is none, and the isolate tells nobody", async () => {
    mockOrigin();
    const key = makeKey();
    let calls = 0;
    const bindings = bindWith({
      KEYS: {
        getByName: (name: string) => {
          calls += 1;
          return env.KEYS.getByName(name);
        },
      },
    });
    for (let again = 0; again < 4; again++) await post("/quiet", key, {}, bindings);
    await settleDown();
    expect(calls).toBe(2);
    await expectSeen("quiet", key, []);
  });

  it.each(suffixed("pay", "durable"))(
    "with audit %s touches no row of the effects table",
    async (_audit, route) => {
      mockOrigin();
      const key = makeKey();
      await expectAnswer(await post(`/${route}`, key), "executed");
      const { effect } = await readRecord(keyObject(await nameOf(route, key)));
      const read = () => env.DB.prepare("SELECT * FROM effects WHERE effect_id = ?").bind(effect).first();
      await until(async () => {
        await runRounds();
        return (await read())?.state === "committed";
      });
      const before = await read();
      await expectAnswer(await post(`/${route}`, key), "replayed");
      await expectSeen(route, key, ["replayed"]);
      expect(await read()).toEqual(before);
    },
  );
});

describe("a refusal", () => {
  it.each(suffixed("pay", "durable"))(
    "of another request with audit %s is an entry",
    async (_audit, route) => {
      mockOrigin();
      const key = makeKey();
      await post(`/${route}`, key);
      await expectProblem(await post(`/${route}`, key, { body: "another" }), "key-reused", 422);
      await expectSeen(route, key, ["key-reused"]);
    },
  );

  it.each(suffixed("pay", "durable"))("of a twin with audit %s is an entry", async (_audit, route) => {
    const gate = makeGate();
    const origin = mockOrigin(async () => {
      await gate.passed;
      return new Response("done", { status: 201 });
    });
    const key = makeKey();
    const first = post(`/${route}`, key);
    await origin.arrived(1);
    await expectProblem(await post(`/${route}`, key), "in-flight", 409);
    const wait = { headers: { Prefer: "wait=5" } };
    const waiting = post(`/${route}`, key, wait);
    await settleDown();
    gate.open();
    await expectAnswer(await first, "executed");
    await expectAnswer(await waiting, "replayed");
    await expectSeen(route, key, ["in-flight", "replayed"]);
    expect((await readStream(route, key)).types).toEqual(["granted", "observed", "settled", "observed"]);
  });

  it.each(suffixed("pay", "durable"))(
    "of an unknown outcome with audit %s is an entry, but not the answer to whoever lost it",
    async (_audit, route) => {
      mockOrigin(() => new Response(null, { status: 504 }));
      const key = makeKey();
      await expectProblem(await post(`/${route}`, key), "outcome-unknown", 504);
      await expectProblem(await post(`/${route}`, key), "outcome-unknown", 409);
      await expectSeen(route, key, ["outcome-unknown"]);
    },
  );

  it.each(suffixed("short", "durable-short"))(
    "of an expired key with audit %s is an entry",
    async (_audit, route) => {
      stopClock();
      mockOrigin();
      const key = makeKey();
      await expectAnswer(await post(`/${route}`, key), "executed");
      advanceClock(12 * SECOND);
      await expectProblem(await post(`/${route}`, key), "key-expired", 409);
      await expectSeen(route, key, ["key-expired"]);
    },
  );

  it.each(suffixed("small", "durable-small"))(
    "for an answer that was not kept with audit %s is an entry",
    async (_audit, route) => {
      mockOrigin(() => new Response("x".repeat(2_000), { status: 201 }));
      const key = makeKey();
      await (await post(`/${route}`, key)).text();
      await until(async () => (await readRecord(keyObject(await nameOf(route, key)))).state === "settled");
      await expectProblem(await post(`/${route}`, key), "answer-not-kept", 409);
      await expectSeen(route, key, ["answer-not-kept"]);
    },
  );

  it.each(suffixed("authorize", "durable-authorize"))(
    "of a caller who may not see the answer with audit %s is an entry, from memory too",
    async (_audit, route) => {
      let status = 204;
      mockOrigin(undefined, { "authorize.example": () => new Response(null, { status }) });
      const key = makeKey();
      await expectAnswer(await post(`/${route}`, key), "executed");
      status = 403;
      await expectProblem(await post(`/${route}`, key), "not-authorized", 403);
      status = 204;
      await expectAnswer(await post(`/${route}`, key), "replayed");
      status = 403;
      await expectProblem(await post(`/${route}`, key), "not-authorized", 403);
      await expectSeen(route, key, ["not-authorized", "replayed", "not-authorized"]);
    },
  );

  it("of a key that was never used makes no object and no entry", async () => {
    const key = makeKey();
    await expectProblem(await post("/limit", key, { body: "x".repeat(2_000) }), "request-too-large", 413);
    expect(await keyObject(await nameOf("limit", key)).observe(["not-authorized"])).toBe(true);
    await expectNoTraces(keyObject(await nameOf("limit", key)));
  });
});

describe("an operation's state", () => {
  it("is what it was before its replays, but for the number of its entries", async () => {
    mockOrigin();
    const key = makeKey();
    const operation = operationOf(await post("/pay", key));
    const stub = keyObject(operation);
    const { outbox: _o, t: _t, ...before } = await readRecord(stub);
    await expectAnswer(await post("/pay", key), "replayed");
    await expectSeen("pay", key, ["replayed"]);
    const { outbox: _p, t: _u, ...after } = await readRecord(stub);
    expect(after).toEqual(before);
  });
});
