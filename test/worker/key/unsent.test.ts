import { describe, expect, it, vi } from "vitest";
import type { OriginRequest } from "../../../src/core/ports.ts";
import { readBegun, requestFor } from "../../../src/key/wire.ts";
import { openOrigin } from "../../../src/origin/dispatch.ts";
import { makeKey } from "../support/gateway.ts";
import {
  config,
  keyObject,
  keyring,
  macs,
  makeOperation,
  readRecord,
  submitTo,
  withParts,
} from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const BUDGET = { budgetMs: 1_000, streamMs: 1_000, bodyBytesMax: 1_000 };
const ATTEMPT = { name: "object", effect: "effect", n: 1 };

function makeRequest(changes: Partial<OriginRequest>): OriginRequest {
  return { method: "POST", target: "/pay", headers: [], body: async () => new Uint8Array([1]), ...changes };
}

describe("a dispatch", () => {
  it("of a body that can't be read has sent nothing and says so", async () => {
    const send = vi.fn<() => Promise<Response>>();
    const request = makeRequest({ body: () => Promise.reject(new Error("cut")) });
    const stop = new AbortController();
    const came = await openOrigin(config.origin, send, keyring, macs).dispatch(
      request,
      ATTEMPT,
      BUDGET,
      stop,
    );
    expect(came).toEqual({ kind: "unsent" });
    expect(send).not.toHaveBeenCalled();
  });

  it("that fails once the request may be under way is lost, not unsent", async () => {
    const send = vi.fn(() => Promise.reject(new TypeError("refused")));
    const stop = new AbortController();
    const came = await openOrigin(config.origin, send, keyring, macs).dispatch(
      makeRequest({}),
      ATTEMPT,
      BUDGET,
      stop,
    );
    expect(came).toEqual({ kind: "lost", reason: "connection-lost" });
    expect(send).toHaveBeenCalledTimes(1);
  });
});

describe("a body that breaks off on its way to the key's object", () => {
  it("frees the key, is told to be incomplete, and the retry runs", async () => {
    const origin = mockOrigin();
    const body = async (): Promise<Uint8Array> => new TextEncoder().encode("whole");
    const operation = await makeOperation("pay", makeKey());
    const { request } = operation;
    const whole = { ...operation, request: { ...request, body } };
    const stub = keyObject(operation.name);
    const { url, headers } = await requestFor("submit", whole);
    const cut = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("cut"));
      },
    });
    const asked = new Request(url, { method: "POST", headers, body: cut });
    await withParts(stub, {}, async (object) => {
      expect(await readBegun(await object.fetch(asked))).toMatchObject({
        kind: "refused",
        problem: { slug: "request-incomplete", status: 400 },
      });
    });
    expect(origin.count).toBe(0);
    expect(await readRecord(stub)).toMatchObject({ state: "released", evidence: "never-dispatched" });
    expect((await submitTo(stub, { ...whole, nonce: crypto.randomUUID() })).kind).toBe("executed");
    expect(origin.arrivals.map((arrival) => arrival.body)).toEqual(["whole"]);
  });
});
