import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { bindWith, expectAnswer, expectProblem, get, makeKey, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";

/** What the platform says of an error (Durable Objects, error handling). */
type Flags = { retryable?: boolean; overloaded?: boolean; durableObjectReset?: boolean };

/** `before`: the call is lost on its way; `after`: the object has done it, and its reply is lost. */
type Loss = { at: "before" | "after"; flags: Flags };

/** The real objects, over a line on which the first calls fail. `calls` are the field with the operation, as it was sent. */
function loseCalls(losses: readonly Loss[]): { bindings: Env; calls: string[] } {
  const calls: string[] = [];
  const fail = (flags: Flags): never => {
    throw Object.assign(new Error("the line was lost"), flags);
  };
  const getByName = (name: string) => {
    const stub = env.KEYS.getByName(name);
    const fetch = async (request: Request): Promise<Response> => {
      const loss = losses[calls.length];
      calls.push(request.headers.get("oncegate") ?? "");
      if (loss?.at === "before") return fail(loss.flags);
      const response = await stub.fetch(request);
      if (loss === undefined) return response;
      await response.arrayBuffer();
      return fail(loss.flags);
    };
    const own: Record<PropertyKey, unknown> = { fetch };
    return new Proxy(stub, { get: (target, member) => own[member] ?? Reflect.get(target, member) });
  };
  return { bindings: bindWith({ KEYS: { getByName } }), calls };
}

function nonceOf(call: string | undefined): unknown {
  return JSON.parse(call ?? "{}").value.nonce;
}

const RETRYABLE: Flags = { retryable: true };

describe.each(["pay", "worker"])("a line to the object of /%s that is lost", (route) => {
  it.each<[string, Loss[]]>([
    ["before the call arrives", [{ at: "before", flags: RETRYABLE }]],
    ["after the call was answered", [{ at: "after", flags: RETRYABLE }]],
    [
      "twice",
      [
        { at: "before", flags: RETRYABLE },
        { at: "after", flags: RETRYABLE },
      ],
    ],
    ["by a reset", [{ at: "before", flags: { durableObjectReset: true } }]],
  ])("%s is taken up again with the same nonce, and runs once", async (_case, losses) => {
    const origin = mockOrigin();
    const { bindings, calls } = loseCalls(losses);
    const key = makeKey();
    const body = await expectAnswer(await post(`/${route}`, key, {}, bindings), "executed");
    expect(calls.length).toBe(losses.length + 1);
    expect(new Set(calls.map(nonceOf)).size).toBe(1);
    expect(nonceOf(calls[0])).toMatch(/^[0-9a-f-]{36}$/);
    expect(await expectAnswer(await post(`/${route}`, key), "replayed")).toBe(body);
    expect(origin.count).toBe(1);
  });

  it("by overload is not taken up again, and nothing was sent", async () => {
    const origin = mockOrigin();
    const { bindings, calls } = loseCalls([{ at: "before", flags: { overloaded: true, retryable: true } }]);
    const refused = await post(`/${route}`, makeKey(), {}, bindings);
    expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await expectProblem(refused, "store-unavailable", 503);
    expect(calls).toHaveLength(1);
    expect(origin.count).toBe(0);
  });
});

describe("a line that stays lost", () => {
  const always = Array.from({ length: 9 }, (): Loss => ({ at: "before", flags: RETRYABLE }));

  it("leaves the outcome unknown where the object may have run", async () => {
    mockOrigin();
    const { bindings, calls } = loseCalls(always);
    await expectProblem(await post("/pay", makeKey(), {}, bindings), "outcome-unknown", 502);
    expect(calls).toHaveLength(3);
  });

  it("has sent nothing where the Worker runs", async () => {
    const origin = mockOrigin();
    const { bindings, calls } = loseCalls(always);
    await expectProblem(await post("/worker", makeKey(), {}, bindings), "store-unavailable", 503);
    expect(calls).toHaveLength(3);
    expect(origin.count).toBe(0);
  });

  it("is not tried again where the platform doesn't say that it may be", async () => {
    const origin = mockOrigin();
    const { bindings, calls } = loseCalls([{ at: "after", flags: {} }]);
    const key = makeKey();
    await expectProblem(await post("/pay", key, {}, bindings), "outcome-unknown", 502);
    expect(calls).toHaveLength(1);
    await expectAnswer(await post("/pay", key), "replayed");
    expect(origin.count).toBe(1);
  });

  it("is an unsound health", async () => {
    const getByName = () => ({
      look: () => Promise.reject(new Error("down")),
      fetch: () => Promise.reject(new Error("down")),
    });
    const response = await get("/_oncegate/health", {}, bindWith({ KEYS: { getByName } }));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ key_objects: "down", database: "up" });
  });
});
