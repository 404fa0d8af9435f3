import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../src/core/bytes.ts";
import type { Grant } from "../../../src/core/event.ts";
import type { FreshAnswer, Operation } from "../../../src/core/ports.ts";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { makeKey } from "../support/gateway.ts";
import { beginAt, grantAt, type KeyStub, keyObject, makeOperation } from "../support/object.ts";

const MB = 1_000_000;

/** A whole answer whose body is `size` times one letter. */
function makeAnswer(letter: string, size: number): FreshAnswer {
  return { kind: "whole", status: 201, headers: [], body: new TextEncoder().encode(letter.repeat(size)) };
}

/** The rows of a stored body and a digest of each. */
function readRows(stub: KeyStub): Promise<[string, string][]> {
  return runInDurableObject(stub, (_object, { storage }) =>
    Promise.all(
      [...storage.kv.list<ArrayBuffer>({ prefix: "body:" })].map(
        async ([key, row]): Promise<[string, string]> => [key, await sha256Hex(new Uint8Array(row))],
      ),
    ),
  );
}

/** The answer as a retry gets it is `size` times one letter. */
async function expectReplay(
  stub: KeyStub,
  operation: Operation,
  letter: string,
  size: number,
): Promise<void> {
  const begun = await beginAt(stub, { ...operation, nonce: crypto.randomUUID() });
  if (begun.kind !== "replayed") throw new Error(begun.kind);
  const body = await new Response(begun.given.body).text();
  expect(body === letter.repeat(size)).toBe(true);
}

/** A key whose second attempt may settle, and the grant of the first one, which is fenced. */
async function overtake(): Promise<{ stub: KeyStub; operation: Operation; old: Grant; current: Grant }> {
  stopClock();
  const operation = await makeOperation("worker-retry", makeKey());
  const stub = keyObject(operation.name);
  const old = await grantAt(stub, operation);
  advanceClock(31 * SECOND);
  const current = await grantAt(stub, { ...operation, nonce: crypto.randomUUID() });
  expect([old.token.n, current.token.n]).toEqual([1, 2]);
  return { stub, operation, old, current };
}

const ROWS: [string, number, number][] = [
  ["of the same size", 3 * MB, 3 * MB],
  ["that is larger", 2 * MB, 5 * MB],
  ["that is smaller", 5 * MB, 2 * MB],
  ["beside one that needs no row", 10, 3 * MB],
];

describe("a large answer that comes too late", () => {
  it.each(ROWS)("of a fenced attempt leaves the settled one as it is: %s", async (_case, settled, late) => {
    const { stub, operation, old, current } = await overtake();
    const stored = await stub.settle("worker-retry", current, makeAnswer("a", settled), operation);
    expect(stored.kind).toBe("settled");
    const rows = await readRows(stub);
    expect((await stub.settle("worker-retry", old, makeAnswer("b", late), operation)).kind).toBe("fenced");
    expect(await readRows(stub)).toEqual(rows);
    await expectReplay(stub, operation, "a", settled);
  });

  it("of a fenced attempt leaves no row while the current one still runs", async () => {
    const { stub, operation, old, current } = await overtake();
    expect(await stub.settle("worker-retry", old, makeAnswer("b", 3 * MB), operation)).toEqual({
      kind: "fenced",
    });
    expect(await readRows(stub)).toEqual([]);
    await stub.settle("worker-retry", current, makeAnswer("a", 3 * MB), operation);
    await expectReplay(stub, operation, "a", 3 * MB);
  });

  it.each(ROWS)("and contradicts the settled one leaves that as it is: %s", async (_case, settled, late) => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    expect((await stub.settle("worker", grant, makeAnswer("a", settled), operation)).kind).toBe("settled");
    const rows = await readRows(stub);
    expect((await stub.settle("worker", grant, makeAnswer("b", late), operation)).kind).toBe("fenced");
    expect(await readRows(stub)).toEqual(rows);
    await expectReplay(stub, operation, "a", settled);
  });

  it("of an attempt that was released leaves no row", async () => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    expect(await stub.release("worker", grant.token, "status-list")).toBe("done");
    expect((await stub.settle("worker", grant, makeAnswer("a", 3 * MB), operation)).kind).toBe("fenced");
    expect(await readRows(stub)).toEqual([]);
  });
});

describe("a large answer that is settled again", () => {
  it("is settled as it was, under the same rows", async () => {
    const operation = await makeOperation("worker", makeKey());
    const stub = keyObject(operation.name);
    const grant = await grantAt(stub, operation);
    const first = await stub.settle("worker", grant, makeAnswer("a", 3 * MB), operation);
    const rows = await readRows(stub);
    expect(rows.map(([key]) => key)).toEqual(["body:0", "body:1"]);
    expect(await stub.settle("worker", grant, makeAnswer("a", 3 * MB), operation)).toEqual(first);
    expect(await readRows(stub)).toEqual(rows);
    await expectReplay(stub, operation, "a", 3 * MB);
  });
});
