import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { describeRoute, EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({
  routes: [
    ...EXECUTOR_ROUTES,
    describeRoute("optional", { key: "optional" }),
    describeRoute("short", { key_length: [8, 12] }),
  ],
});

const ODD_KEYS = [
  "order-77/retry_1",
  "01J8ZQ4W5N",
  "__proto__",
  "constructor",
  "../../etc",
  "a:b|c",
  "%2e%2e%2f",
  "null",
  "0",
];

describe("the idempotency key", () => {
  it.each([
    ["two different ones", "other"],
    ["the same one twice", "same"],
  ])("FR-001 refuses two key headers: %s", async (_name, second) => {
    const key = makeKey();
    const first = await stage.post({ target: "/object/pay", key });
    expectExecuted(first);
    const headers = [["Idempotency-Key", second === "same" ? key : makeKey()] as const];
    expectProblem(await stage.post({ target: "/object/pay", key, headers }), "key-invalid");
    expectReplay(await stage.post({ target: "/object/pay", key }), first);
    expect(stage.origin.executions()).toBe(1);
    expect(stage.origin.arrivals).toHaveLength(1);
  });

  it.each(EXECUTORS)("FR-003 takes any visible text as a name and nothing more (%s)", async (executor) => {
    const ids = new Set<string>();
    for (const key of ODD_KEYS) {
      const first = await stage.post({ target: `/${executor}/pay`, key });
      expectExecuted(first);
      expectReplay(await stage.post({ target: `/${executor}/pay`, key }), first);
      ids.add(first.text());
    }
    expect(ids.size).toBe(ODD_KEYS.length);
    expect(stage.origin.executions()).toBe(ODD_KEYS.length);
  });

  it.each([
    ["a control character", "ab\u0001cd"],
    ["a byte outside ASCII", "ab\u00e9cd"],
    ["a comma", "ab,cd"],
    ["a space", "ab cd"],
    ["a quoted comma", '"ab,cd"'],
    ["256 characters", "k".repeat(256)],
    ["nothing", ""],
    ["blanks", "   "],
    ["an empty string", '""'],
    ["an opening quote only", '"ab'],
    ["a string with parameters", '"ab";x=1'],
  ])("FR-003 refuses a key of %s", async (_name, key) => {
    expectProblem(await stage.post({ target: "/object/pay", key }), "key-invalid");
    expect(stage.origin.starts()).toBe(0);
  });

  it("takes a key of 255 characters", async () => {
    expectExecuted(await stage.post({ target: "/object/pay", key: "k".repeat(255) }));
  });

  it.each([
    ["one character too short", "a234567"],
    ["one character too long", "a234567890123"],
  ])("keeps to the route's key length: %s", async (_name, key) => {
    expectProblem(await stage.post({ target: "/short/pay", key }), "key-invalid");
    expect(stage.origin.starts()).toBe(0);
  });

  it("reads the RFC 9651 string and the bare text as one key", async () => {
    const key = makeKey();
    const first = await stage.post({ target: "/object/pay", key: `"${key}"` });
    expectExecuted(first);
    expectReplay(await stage.post({ target: "/object/pay", key }), first);
    expect(stage.origin.executions()).toBe(1);
  });

  it("FR-005 lets requests without a key through one by one where the key is optional", async () => {
    stage.origin.handle((arrival, reply) => {
      reply.execute();
      reply.send(201, [], arrival.body);
    });
    for (const body of ["1", "2", "1"]) {
      const answer = await stage.post({ target: "/optional/a", key: null, body });
      expect(answer.text()).toBe(body);
      expect(answer.header("Idempotency-Status")).toBe("unprotected");
      expect(answer.header("Idempotency-Replayed")).toBeNull();
    }
    expect(stage.origin.executions()).toBe(3);
  });

  it.each(["", "   "])(
    "FR-005 hears an empty key as a mistake where the key is optional (%j)",
    async (key) => {
      expectProblem(await stage.post({ target: "/optional/a", key }), "key-invalid");
      expect(stage.origin.starts()).toBe(0);
    },
  );

  it("FR-005 refuses a request without a key where it is required", async () => {
    expectProblem(await stage.post({ target: "/object/a", key: null }), "key-missing");
    expect(stage.origin.starts()).toBe(0);
  });

  it("FR-077 runs one body under two keys twice", async () => {
    const first = await stage.post({ target: "/object/pay", key: makeKey(), body: "b" });
    const second = await stage.post({ target: "/object/pay", key: makeKey(), body: "b" });
    expectExecuted(first);
    expectExecuted(second);
    expect(first.text()).not.toBe(second.text());
    expect(stage.origin.executions()).toBe(2);
  });
});
