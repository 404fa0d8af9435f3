// Aim: one question to the origin is bounded in time, size and place, and never throws.
import { createHmac } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { PROBE_FAILURES_MAX, PROBE_TIMEOUT_MS } from "../../../src/core/limits.ts";
import type { ProbePort } from "../../../src/core/ports.ts";
import type { Send } from "../../../src/origin/dispatch.ts";
import { openProbe } from "../../../src/origin/probe.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { config, macs } from "../support/object.ts";

const RULE = {
  url: "/effects/{effect_id}",
  sealUrl: "/void",
  notFound: "unknown",
  originDelayMsMax: 0,
} as const;
const ATTEMPT = { name: "object", effect: "e1", n: 2 };
const KB = 1_024;
const SILENCE = { kind: "unknown", why: "silence" };
const ILLEGIBLE = { kind: "unknown", why: "illegible" };

function open(send: Send): ProbePort {
  const budget = new ProbeBudget(Date.now);
  return openProbe({ address: config.origin, send, macs, budget, operationId: async (name) => `${name}.id` });
}

const answer =
  (said: unknown): Send =>
  async () =>
    Response.json(said);

/** A body that goes on as long as somebody reads. */
function endless(): { response: Response; given: () => number } {
  let given = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      given += 16 * KB;
      controller.enqueue(new Uint8Array(16 * KB).fill(0x20));
    },
  });
  return { response: new Response(body), given: () => given };
}

describe("a question", () => {
  it.each(["headers", "body"])("whose %s never come is given up, and its request ended", async (part) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let signal: AbortSignal | null = null;
    const send: Send = (_url, init) => {
      signal = init.signal ?? null;
      const aborted = new Promise<never>((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
      });
      if (part === "headers") return aborted;
      const pull = (): Promise<never> => aborted;
      return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ pull })));
    };
    const asked = open(send).ask(ATTEMPT, RULE, KB);
    await scheduler.wait(20);
    vi.advanceTimersByTime(PROBE_TIMEOUT_MS);
    expect(await asked).toEqual(SILENCE);
    expect(signal).toMatchObject({ aborted: true });
  });

  it("reads no more than an answer may have", async () => {
    const { response, given } = endless();
    expect(await open(async () => response).ask(ATTEMPT, RULE, KB)).toEqual(ILLEGIBLE);
    expect(given()).toBeLessThan(512 * KB);
  });

  it("takes an answer of the largest size in base64", async () => {
    const body = new Uint8Array(300 * KB).fill(7);
    const body_base64 = btoa(String.fromCharCode(...new Uint8Array(30 * KB).fill(7))).repeat(10);
    const said = { outcome: "committed", answer: { status: 200, body_base64 } };
    const asked = await open(answer(said)).ask(ATTEMPT, RULE, body.byteLength);
    expect(asked).toEqual({ kind: "committed", answer: { status: 200, headers: [], body } });
  });

  it("follows no redirect, takes no cached answer, and is signed for this attempt", async () => {
    const send = vi.fn(answer({ outcome: "none" }));
    await open(send).ask(ATTEMPT, RULE, KB);
    const key = config.secrets.originEvidence ?? new Uint8Array();
    const text = ["oncegate-probe-v1", "e1", "2", "probe"].join("\n");
    const mac = createHmac("sha256", key).update(text).digest("base64");
    expect(send).toHaveBeenCalledTimes(1);
    expect(send.mock.calls[0]).toMatchObject([
      "https://origin.example/effects/e1",
      {
        method: "GET",
        redirect: "manual",
        cache: "no-store",
        headers: { "Effect-Id": "e1", "Effect-Attempt": "2", "Effect-Probe": `mac="${mac}"` },
      },
    ]);
  });

  it("is not asked while the origin doesn't answer, and silence to a seal counts as well", async () => {
    const send = vi.fn<Send>(async () => new Response(null, { status: 503 }));
    const probe = open(send);
    for (let asked = 1; asked < PROBE_FAILURES_MAX; asked++) {
      expect(await probe.ask(ATTEMPT, RULE, KB)).toEqual(SILENCE);
    }
    expect(await probe.seal(ATTEMPT, RULE.sealUrl, KB)).toEqual(SILENCE);
    expect(await probe.ask(ATTEMPT, RULE, KB)).toEqual({ kind: "put-off" });
    expect(send).toHaveBeenCalledTimes(PROBE_FAILURES_MAX);
  });

  it.each([{ outcome: "unknown" }, { outcome: "none" }, { outcome: "committed" }])(
    "that is answered %j says that the origin is well",
    async (said) => {
      const send = vi.fn<Send>(async () => new Response(null, { status: 503 }));
      const probe = open(send);
      for (let round = 0; round < 3; round++) {
        send.mockImplementation(async () => new Response(null, { status: 503 }));
        for (let asked = 1; asked < PROBE_FAILURES_MAX; asked++) await probe.ask(ATTEMPT, RULE, KB);
        send.mockImplementation(answer(said));
        expect(await probe.ask(ATTEMPT, RULE, KB)).not.toEqual({ kind: "put-off" });
      }
    },
  );
});
