import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import { advanceClock, SECOND, stopClock } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, get, makeKey, post } from "../support/gateway.ts";
import { idOf, keyring, nameOf } from "../support/object.ts";
import { makeGate, mockOrigin } from "../support/origin.ts";

/** The real objects; which of them were asked for, in order. */
function watchObjects(): { bindings: Env; asked: string[] } {
  const asked: string[] = [];
  const getByName = (name: string) => {
    asked.push(name);
    return env.KEYS.getByName(name);
  };
  return { bindings: bindWith({ KEYS: { getByName } }), asked };
}

function other(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}

describe("the public id of an operation", () => {
  it("names its object to the deployment alone", async () => {
    mockOrigin();
    const key = makeKey();
    const response = await post("/pay", key);
    await expectAnswer(response, "executed");
    const name = await nameOf("pay", key);
    const id = await idOf("pay", key);
    expect(id.startsWith(`${name}.`)).toBe(true);
    expect(response.headers.get("Link")).toBe(`</_oncegate/operations/${id}>; rel="status"`);
    const { bindings, asked } = watchObjects();
    const told = await get(`/_oncegate/operations/${id}`, {}, bindings);
    expect(await told.json()).toMatchObject({ id, state: "settled" });
    expect(new Set(asked)).toEqual(new Set([name]));
  });

  it.each<[string, (id: string, name: string, tag: string) => string | Promise<string>]>([
    ["the bare name of the object", (_id, name) => name],
    ["a name without its tag", (_id, name) => `${name}.`],
    ["another tag", (_id, name, tag) => `${name}.${other(tag, 0)}`],
    ["a tag with another last letter", (_id, name, tag) => `${name}.${other(tag, tag.length - 1)}`],
    ["a tag that is cut", (id) => id.slice(0, -1)],
    ["a tag that goes on", (id) => `${id}A`],
    ["another name under the tag", (_id, name, tag) => `${other(name, 5)}.${tag}`],
    [
      "the tag of another operation",
      async (_id, name) => `${name}.${(await idOf("pay", "x")).split(".")[1]}`,
    ],
    [
      "a digest made for another use",
      async (_id, name) => `${name}.${(await keyring.originKey(name)).slice(0, 11)}`,
    ],
    ["its letters encoded", (id) => id.replace(".", "%2E")],
    ["a name made up", () => `${"a".repeat(43)}.${"b".repeat(11)}`],
    ["a word", () => "health"],
  ])("that somebody made up is not found, and touches no object: %s", async (_case, make) => {
    mockOrigin();
    const key = makeKey();
    await expectAnswer(await post("/pay", key), "executed");
    const [id, name] = [await idOf("pay", key), await nameOf("pay", key)];
    const { bindings, asked } = watchObjects();
    const made = await make(id, name, id.slice(name.length + 1));
    const answer = await get(`/_oncegate/operations/${made}`, { Prefer: "wait=5" }, bindings);
    expect([404, 400]).toContain(answer.status);
    if (answer.status === 404) await expectProblem(answer, "not-found", 404);
    else await expectProblem(answer, "target-refused", 400);
    expect(asked).toEqual([]);
  });
});

describe("a status read whose store fails", () => {
  /** The objects answer the first so many looks. */
  function failAfter(looks: number): Env {
    let asked = 0;
    const getByName = (name: string) => {
      asked += 1;
      if (asked <= looks) return env.KEYS.getByName(name);
      return { look: vi.fn(() => Promise.reject(new Error("down"))) };
    };
    return bindWith({ KEYS: { getByName } });
  }

  it.each([
    ["at its first look", 0],
    ["while it waits", 1],
  ])("is told so, and not that the operation is not there: %s", async (_case, looks) => {
    const gate = makeGate();
    const origin = mockOrigin(() => gate.passed.then(() => new Response("x", { status: 201 })));
    const key = makeKey();
    const first = post("/pay", key);
    await origin.arrived(1);
    const path = `/_oncegate/operations/${await idOf("pay", key)}`;
    const refused = await get(path, { Prefer: "wait=5" }, failAfter(looks));
    expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await expectProblem(refused, "store-unavailable", 503);
    gate.open();
    await expectAnswer(await first, "executed");
  });

  it("is not found where the operation has ended meanwhile", async () => {
    stopClock();
    mockOrigin();
    const key = makeKey();
    await expectAnswer(await post("/short", key), "executed");
    const getByName = (name: string) => {
      const stub = env.KEYS.getByName(name);
      const look = async (waitMs: number) => {
        if (waitMs > 0) advanceClock(15 * SECOND);
        return stub.look(waitMs);
      };
      return { look };
    };
    const path = `/_oncegate/operations/${await idOf("short", key)}`;
    const gone = await get(path, { Prefer: "wait=5" }, bindWith({ KEYS: { getByName } }));
    await expectProblem(gone, "not-found", 404);
  });
});
