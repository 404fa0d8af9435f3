// Aim: only the origin can prove that an attempt had no effect, and only of this very attempt.
import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openOriginMacs } from "../../../src/origin/evidence.ts";
import { expectAnswer, makeKey, operationOf, post } from "../support/gateway.ts";
import { config, keyObject, macs, readRecord } from "../support/object.ts";
import { type Arrival, mockOrigin } from "../support/origin.ts";

/** As the README tells an origin to make it, with nothing of the product's own. */
function sign(key: Uint8Array | string, effect: string, attempt: string, word = "none"): string {
  const text = ["oncegate-evidence-v1", effect, attempt, word].join("\n");
  return createHmac("sha256", key).update(text).digest("base64");
}

const KEY = config.secrets.originEvidence ?? new Uint8Array();
const idOf = ({ headers }: Arrival): string => headers.get("Effect-Id") ?? "";
const evidence = (mac: string): string => `none; mac="${mac}"`;
const BIG = "x".repeat(2_000);

/** Answers 422 with the field that is made of the request. */
function refuseWith(make: (arrival: Arrival) => string, body = "no funds") {
  return mockOrigin((arrival) => {
    return new Response(body, { status: 422, headers: { "Effect-Evidence": make(arrival) } });
  });
}

describe.each(["pay", "worker"])("an origin that proves that it did nothing (/%s)", (route) => {
  it("frees the key: its answer is given, not stored, and the next try runs", async () => {
    const origin = refuseWith((arrival) => evidence(sign(KEY, idOf(arrival), "1")));
    const key = makeKey();
    const first = await post(`/${route}`, key);
    expect(first.headers.get("Effect-Evidence")).toBeNull();
    expect(await expectAnswer(first, "released", 422)).toBe("no funds");
    expect(await readRecord(keyObject(operationOf(first)))).toMatchObject({
      state: "released",
      evidence: "signed-none",
    });
    await post(`/${route}`, key);
    expect(origin.count).toBe(2);
  });

  it.each([500, 502, 504])("does so with any status: %i", async (status) => {
    mockOrigin((arrival) => {
      const headers = { "Effect-Evidence": evidence(sign(KEY, idOf(arrival), "1")) };
      return new Response("no", { status, headers });
    });
    await expectAnswer(await post(`/${route}`, makeKey()), "released", status);
  });
});

it("proves it with an answer that is too large to be kept, too", async () => {
  const origin = refuseWith((arrival) => evidence(sign(KEY, idOf(arrival), "1")), BIG);
  const key = makeKey();
  const first = await post("/small", key);
  expect(await expectAnswer(first, "released", 422)).toBe(BIG);
  await expect.poll(async () => (await readRecord(keyObject(operationOf(first)))).state).toBe("released");
  expect(await readRecord(keyObject(operationOf(first)))).toMatchObject({ evidence: "signed-none" });
  await (await post("/small", key)).text();
  expect(origin.count).toBe(2);
});

const LIES: [name: string, make: (arrival: Arrival) => string][] = [
  ["for another effect", () => evidence(sign(KEY, "0".repeat(32), "1"))],
  ["for another attempt", (arrival) => evidence(sign(KEY, idOf(arrival), "2"))],
  ["of another word", (arrival) => evidence(sign(KEY, idOf(arrival), "1", "probe"))],
  ["under another key", (arrival) => evidence(sign("another key", idOf(arrival), "1"))],
  [
    "that is the mac of a probe",
    (arrival) => {
      const text = ["oncegate-probe-v1", idOf(arrival), "1", "probe"].join("\n");
      return evidence(createHmac("sha256", KEY).update(text).digest("base64"));
    },
  ],
  ["without a mac", () => "none"],
  ["with an empty mac", () => 'none; mac=""'],
  ["without quotes", (arrival) => `none; mac=${sign(KEY, idOf(arrival), "1")}`],
  [
    "in base64url",
    (arrival) => evidence(sign(KEY, idOf(arrival), "1").replaceAll("+", "-").replace("=", "")),
  ],
  ["with more behind it", (arrival) => `${evidence(sign(KEY, idOf(arrival), "1"))}; more`],
  ["with another word", (arrival) => evidence(sign(KEY, idOf(arrival), "1")).replace("none", "done")],
  [
    "that echoes the request",
    (arrival) => arrival.headers.get("Effect-Evidence") ?? arrival.headers.get("Effect-Token") ?? "",
  ],
];

describe("evidence", () => {
  it.each(LIES)("%s proves nothing: the answer is stored", async (_name, make) => {
    const origin = refuseWith(make);
    const key = makeKey();
    await expectAnswer(await post("/pay", key), "executed", 422);
    await expectAnswer(await post("/pay", key), "replayed", 422);
    expect(origin.count).toBe(1);
  });

  it("in two fields proves nothing, one of them true or both", async () => {
    const origin = mockOrigin((arrival) => {
      const headers = new Headers();
      const mac = evidence(sign(KEY, idOf(arrival), "1"));
      headers.append("Effect-Evidence", mac);
      headers.append("Effect-Evidence", mac);
      return new Response("no", { status: 422, headers });
    });
    const key = makeKey();
    await expectAnswer(await post("/pay", key), "executed", 422);
    await expectAnswer(await post("/pay", key), "replayed", 422);
    expect(origin.count).toBe(1);
  });

  it.each(["Effect-Evidence", "Effect-Probe", "Effect-Id", "Effect-Attempt"])(
    "of a client never reaches the origin (%s)",
    async (name) => {
      const origin = mockOrigin();
      await expectAnswer(await post("/pay", makeKey(), { headers: { [name]: "of the client" } }), "executed");
      expect(origin.arrivals[0]?.headers.get(name) ?? "").not.toContain("of the client");
    },
  );

  it("never reaches a client that is replayed to, true or not", async () => {
    refuseWith(() => "none");
    const key = makeKey();
    for (let tries = 0; tries < 2; tries++) {
      expect((await post("/pay", key)).headers.get("Effect-Evidence")).toBeNull();
    }
  });

  it("is not read where no key is shared with the origin, nor are probes signed", async () => {
    const none = await openOriginMacs(null);
    const attempt = { name: "", effect: "e", n: 1 };
    expect(await none.readEvidence(evidence(sign(KEY, "e", "1")), attempt)).toBeNull();
    expect(await none.readEvidence(evidence(sign("", "e", "1")), attempt)).toBeNull();
    expect(await none.signProbe(attempt)).toBeNull();
    expect(await macs.readEvidence(evidence(sign(KEY, "e", "1")), attempt)).toBe("signed-none");
  });
});
