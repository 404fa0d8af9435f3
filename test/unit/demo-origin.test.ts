// Aim: the demo origin answers a gateway's questions truly. Method: its own HTTP server on loopback, asked as a gateway does.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDemoOrigin } from "../../src/demo/origin.mjs";

let origin: Awaited<ReturnType<typeof startDemoOrigin>> | null = null;

beforeAll(async () => {
  origin = await startDemoOrigin();
});

afterAll(async () => {
  await origin?.close();
});

function call(path: string, method: string, headers: Record<string, string> = {}): Promise<Response> {
  const body = method === "POST" ? { body: '{"amount":5}' } : {};
  return fetch(`${origin?.url}${path}`, { method, headers, ...body });
}

const pay = (effect: string, mode = "normal"): Promise<Response> =>
  call("/payments", "POST", { "Effect-Id": effect, Demo: mode });
const ask = async (effect: string): Promise<unknown> => (await call(`/effects/${effect}`, "GET")).json();
const seal = async (effect: string): Promise<unknown> =>
  (await call(`/effects/${effect}/void`, "POST")).json();
const count = async (): Promise<unknown> =>
  ((await (await call("/payments", "GET")).json()) as { count: unknown }).count;

describe("the demo origin", () => {
  it("gives the answer of a payment again to whoever asks for its effect", async () => {
    const paid = await (await pay("paid")).text();

    expect(await ask("paid")).toMatchObject({ outcome: "committed", answer: { status: 201, body: paid } });
    expect(await seal("paid")).toEqual(await ask("paid"));
  });

  it.each(["fail-after-effect", "reset-after-effect"])("has paid when it is told to %s", async (mode) => {
    await pay(mode, mode).catch(() => undefined);

    expect(await ask(mode)).toMatchObject({ outcome: "committed" });
  });

  it("knows nothing of what it has not seen, and refuses it once it was voided", async () => {
    const before = await count();

    expect(await ask("unseen")).toEqual({ outcome: "none" });
    expect(await seal("unseen")).toEqual({ outcome: "void" });
    expect(await ask("unseen")).toEqual({ outcome: "none" });
    expect((await pay("unseen")).status).toBe(409);
    expect(await count()).toBe(before);
  });

  it("has not paid when it hangs before the effect", async () => {
    const before = await count();
    const gaveUp = fetch(`${origin?.url}/payments`, {
      method: "POST",
      body: '{"amount":5}',
      headers: { "Effect-Id": "held", Demo: "hang-before-effect" },
      signal: AbortSignal.timeout(200),
    });

    await expect(gaveUp).rejects.toThrow();
    expect(await seal("held")).toEqual({ outcome: "void" });
    expect(await count()).toBe(before);
  });
});
