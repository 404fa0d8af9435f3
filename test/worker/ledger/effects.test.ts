// FR-073: what happened outside the store is in the ledger, intent before outcome, and can be listed.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { stopClock } from "../support/clock.ts";
import {
  bindWith,
  expectProblem,
  get,
  makeKey,
  makeRequest,
  operationOf,
  post,
  send,
} from "../support/gateway.ts";
import {
  ledgerObject,
  publish,
  readPublished,
  SHARDS,
  untilDelivered,
  withLedgerParts,
} from "../support/ledger.ts";
import { keyObject, keyring, readRecord } from "../support/object.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

const READER = tokenOf("reader");
const DIGEST = "d".repeat(64);

type Told = {
  name: string;
  stream: string;
  effect: string;
  report: (entries: readonly unknown[]) => Promise<void>;
};

/** An executed operation and how its origin reports. */
async function execute(): Promise<Told> {
  const origin = mockOrigin();
  const response = await post("/pay", makeKey());
  await response.text();
  const operation = operationOf(response);
  const { headers } = origin.arrivals[0] ?? { headers: new Headers() };
  const { inc } = await readRecord(keyObject(operation));
  const [name = ""] = operation.split(".");
  return {
    name,
    stream: await keyring.stream(name, inc),
    effect: headers.get("Effect-Id") ?? "",
    async report(entries) {
      const body = entries.map((entry) => JSON.stringify(entry)).join("\n");
      const token = { Authorization: `Bearer ${headers.get("Effect-Token")}` };
      const told = await send(makeRequest("/_oncegate/effects", { method: "POST", headers: token, body }));
      expect({ status: told.status, text: await told.text() }).toMatchObject({ status: 200 });
    },
  };
}

async function rowsOf(stream: string): Promise<Record<string, unknown>[]> {
  const { results } = await env.DB.prepare(
    "SELECT * FROM effects WHERE stream = ? ORDER BY reported, effect_id",
  )
    .bind(stream)
    .all();
  return results;
}

const CHARGE = { effect_id: "charge-1", capability: "payments.charge" };

describe("a reported effect", () => {
  it("is in the ledger beside the dispatch, with all that was told and nothing else", async () => {
    stopClock();
    const { name, stream, effect, report } = await execute();
    await report([
      { ...CHARGE, target: "acct-1", cost: { "money.eur": 12.5 }, digest: DIGEST, note: "secret" },
      { ...CHARGE, phase: "failed", error: { code: "declined", message: "secret" } },
    ]);
    await publish(name);
    const lines = await readPublished(name);
    expect(lines.map(({ type, phase, effect_id }) => [type, phase, effect_id])).toEqual([
      ["granted", "intent", effect],
      ["settled", "committed", effect],
      ["effect", "intent", "charge-1"],
      ["effect", "failed", "charge-1"],
    ]);
    expect(lines[2]).toMatchObject({
      capability: "payments.charge",
      attempt: 1,
      target: "acct-1",
      cost: { "money.eur": 12.5 },
      digest: DIGEST,
    });
    expect(lines[3]).toMatchObject({ code: "declined" });
    expect(JSON.stringify(lines)).not.toContain("secret");
    expect(JSON.stringify(lines)).not.toContain(name);
    expect(await rowsOf(stream)).toMatchObject([
      {
        effect_id: effect,
        reported: 0,
        operation: name,
        capability: "origin.request",
        state: "committed",
        version: 2,
      },
      {
        effect_id: "charge-1",
        reported: 1,
        operation: name,
        state: "failed",
        code: "declined",
        target: "acct-1",
        cost: '{"money.eur":12.5}',
        digest: DIGEST,
        flagged: 0,
        version: 4,
      },
    ]);
  });

  it.each([
    ["in one round", false],
    ["in rounds of their own", true],
  ])("that is contradicted keeps its row's state, and the row is flagged, %s", async (_when, isApart) => {
    stopClock();
    const { name, stream, report } = await execute();
    await report([CHARGE, { ...CHARGE, phase: "failed", error: { code: "declined" } }]);
    if (isApart) await publish(name);
    await report([{ ...CHARGE, phase: "committed", target: "other" }]);
    await publish(name);
    expect((await readPublished(name)).at(-1)).toMatchObject({
      type: "effect-contradiction",
      phase: "committed",
    });
    expect((await rowsOf(stream))[1]).toMatchObject({
      state: "failed",
      code: "declined",
      target: null,
      flagged: 1,
      version: 5,
    });
  });

  it("has a row where only open effects have one, and a finished dispatch has none", async () => {
    stopClock();
    const { name, stream, report } = await execute();
    await report([CHARGE, { ...CHARGE, phase: "committed" }]);
    await untilDelivered(name);
    for (const shard of SHARDS) {
      await withLedgerParts(ledgerObject(shard), { allEffects: false }, (object) => object.alarm());
    }
    expect(await rowsOf(stream)).toMatchObject([{ effect_id: "charge-1", state: "committed" }]);
  });

  it("may be as large as the contract lets it be, a thousand times", async () => {
    stopClock();
    const { name, stream, report } = await execute();
    const axes = Array.from({ length: 8 }, (_, i) => [`${"x".repeat(100)}${"abcdefgh"[i]}`, i + 0.5]);
    const large = { capability: "c".repeat(128), target: "t".repeat(128), cost: Object.fromEntries(axes) };
    for (let batch = 0; batch < 1_000; batch += 250) {
      const ids = Array.from({ length: 250 }, (_, i) => String(batch + i).padStart(64, "0"));
      await report(ids.map((effect_id) => ({ ...large, effect_id, digest: DIGEST })));
      await publish(name);
    }
    await publish(name);
    expect(await readPublished(name)).toHaveLength(1_002);
    expect(await rowsOf(stream)).toHaveLength(1_001);
  });
});

