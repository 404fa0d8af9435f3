import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { expectExecuted, expectProblem } from "../support/expect-answer.ts";
import { answerCreated, type Origin, startOrigin } from "../support/origin.ts";
import { describeRoute, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({ routes: [describeRoute("a"), describeRoute("free", { key: "off" })] });

describe("the target", () => {
  const held: { elsewhere: Origin | null } = { elsewhere: null };
  const elsewhere = (): Origin => {
    if (held.elsewhere === null) throw new Error("the other host is not started yet");
    return held.elsewhere;
  };
  beforeAll(async () => {
    held.elsewhere = await startOrigin(answerCreated);
  });
  beforeEach(() => elsewhere().forget());
  afterAll(() => elsewhere().close());

  it.each([
    ["a second host", (host: string) => `//${host}/x`],
    ["a second host behind a backslash", (host: string) => `/\\${host}/x`],
    ["a second host after the route's prefix", (host: string) => `//${host}/a/x`],
    ["a parent segment", () => "/a/../admin"],
    ["an encoded parent segment", () => "/a/%2e%2e/admin"],
    ["a half-encoded parent segment", () => "/a/.%2E/admin"],
    ["a dot segment", () => "/a/./x"],
    ["a parent segment behind an encoded slash", () => "/a/..%2fadmin"],
    ["a backslash", () => "/a\\x"],
    ["a parent segment that leads into a route", () => "/b/../a/x"],
    ["an encoded slash that hides a route", () => "/a%2Fb"],
  ])("FR-048 is refused with %s", async (_name, spell) => {
    const target = spell(`127.0.0.1:${elsewhere().port}`);
    expectProblem(await stage.post({ target, key: makeKey() }), "target-refused");
    expect(elsewhere().starts()).toBe(0);
    expect(stage.origin.starts()).toBe(0);
  });

  it.each([
    ["an encoded slash", "/a/b%2Fc"],
    ["an encoded slash in lower case", "/a/b%2fc"],
    ["an empty segment", "/a//b"],
    ["a query", "/a/p?q=%20+&q=2"],
    ["a query with a second path", "/a/p?next=/../admin&host=//other.test"],
    ["an encoded percent sign", "/a/100%25"],
    ["characters outside ASCII", "/a/%C3%A9%e2%82%ac"],
    ["no route", "/p?q=%20+&q=2"],
    ["path parameters", "/a/x;v=1,2"],
    ["an empty query", "/a/x?"],
  ])("FR-048 reaches the origin byte for byte with %s", async (_name, target) => {
    const answer = await stage.post({ target, key: makeKey() });
    expect(answer.status).toBe(201);
    expect(stage.origin.arrivals.map((arrival) => arrival.line)).toEqual([`POST ${target} HTTP/1.1`]);
  });

  it("FR-048 in absolute form reaches the origin and nobody else", async () => {
    const target = `http://user:secret@127.0.0.1:${elsewhere().port}/a/x`;
    const answer = await stage.post({ target, key: makeKey() });
    expect(answer.status).toBe(201);
    expect(elsewhere().starts()).toBe(0);
    expect(stage.origin.arrivals.map((arrival) => arrival.line)).toEqual(["POST /a/x HTTP/1.1"]);
    expect(JSON.stringify(stage.origin.arrivals[0]?.headers)).not.toContain("secret");
  });

  it("is matched as it is forwarded", async () => {
    expectExecuted(await stage.post({ target: "/a/x", key: makeKey() }));
    expectProblem(await stage.post({ target: "/a/x", key: null }), "key-missing");
    const free = await stage.post({ target: "/free/x", key: null });
    expect(free.status).toBe(201);
    const unmatched = await stage.post({ target: "/A/x", key: null });
    expect(unmatched.status).toBe(201);
    expect(unmatched.header("Idempotency-Status")).toBeNull();
  });
});

describe("an origin with a path", () => {
  const held: { origin: Origin | null } = { origin: null };
  beforeAll(async () => {
    held.origin = await startOrigin(answerCreated);
    await stage.gateway.restart({ vars: { ORIGIN_URL: `${held.origin.url}/api/v2` } });
  });
  afterAll(async () => {
    await held.origin?.close();
  });

  it.each(["/a/b%2Fc?q=1", "/a//b", "/p"])("FR-048 is put before the target as text: %s", async (target) => {
    held.origin?.forget();
    expect((await stage.post({ target, key: makeKey() })).status).toBe(201);
    expect(held.origin?.arrivals.map((arrival) => arrival.line)).toEqual([`POST /api/v2${target} HTTP/1.1`]);
  });

  it("FR-048 is not left by a parent segment", async () => {
    held.origin?.forget();
    expectProblem(await stage.post({ target: "/../secret", key: makeKey() }), "target-refused");
    expect(held.origin?.starts()).toBe(0);
  });
});
