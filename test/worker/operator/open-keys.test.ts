// FR-024: an operation whose outcome is open is listed, the one that has been so for longest first.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import {
  bindWith,
  expectAnswer,
  expectProblem,
  get,
  makeKey,
  operationOf,
  post,
} from "../support/gateway.ts";
import { publish } from "../support/ledger.ts";
import { beginAt, idOf, keyObject, makeOperation, runAlarm } from "../support/object.ts";
import { makeUnknown, resolve, tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

type Item = Record<string, unknown>;
type Page = { items: Item[]; next?: string };

const list = (query: string, bindings = bindWith({})): Promise<Response> =>
  get(`/_oncegate/operator/keys${query}`, tokenOf("reader"), bindings);

async function read(query: string): Promise<Page> {
  const response = await list(query);
  expect(response.status).toBe(200);
  return response.json();
}

describe("the list of open keys", () => {
  it("has what is unknown and for how long, until it is resolved", async () => {
    stopClock();
    const open = await makeUnknown();
    await publish(open.id);
    const since = new Date(Date.now()).toISOString();
    advanceClock(90 * SECOND);
    const own = async () => (await read("?state=unknown")).items.filter(({ id }) => id === open.id);
    expect(await own()).toEqual([
      { id: open.id, effect_id: open.effect, attempt: 1, reason: "path-status", since, age: 90 },
    ]);
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "not-committed" });
    await publish(open.id);
    expect(await own()).toEqual([]);
  });

  it("has what is in flight, once the ledger has been told", async () => {
    stopClock();
    const key = makeKey();
    await beginAt(keyObject(await idOf("long", key)), await makeOperation("long", key));
    await runAlarm(keyObject(await idOf("long", key)));
    await publish();
    const { items } = await read("?state=in-flight");
    expect(items).toMatchObject([{ id: await idOf("long", key), attempt: 1, age: 0 }]);
  });

  it("has nothing that is settled, and no effect that an origin has left open", async () => {
    stopClock();
    const origin = mockOrigin();
    const settled = await post("/pay", makeKey());
    await expectAnswer(settled, "executed");
    await env.DB.prepare(
      `INSERT INTO effects (effect_id, stream, reported, shard, capability, state, changed_at, version)
       VALUES ('charge', '${"a".repeat(64)}', 1, '1:0', 'payments.charge', 'intent', 1, 1)`,
    ).run();
    await publish(operationOf(settled));
    const { items } = await read("?state=in-flight");
    expect(items.filter(({ effect_id }) => effect_id === "charge")).toEqual([]);
    expect(items.length).toBeLessThan(origin.count + 1);
  });

  it("comes page by page, the oldest first", async () => {
    stopClock();
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      advanceClock(SECOND);
      made.push((await makeUnknown()).id);
    }
    await publish(...made);
    const seen: unknown[] = [];
    let after = "";
    for (let pages = 0; pages < 10; pages++) {
      const page = await read(`?state=unknown&limit=2${after}`);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      if (page.next === undefined) break;
      after = `&after=${page.next}`;
    }
    expect(seen.filter((id) => made.includes(String(id)))).toEqual(made);
  });

  it("has rows without an id where nobody has noted whose they are", async () => {
    await env.DB.prepare(
      `INSERT INTO effects (effect_id, stream, reported, shard, capability, state, changed_at, version)
       VALUES ('older', '${"b".repeat(64)}', 0, '1:0', 'origin.request', 'unknown', 1, 2)`,
    ).run();
    const { items } = await read("?state=unknown&limit=1");
    expect(items).toMatchObject([{ effect_id: "older", since: "1970-01-01T00:00:00.001Z" }]);
    expect(items[0]).not.toHaveProperty("id");
  });

  it.each([
    "",
    "?state=settled",
    "?state=unknown&limit=0",
    "?state=unknown&after=x",
    "?state=unknown&after=W10",
    "?state=unknown&after=WyJ4IiwieSIsInoiXQ",
    "?state=unknown&after=WzEsMiwieiJd",
    "?state=unknown&x=1",
  ])("refuses the query %j", async (query) => {
    await expectProblem(await list(query), "query-invalid", 400);
  });

  it("is for operators, and only where D1 is on and answers", async () => {
    await expectProblem(
      await get("/_oncegate/operator/keys?state=unknown", { Authorization: "Bearer x" }),
      "operator-unauthorized",
      401,
    );
    const elsewhere = bindWith({ LEDGER_SINKS: ["stdout"] });
    expect(await expectProblem(await list("?state=unknown", elsewhere), "unsupported", 501)).toMatchObject({
      sinks: "stdout",
    });
    const down = {
      withSession: () => {
        throw new Error("down");
      },
    };
    await expectProblem(await list("?state=unknown", bindWith({ DB: down })), "ledger-unavailable", 503);
  });
});
