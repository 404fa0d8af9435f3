import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Token } from "../../../src/core/record.ts";
import { KeyObjectShell } from "../../../src/key/key-object.ts";
import { advanceClock, MINUTE, SECOND, stopClock } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { type KeyStub, keyObject, nameOf, replaceRecord } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

/** How long a `begin` takes on its way to the object and back, and the reply to a `renew`. */
type Line = { thereMs: number; backMs: number; renewMs: number };

/** The real objects, over a slow line. */
function slowLine({ thereMs, backMs, renewMs }: Line) {
  const getByName = (name: string) => {
    const stub = env.KEYS.getByName(name);
    const fetch = async (request: Request): Promise<Response> => {
      advanceClock(thereMs);
      const response = await stub.fetch(request);
      advanceClock(backMs);
      return response;
    };
    const renew = async (route: string, token: Token): Promise<unknown> => {
      const renewal = await stub.renew(route, token);
      advanceClock(renewMs);
      return renewal;
    };
    return withOwn(stub, { fetch, renew });
  };
  return bindWith({ KEYS: { getByName } });
}

function withOwn(stub: KeyStub, own: Readonly<Record<PropertyKey, unknown>>): KeyStub {
  return new Proxy(stub, { get: (target, member) => own[member] ?? Reflect.get(target, member) });
}

type Timer = { act: () => void; ms: number };

/** The real objects, over a line whose reply takes a while: the caller's last timer rings if it is over by then, and the clock is then set back. */
function lineOverSetClock({ backMs, setBackMs }: { backMs: number; setBackMs: number }) {
  const timers: Timer[] = [];
  const wait = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms = 0) => {
    timers.push({ act, ms });
    return wait(act, ms);
  }) as typeof setTimeout);
  const getByName = (name: string) => {
    const watch = timers.at(-1);
    const stub = env.KEYS.getByName(name);
    const fetch = async (request: Request): Promise<Response> => {
      const response = await stub.fetch(request);
      advanceClock(backMs - setBackMs);
      if (watch !== undefined && watch.ms <= backMs) watch.act();
      return response;
    };
    return withOwn(stub, { fetch });
  };
  return bindWith({ KEYS: { getByName } });
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a grant whose reply comes", () => {
  it.each<[string, Line]>([
    ["within its lease", { thereMs: 0, backMs: 29 * SECOND, renewMs: 0 }],
    ["late, after a wait for a twin, and is renewed", { thereMs: 40 * SECOND, backMs: 0, renewMs: 0 }],
    ["over a clock that went back meanwhile, and is renewed", { thereMs: 0, backMs: -MINUTE, renewMs: 0 }],
  ])("%s is run", async (_when, line) => {
    stopClock();
    const origin = mockOrigin();
    await expectAnswer(await post("/worker", makeKey(), {}, slowLine(line)), "executed");
    expect(origin.count).toBe(1);
  });

  it.each<[string, Line]>([
    ["when its lease is over", { thereMs: 0, backMs: 31 * SECOND, renewMs: 0 }],
    ["after minutes", { thereMs: 0, backMs: 10 * MINUTE, renewMs: 0 }],
    [
      "late, and whose renewal the clock went back for",
      { thereMs: 40 * SECOND, backMs: 0, renewMs: -MINUTE },
    ],
    ["late, and whose renewal is late too", { thereMs: 40 * SECOND, backMs: 0, renewMs: 31 * SECOND }],
  ])("%s reaches no origin, and the retry runs", async (_when, line) => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    await expectProblem(await post("/worker", key, {}, slowLine(line)), "store-unavailable", 503);
    expect(origin.count).toBe(0);
    await expectAnswer(await post("/worker", key), "executed");
    expect(origin.count).toBe(1);
  });

  it.each([
    ["in time is run, though the clock was set back", 20 * SECOND, 10 * SECOND, 1],
    ["when its lease is over reaches no origin, though the clock was set back", 31 * SECOND, 25 * SECOND, 0],
  ])("%s", async (_when, backMs, setBackMs, sent) => {
    stopClock();
    const origin = mockOrigin();
    const key = makeKey();
    const answer = await post("/worker", key, {}, lineOverSetClock({ backMs, setBackMs }));
    expect(answer.status).toBe(sent === 1 ? 201 : 503);
    expect(origin.count).toBe(sent);
    await expectAnswer(await post("/worker", key), sent === 1 ? "replayed" : "executed");
  });

  it("that is shorter than its route's time-out reaches no origin when it is over", async () => {
    stopClock();
    const origin = mockOrigin();
    const line = lineOverSetClock({ backMs: 12 * SECOND, setBackMs: 5 * SECOND });
    await expectProblem(await post("/worker-short", makeKey(), {}, line), "store-unavailable", 503);
    expect(origin.count).toBe(0);
  });

  it("that holds for less than its route says now is renewed before it is used", async () => {
    stopClock();
    mockOrigin(() => new Response(null, { status: 521 }));
    const key = makeKey();
    await post("/worker", key);
    const stub = keyObject(await nameOf("worker", key));
    await replaceRecord(stub, (record) => ({ ...record, terms: { ...record.terms, leaseMs: 10 * SECOND } }));
    const renewals = vi.spyOn(KeyObjectShell.prototype, "renew");
    expect((await post("/worker", key)).status).toBe(521);
    expect(renewals).toHaveBeenCalledTimes(1);
  });
});
