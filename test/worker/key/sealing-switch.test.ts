import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/core/ports.ts";
import { makeKey } from "../support/gateway.ts";
import { type KeyStub, keyObject, makeOperation, recordIn, submitTo, withRoutes } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

type Told = { kind: string; body: string };

/** What a caller is told by an object that has just started with the setting on or off. */
function submitUnder(stub: KeyStub, sealWithKey: boolean, operation: Operation): Promise<Told> {
  return withRoutes(stub, { sealWithKey }, async (object) => {
    const begun = await submitTo(object, { ...operation, nonce: crypto.randomUUID() });
    const body = "given" in begun ? await new Response(begun.given.body).text() : "";
    return { kind: begun.kind, body };
  });
}

const SIZES: [number][] = [[10], [300_000]];

describe.each([true, false])("an answer that was stored while seal_with_key was %s", (before) => {
  it.each(SIZES)("opens after the setting was switched, and back (%i bytes)", async (size) => {
    const answer = "a".repeat(size);
    const origin = mockOrigin(() => new Response(answer, { status: 201 }));
    const operation = await makeOperation("pay", makeKey(), { rawKey: "the client's own key" });
    const stub = keyObject(operation.name);
    expect((await submitUnder(stub, before, operation)).kind).toBe("executed");
    for (const now of [!before, before, !before]) {
      const told = await submitUnder(stub, now, operation);
      expect(told.kind).toBe("replayed");
      expect(told.body === answer).toBe(true);
    }
    expect(origin.count).toBe(1);
  });

  it("says in its record whether the client's key belongs to it", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey(), { rawKey: "the client's own key" });
    await withRoutes(keyObject(operation.name), { sealWithKey: before }, async (object, { storage }) => {
      await submitTo(object, operation);
      expect(recordIn(storage)).toMatchObject({ answer: { sealed: { isBound: before } } });
    });
  });
});

describe("an answer bound to the client's key", () => {
  it("is not held open in memory for a call without that key, whatever the setting says now", async () => {
    mockOrigin();
    const operation = await makeOperation("pay", makeKey(), { rawKey: "the client's own key" });
    const stub = keyObject(operation.name);
    await submitUnder(stub, true, operation);
    await withRoutes(stub, { sealWithKey: false }, async (object) => {
      const again = (rawKey: string) =>
        submitTo(object, { ...operation, rawKey, nonce: crypto.randomUUID() });
      expect((await again(operation.rawKey)).kind).toBe("replayed");
      expect(await again("another key")).toMatchObject({ problem: { slug: "store-unavailable" } });
    });
  });
});
