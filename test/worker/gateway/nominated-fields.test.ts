import { describe, expect, it } from "vitest";
import { bindWith, expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";
import { describeRoute } from "../support/routes.ts";

/** `/pay` with each kind of field that a decision rests on. Its key objects know the route by its id. */
const BINDINGS = bindWith({
  ROUTES: [
    describeRoute("pay", {
      principal: { from: "header", name: "X-Tenant" },
      fingerprint: { body: "raw", headers: ["Stripe-Version"] },
      key_header: "X-Delivery-Id",
    }),
  ],
});

const HEADERS = { "X-Tenant": "acme", "Stripe-Version": "1", "X-Hop": "1" };

function postWith(key: string, connection: string | null): Promise<Response> {
  const headers = { ...HEADERS, "X-Delivery-Id": key, Connection: connection };
  return post("/pay", key, { headers }, BINDINGS);
}

const RELIED_ON = [
  ["the credential", "Authorization"],
  ["the key's field", "X-Delivery-Id"],
  ["a key's field of any route", "Idempotency-Key"],
  ["a field of the principal", "X-Tenant"],
  ["a field of the fingerprint", "Stripe-Version"],
  ["one of them among others, in other letters", "close, x-hop ,  stripe-VERSION"],
];

describe.each(RELIED_ON)("a Connection field that names %s", (_name, connection) => {
  it("is refused at the first try, and leaves the key unused", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    await expectProblem(await postWith(key, connection), "header-refused", 400);
    expect(origin.count).toBe(0);
    await expectAnswer(await postWith(key, null), "executed");
    expect(origin.count).toBe(1);
  });

  it("is refused though the answer is stored, and though it is in memory", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    const body = await expectAnswer(await postWith(key, null), "executed");
    for (let replays = 0; replays < 3; replays++) {
      await expectProblem(await postWith(key, connection), "header-refused", 400);
      expect(await expectAnswer(await postWith(key, null), "replayed")).toBe(body);
    }
    expect(origin.count).toBe(1);
  });
});

describe("a Connection field that names nothing anybody relies on", () => {
  it.each(["close", "keep-alive", "X-Hop", "X-Hop, X-Other"])(
    "is no reason to refuse: %s",
    async (connection) => {
      const origin = mockOrigin();
      await expectAnswer(await postWith(makeKey(), connection), "executed");
      const [arrival] = origin.arrivals;
      expect(arrival?.headers.get("X-Hop")).toBe(connection.includes("X-Hop") ? null : "1");
      expect(arrival?.headers.get("Connection")).toBeNull();
    },
  );
});
