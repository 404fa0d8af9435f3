import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { makeKeyring } from "../../../src/config/keyring.ts";
import { encodeUtf8 } from "../../../src/core/bytes.ts";
import type { Keyring } from "../../../src/core/ports.ts";
import type { Settled } from "../../../src/core/record.ts";
import { type Binding, type Kept, openAnswer, sealAnswer } from "../../../src/key/storage/seal.ts";
import { advanceClock, SECOND, settleDown, stopClock } from "../support/clock.ts";
import { expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import {
  ALICE,
  config,
  type KeyStub,
  keyObject,
  keyring,
  readRecord,
  replaceRecord,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const CANARIES = {
  body: "CANARY-BODY-7f3a91",
  header: "CANARY-HEADER-51c2d0",
  key: "CANARY-KEY-90ab34",
  credential: "CANARY-CREDENTIAL-66e1f8",
  request: "CANARY-REQUEST-2b7d55",
};

/** Every text and every byte of a stored value, as one text of one character a byte. */
function spell(value: unknown): string {
  if (value instanceof ArrayBuffer) return spell(new Uint8Array(value));
  if (value instanceof Uint8Array) return Array.from(value, (byte) => String.fromCharCode(byte)).join("");
  if (Array.isArray(value)) return value.map(spell).join("\n");
  if (typeof value === "object" && value !== null) return Object.entries(value).flat().map(spell).join("\n");
  return String(value);
}

function spellStorage(stub: KeyStub): Promise<string> {
  return runInDurableObject(stub, (_object, { storage }) => spell([...storage.kv.list()]));
}

async function answerOf(stub: KeyStub): Promise<Settled["answer"]> {
  const record = await readRecord(stub);
  if (record.state !== "settled") throw new Error(record.state);
  return record.answer;
}

describe("stored bytes", () => {
  it.each([
    ["pay", 0],
    ["worker", 0],
    ["bound", 0],
    ["pay", 300_000],
  ])("of /%s hold nothing of request, answer, key and credential (%i bytes)", async (route, padding) => {
    mockOrigin(() => {
      const body = CANARIES.body + "x".repeat(padding) + CANARIES.body;
      return new Response(body, { status: 201, headers: { "X-Note": CANARIES.header } });
    });
    const key = `${CANARIES.key}-${padding}`;
    const response = await post(`/${route}`, key, {
      headers: { Authorization: `Bearer ${CANARIES.credential}` },
      body: CANARIES.request,
    });
    await expectAnswer(response, "executed");
    const operation = operationOf(response);
    const stored = await spellStorage(keyObject(operation));
    expect(stored).toContain("settled");
    for (const canary of Object.values(CANARIES)) {
      expect(stored).not.toContain(canary);
      expect(operation).not.toContain(canary);
    }
  });
});

describe("a sealed answer", () => {
  it("does not open in another object", async () => {
    const origin = mockOrigin();
    const [mine, other] = [makeKey(), makeKey()];
    const from = keyObject(operationOf(await post("/pay", mine)));
    const to = keyObject(operationOf(await post("/pay", other)));
    const answer = await answerOf(from);
    await replaceRecord(to, (record) => ({ ...record, answer }));
    await expectProblem(await post("/pay", other), "store-unavailable", 503);
    await expectAnswer(await post("/pay", mine), "replayed");
    expect(origin.count).toBe(2);
  });

  it("does not open in another life of its own key", async () => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    const stub = keyObject(operationOf(await post("/short", key)));
    const answer = await answerOf(stub);
    advanceClock(15 * SECOND);
    await expectAnswer(await post("/short", key), "executed");
    await replaceRecord(stub, (record) => ({ ...record, answer }));
    await expectProblem(await post("/short", key), "store-unavailable", 503);
    expect(origin.count).toBe(2);
  });

  it.each<[string, (answer: Kept) => Kept]>([
    ["status", (answer) => ({ ...answer, status: 200 })],
    ["first byte", (answer) => tamper(answer, 0)],
    ["last byte", (answer) => tamper(answer, answer.sealed.head.byteLength - 1)],
    ["key's name", (answer) => ({ ...answer, sealed: { ...answer.sealed, key: "AAAAAAAA" } })],
    ["salt", (answer) => ({ ...answer, sealed: { ...answer.sealed, salt: new Uint8Array(32) } })],
  ])("does not open with another %s", async (_part, change) => {
    const origin = mockOrigin();
    const key = makeKey();
    const stub = keyObject(operationOf(await post("/pay", key)));
    await settleDown();
    const answer = await answerOf(stub);
    if (answer.kind !== "kept") throw new Error(answer.kind);
    await replaceRecord(stub, (record) => ({ ...record, answer: change(answer) }));
    await expectProblem(await post("/pay", key), "store-unavailable", 503);
    expect(origin.count).toBe(1);
  });
});

function tamper(answer: Kept, at: number): Kept {
  const head = new Uint8Array(answer.sealed.head);
  head[at] = (head[at] ?? 0) ^ 1;
  return { ...answer, sealed: { ...answer.sealed, head } };
}

const BINDING: Binding = { name: "object", inc: "life", n: 1, status: 201, fp: "fingerprint", secret: "" };

function makeRing(...sealing: [number, ...number[]]): Promise<Keyring> {
  const [newest, ...older] = sealing.map((byte) => new Uint8Array(32).fill(byte));
  return makeKeyring({ naming: config.secrets.naming, sealing: [newest ?? new Uint8Array(32), ...older] });
}

async function sealText(ring: Keyring, binding: Binding, text = "the answer"): Promise<Kept> {
  const whole = { kind: "whole", status: binding.status, headers: [], body: encodeUtf8(text) } as const;
  return (await sealAnswer(ring, whole, binding, binding.secret !== "")).answer;
}

async function openText(ring: Keyring, answer: Kept, binding: Binding): Promise<string | null> {
  const opened = await openAnswer(ring, answer, binding, () => undefined);
  return opened.kind === "damaged" ? null : new Response(opened.body).text();
}

describe("a sealing key that is replaced", () => {
  it("still opens what it sealed while it is listed, and seals no more", async () => {
    const old = await makeRing(7);
    const rotated = await makeRing(8, 7);
    const sealed = await sealText(old, BINDING);
    expect(await openText(rotated, sealed, BINDING)).toBe("the answer");
    const fresh = await sealText(rotated, BINDING);
    expect(fresh.sealed.key).not.toBe(sealed.sealed.key);
    expect(await openText(old, fresh, BINDING)).toBeNull();
    expect(await openText(await makeRing(8), fresh, BINDING)).toBe("the answer");
  });

  it("opens nothing once it is gone", async () => {
    const sealed = await sealText(await makeRing(7), BINDING);
    expect(await openText(await makeRing(8), sealed, BINDING)).toBeNull();
  });

  it.each<[string, Partial<Binding>]>([
    ["object", { name: "another" }],
    ["life", { inc: "another" }],
    ["attempt", { n: 2 }],
    ["status", { status: 200 }],
    ["fingerprint", { fp: "another" }],
    ["secret", { secret: "another" }],
  ])("opens nothing bound to another %s", async (_member, change) => {
    const ring = await makeRing(7);
    const sealed = await sealText(ring, BINDING);
    expect(await openText(ring, sealed, { ...BINDING, ...change })).toBeNull();
  });

  it("never seals two equal answers to equal bytes", async () => {
    const ring = await makeRing(7);
    const [one, two] = [await sealText(ring, BINDING), await sealText(ring, BINDING)];
    expect(one.sealed.head).not.toEqual(two.sealed.head);
  });
});

describe("an answer sealed with the client's key", () => {
  it("opens for a caller who presents the key, and not with the deployment's keys alone", async () => {
    const origin = mockOrigin();
    const key = makeKey();
    const response = await post("/bound", key);
    const [name = ""] = operationOf(response).split(".");
    const body = await expectAnswer(response, "executed");
    expect(await expectAnswer(await post("/bound", key), "replayed")).toBe(body);
    const record = await readRecord(keyObject(name));
    if (record.state !== "settled" || record.answer.kind !== "kept") throw new Error(record.state);
    const { inc, n, fp, answer } = record;
    const binding = { name, inc, n, fp, status: answer.status, secret: "" };
    expect(await openText(keyring, answer, binding)).toBeNull();
    expect(await openText(keyring, answer, { ...binding, secret: makeKey() })).toBeNull();
    expect(await openText(keyring, answer, { ...binding, secret: key })).toBe(body);
    expect(origin.count).toBe(1);
    expect(ALICE).not.toContain(key);
  });
});

describe("redaction", () => {
  it("takes values from the stored copy and leaves the first caller's whole", async () => {
    const card = { card: { number: "4242424242424242", brand: "visa" }, amount: 1 };
    mockOrigin(() => Response.json(card, { status: 201 }));
    const key = makeKey();
    expect(JSON.parse(await expectAnswer(await post("/redact", key), "executed"))).toEqual(card);
    expect(JSON.parse(await expectAnswer(await post("/redact", key), "replayed"))).toEqual({
      card: { brand: "visa" },
      amount: 1,
    });
  });

  it("keeps nothing of JSON in which the values can't be found", async () => {
    const origin = mockOrigin(() => {
      const headers = { "Content-Type": "application/json" };
      return new Response('{"card":{"number":"4242', { status: 201, headers });
    });
    const key = makeKey();
    await expectAnswer(await post("/redact", key), "executed");
    const refused = await expectProblem(await post("/redact", key), "answer-not-kept", 409);
    expect(refused).toMatchObject({ answer_status: 201, answer_size: 23 });
    expect(origin.count).toBe(1);
  });
});