const list = (query: string, bindings = bindWith({}), headers = READER): Promise<Response> =>
  get(`/_oncegate/operator/effects${query}`, headers, bindings);

type Page = { items: Record<string, unknown>[]; next?: string };

describe("the list of effects", () => {
  it.each(["?capability=list.one", "?capability=list.one&state=intent"])(
    "comes page by page: %s",
    async (query) => {
      stopClock();
      const { name, report, stream } = await execute();
      const ids = ["a", "b", "c", "d", "e"];
      await report(ids.map((effect_id) => ({ effect_id, capability: "list.one", cost: { eur: 1 } })));
      await publish(name);
      const seen: unknown[] = [];
      let after = "";
      for (;;) {
        const page: Page = await (await list(`${query}&limit=2${after}`)).json();
        expect(page.items.length).toBeLessThanOrEqual(2);
        seen.push(...page.items.filter((item) => item.stream === stream).map(({ effect_id }) => effect_id));
        if (page.next === undefined) break;
        after = `&after=${page.next}`;
      }
      expect(seen).toEqual(ids);
    },
  );

  it("tells of each effect what is known, with times and no empty members", async () => {
    stopClock();
    const { name, report, stream } = await execute();
    await report([{ effect_id: "x", capability: "list.two", cost: { eur: 1.5 } }]);
    await publish(name);
    const { items }: Page = await (await list("?capability=list.two")).json();
    const time = new Date(Date.now()).toISOString();
    expect(items).toEqual([
      {
        effect_id: "x",
        stream,
        reported: true,
        shard: expect.stringMatching(/^1:[0-3]$/),
        attempt: 1,
        capability: "list.two",
        state: "intent",
        cost: { eur: 1.5 },
        intent_at: time,
        changed_at: time,
        flagged: false,
        version: 3,
      },
    ]);
  });

  it.each([
    "?state=open",
    "?capability=UP",
    "?limit=0",
    "?limit=x",
    "?after=x",
    "?after=W10",
    "?after=WyJ4IiwieSIsInoiLDBd",
    "?after=WzEsMiwieiIsMF0",
    "?after=WzEsInkiLCJ6IiwyXQ",
    "?shard=1:0",
    "?limit=1&limit=2",
  ])("refuses the query %s", async (query) => {
    await expectProblem(await list(query), "query-invalid", 400);
  });

  it("is for operators, and only where D1 is on", async () => {
    await expectProblem(
      await list("", bindWith({}), { Authorization: "Bearer x" }),
      "operator-unauthorized",
      401,
    );
    const told = await expectProblem(
      await list("", bindWith({ LEDGER_SINKS: ["stdout"] })),
      "unsupported",
      501,
    );
    expect(told).toMatchObject({ sinks: "stdout" });
  });
});
