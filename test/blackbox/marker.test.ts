import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({ routes: [...EXECUTOR_ROUTES, describeRoute("optional", { key: "optional" })] });

/** An HTTP date (RFC 9110 section 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

describe.each(EXECUTORS)("who is speaking (%s)", (executor) => {
  const target = `/${executor}/pay`;

  it("FR-035 can be told from every answer", async () => {
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      const json = [["Content-Type", "application/json"]] as const;
      if (arrival.text() === "b") reply.send(422, json, '{"errors":["card expired"]}');
      else reply.send(409, json, '{"error":"sold out"}');
    });
    const call = { target, key: makeKey(), body: "b" };
    const first = await stage.post(call);
    expectExecuted(first, 422);
    expect(first.json()).toEqual({ errors: ["card expired"] });
    expect(first.header("Content-Type")).toBe("application/json");
    expectReplay(await stage.post(call), first);
    expectProblem(await stage.post({ ...call, body: "c" }), "key-reused");
    const conflict = await stage.post({ ...call, key: makeKey(), body: "d" });
    expectExecuted(conflict, 409);
    expect(conflict.json()).toEqual({ error: "sold out" });
    expect(conflict.header("Retry-After")).toBeNull();
    expectProblem(await stage.post({ ...call, key: null }), "key-missing");
    expectReplay(await stage.post(call), first);
    expect(stage.origin.executions()).toBe(2);
  });

  it("FR-080 marks a replay and nothing else, errors too", async () => {
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      reply.send(arrival.text() === "e" ? 400 : 201, [], `about ${arrival.text()}`);
    });
    const fine = { target, key: makeKey(), body: "b" };
    const failing = { target, key: makeKey(), body: "e" };
    const one = await stage.post(fine);
    expectExecuted(one);
    expectReplay(await stage.post(fine), one);
    const other = await stage.post(failing);
    expectExecuted(other, 400);
    expectReplay(await stage.post(failing), other);
    expectProblem(await stage.post({ ...fine, body: "c" }), "key-reused");
  });

  it("dates a replay by its first answer and says until when it is given", async () => {
    const call = { target, key: makeKey() };
    const beganAt = Math.floor(Date.now() / 1_000) * 1_000;
    const first = await stage.post(call);
    const endedAt = Date.now();
    const replay = await stage.post(call);
    const created = replay.header("Idempotency-Created") ?? "";
    expect(created).toMatch(HTTP_DATE);
    expect(Date.parse(created)).toBeGreaterThanOrEqual(beganAt);
    expect(Date.parse(created)).toBeLessThanOrEqual(endedAt);
    const expires = [first, replay].map((answer) => answer.header("Idempotency-Expires") ?? "");
    expect(expires[0]).toBe(expires[1]);
    const lifeMs = Date.parse(expires[0] ?? "") - Date.parse(created);
    expect(lifeMs).toBeGreaterThanOrEqual(3_600_000 - 1_000);
    expect(lifeMs).toBeLessThanOrEqual(3_600_000 + 1_000);
  });

  it("is not forged by the origin", async () => {
    const call = { target, key: makeKey() };
    stage.origin.handle((_arrival, reply) => {
      const forged = [
        "Idempotency-Status",
        "Idempotency-Replayed",
        "Idempotency-Created",
        "Idempotency-Expires",
      ];
      reply.send(
        201,
        [...forged.map((name) => [name, "forged"] as const), ["Effect-Token", "forged"]],
        reply.execute(),
      );
    });
    const first = await stage.post(call);
    expectExecuted(first);
    const replay = await stage.post(call);
    expectReplay(replay, first);
    for (const answer of [first, replay]) expect(answer.rawHead).not.toContain("forged");
  });

  it("links every guarded answer to the status of its operation", async () => {
    const call = { target, key: makeKey() };
    const answers = [await stage.post(call), await stage.post(call)];
    const links = answers.map((answer) => answer.headerValues("Link").join(", "));
    for (const link of links) expect(link).toMatch(/<\/_oncegate\/operations\/[^>]+>;\s*rel="?status"?/);
    expect(links[0]).toBe(links[1]);
  });
});

describe("an answer without protection", () => {
  it("is marked where the key is optional and absent, and not where no route matches", async () => {
    stage.origin.handle((_arrival, reply) =>
      reply.send(201, [["Idempotency-Replayed", "true"]], reply.execute()),
    );
    const unprotected = await stage.post({ target: "/optional/pay", key: null });
    expect(unprotected.header("Idempotency-Status")).toBe("unprotected");
    expect(unprotected.header("Idempotency-Replayed")).toBeNull();
    const unmatched = await stage.post({ target: "/elsewhere", key: null });
    expect(unmatched.status).toBe(201);
    expect(unmatched.header("Idempotency-Status")).toBeNull();
  });
});
