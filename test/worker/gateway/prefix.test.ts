// Aim: everything that the gateway says of its own addresses moves with PREFIX. Method: one operation and its whole story, under another prefix.
import { beforeEach, describe, expect, it } from "vitest";
import { stopClock } from "../support/clock.ts";
import { bindWith, get, makeKey, makeRequest, post, send } from "../support/gateway.ts";
import { publish } from "../support/ledger.ts";
import { tokenOf } from "../support/operator.ts";
import { mockOrigin } from "../support/origin.ts";

const BINDINGS = bindWith({ PREFIX: "/in/gate" });
const OWN = "/in/gate";

beforeEach(stopClock);

const read = (path: string, headers = {}): Promise<Response> => get(`${OWN}${path}`, headers, BINDINGS);

function write(path: string, headers: Record<string, string>, body: unknown): Promise<Response> {
  const sent = { method: "POST", headers, body: JSON.stringify(body) };
  return send(makeRequest(`${OWN}${path}`, sent), BINDINGS);
}

describe("with another prefix", () => {
  it("an answer's link leads to the operation, and its problem's type to a page", async () => {
    mockOrigin();
    const key = makeKey();
    const answer = await post("/pay", key, {}, BINDINGS);
    const link = /^<(\/in\/gate\/operations\/\S+)>; rel="status"$/.exec(
      answer.headers.get("Link") ?? "",
    )?.[1];
    const operation = await get(link ?? "", {}, BINDINGS);
    expect(await operation.json()).toMatchObject({ state: "settled" });
    const refused = await post("/pay", key, { body: "another" }, BINDINGS);
    const { type } = await refused.json<{ type: string }>();
    expect(type).toBe(`${OWN}/problems/key-reused`);
    expect(await (await get(type, {}, BINDINGS)).json()).toMatchObject({ type, status: 422 });
  });

  it("effects are reported, keys found, entries read page by page and problems told below it", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    await (await post("/pay", key, {}, BINDINGS)).text();
    const token = origin.arrivals[0]?.headers.get("Effect-Token") ?? "";
    const entry = { effect_id: "charge", capability: "payments.charge" };
    const taken = await write("/effects", { Authorization: `Bearer ${token}` }, entry);
    expect(await taken.json()).toMatchObject({ recorded: 1 });
    const query = { route: "pay", principal: "Bearer alice", key };
    const found = await write("/operator/keys/find", tokenOf("reader"), query);
    const [item] = (await found.json<{ items: { id: string; state: string }[] }>()).items;
    expect(item?.state).toBe("settled");
    await publish(item?.id ?? "");
    const pages = await Promise.all(
      [0, 1, 2, 3].map((shard) => read(`/ledger/entries?shard=1:${shard}&limit=1`, tokenOf("reader"))),
    );
    const links = pages.map((page) => page.headers.get("Link")).filter((link) => link !== null);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links)
      expect(link).toMatch(/^<\/in\/gate\/ledger\/entries\?shard=1%3A\d&from=1&limit=1>; rel="next"$/);
    const refused = await read("/metrics", { Authorization: "Bearer x" });
    expect(await refused.json()).toMatchObject({ type: `${OWN}/problems/operator-unauthorized` });
  });

  it("the default one is the origin's", async () => {
    const origin = mockOrigin(() => new Response("the origin's own"));
    for (const path of ["/operator/keys?state=unknown", "/ledger/key", "/metrics", "/operations/x"]) {
      const answer = await get(`/_oncegate${path}`, tokenOf("op1"), BINDINGS);
      expect(await answer.text()).toBe("the origin's own");
    }
    expect(origin.count).toBe(4);
  });
});
