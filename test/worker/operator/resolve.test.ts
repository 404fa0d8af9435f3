// FR-073: what nobody knows is decided by two people, of whom the ledger knows the names.
import { describe, expect, it } from "vitest";
import { encodeUtf8, sha256Hex } from "../../../src/core/bytes.ts";
import { bindWith, expectAnswer, expectProblem, get, makeRequest, post, send } from "../support/gateway.ts";
import { type Line, readPublished } from "../support/ledger.ts";
import { expectNoTraces, idOf, keyObject, readRecord } from "../support/object.ts";
import { ask, GROUNDS, makeUnknown, type Open, resolve, tokenOf } from "../support/operator.ts";

const ANSWER = { status: 201, headers: [["Content-Type", "application/json"]], body: '{"payment":"p1"}' };
const COMMITTED = { outcome: "committed", answer: ANSWER };
const NOT = { outcome: "not-committed" };

async function expectStatus(response: Response, status: number): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status });
  return JSON.parse(text);
}

/** The lines of one operation that operators have made. */
async function wordsOf({ id }: Open): Promise<Line[]> {
  return (await readPublished(id)).filter(({ actor }) => String(actor).startsWith("operator:"));
}

describe("a resolution", () => {
  it("takes two people, and gives every retry the answer they agree on", async () => {
    const open = await makeUnknown();
    const first = await expectStatus(await resolve(open, "op1", COMMITTED), 202);
    expect(first).toEqual({
      status: "proposed",
      id: open.id,
      effect_id: open.effect,
      outcome: "committed",
      missing: 1,
    });
    await expectProblem(await post("/pay", open.key), "outcome-unknown", 409);
    const second = await expectStatus(await resolve(open, "op2", COMMITTED), 200);
    expect(second).toMatchObject({ status: "resolved", state: "settled" });
    const replay = await post("/pay", open.key);
    expect(replay.headers.get("Content-Type")).toBe("application/json");
    expect(await expectAnswer(replay, "replayed")).toBe(ANSWER.body);
    expect(open.origin.count).toBe(1);
  });

  it("may give the answer's bytes in base64", async () => {
    const open = await makeUnknown();
    const answer = { status: 200, headers: [["Content-Type", "image/x"]], body_base64: "AP+A" };
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "committed", answer });
    const replay = await post("/pay", open.key);
    expect([...new Uint8Array(await replay.arrayBuffer())]).toEqual([0, 255, 128]);
    expect([replay.status, replay.headers.get("Content-Type")]).toEqual([200, "image/x"]);
  });

  it("that nothing happened lets the next try run", async () => {
    const open = await makeUnknown();
    await expectStatus(await resolve(open, "op1", NOT), 202);
    expect(await expectStatus(await resolve(open, "op2", NOT), 200)).toMatchObject({ state: "released" });
    await expectAnswer(await post("/pay", open.key), "executed");
    expect(open.origin.count).toBe(2);
  });

  it("is in the ledger with both names, the reason, the reference and a digest of the two", async () => {
    const open = await makeUnknown();
    await resolve(open, "op1", { ...NOT, reason: "no charge at the bank, asked twice" });
    await resolve(open, "op2", { ...NOT, evidence: "https://bank.example/statement" });
    const lines = await wordsOf(open);
    const digest = (texts: string[]) => sha256Hex(encodeUtf8(JSON.stringify(texts)));
    expect(lines).toMatchObject([
      {
        type: "proposed",
        actor: "operator:op1",
        target: "ticket-1",
        digest: await digest(["no charge at the bank, asked twice", "ticket-1"]),
      },
      {
        type: "released",
        evidence: "operator",
        actor: "operator:op2",
        code: "checked",
        digest: await digest(["checked", "https://bank.example/statement"]),
      },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/asked twice|bank\.example/);
    expect([lines[0]?.code, lines[1]?.target]).toEqual([undefined, undefined]);
  });

  it("by one person twice is still proposed", async () => {
    const open = await makeUnknown();
    await expectStatus(await resolve(open, "op1", NOT), 202);
    expect(await expectStatus(await resolve(open, "op1", NOT), 202)).toMatchObject({ missing: 1 });
    expect(await wordsOf(open)).toHaveLength(1);
  });

  it.each<[string, object]>([
    ["another outcome", NOT],
    ["another status", { ...COMMITTED, answer: { ...ANSWER, status: 200 } }],
    ["another body", { ...COMMITTED, answer: { ...ANSWER, body: "{}" } }],
    ["another field", { ...COMMITTED, answer: { ...ANSWER, headers: [["Content-Type", "text/plain"]] } }],
    ["no answer", { outcome: "committed" }],
  ])("with %s is a new proposal", async (_what, said) => {
    const open = await makeUnknown();
    await expectStatus(await resolve(open, "op1", COMMITTED), 202);
    expect(await expectStatus(await resolve(open, "op2", said), 202)).toMatchObject({ missing: 1 });
    expect((await readRecord(keyObject(open.id))).state).toBe("unknown");
  });

  it("made again by either of them, when it is done, changes nothing and says so", async () => {
    const open = await makeUnknown();
    await resolve(open, "op1", COMMITTED);
    await resolve(open, "op2", COMMITTED);
    const record = await readRecord(keyObject(open.id));
    for (const who of ["op1", "op2"] as const) {
      expect(await expectStatus(await resolve(open, who, COMMITTED), 200)).toMatchObject({
        state: "settled",
      });
    }
    expect(await readRecord(keyObject(open.id))).toEqual(record);
  });

  it("needs one person where the settings say so", async () => {
    const { id, effect } = await makeUnknown();
    const body = { effect_id: effect, ...GROUNDS, ...NOT };
    const alone = bindWith({ OPERATORS_REQUIRED: "1" });
    const response = await ask(`/operations/${id}/resolve`, body, "op1", alone);
    expect(await expectStatus(response, 200)).toMatchObject({ state: "released" });
  });

  it("without an answer leaves every retry without one", async () => {
    const open = await makeUnknown();
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "committed" });
    await expectProblem(await post("/pay", open.key), "answer-not-kept", 409);
  });

  it("keeps of a given answer what it would have kept of the origin's", async () => {
    const open = await makeUnknown("redact");
    const headers = [
      ["Content-Type", "application/json"],
      ["Set-Cookie", "session=1"],
      ["Idempotency-Status", "executed"],
    ];
    const answer = { status: 201, headers, body: '{"card":{"number":"4111","brand":"x"}}' };
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "committed", answer });
    const replay = await post("/redact", open.key);
    expect(replay.headers.get("Set-Cookie")).toBeNull();
    expect(await expectAnswer(replay, "replayed")).toBe('{"card":{"brand":"x"}}');
  });

  it.each([
    ["that answers are sealed on with the client's key", "bound", ANSWER.body],
    ["whose limit it is over", "small", "x".repeat(2_000)],
  ])("keeps no copy of a given answer on a route %s", async (_what, route, body) => {
    const open = await makeUnknown(route);
    const answer = { ...ANSWER, body };
    for (const who of ["op1", "op2"] as const) await resolve(open, who, { outcome: "committed", answer });
    const told = await expectProblem(await post(`/${route}`, open.key), "answer-not-kept", 409);
    expect(told).toMatchObject({ answer_status: 201, answer_size: body.length });
  });

  it("may have an answer of several rows", async () => {
    const open = await makeUnknown();
    const body = "x".repeat(3_000_000);
    for (const who of ["op1", "op2"] as const)
      await resolve(open, who, { ...COMMITTED, answer: { ...ANSWER, body } });
    expect((await expectAnswer(await post("/pay", open.key), "replayed")) === body).toBe(true);
  });
});

describe("a resolution is refused", () => {
  it("for an effect that is not the one in question", async () => {
    const open = await makeUnknown();
    await expectProblem(await resolve({ ...open, effect: "another" }, "op1", NOT), "effect-not-open", 409);
    expect((await readRecord(keyObject(open.id))).state).toBe("unknown");
  });

  it("for an effect whose attempt was followed by another", async () => {
    const open = await makeUnknown();
    for (const who of ["op1", "op2"] as const) await resolve(open, who, NOT);
    await expectAnswer(await post("/pay", open.key), "executed");
    await expectProblem(await resolve(open, "op1", COMMITTED), "effect-not-open", 409);
  });

  it("for an operation that never was, and leaves it unused", async () => {
    const id = await idOf("pay", "never-used");
    await expectProblem(await resolve({ id, effect: "e" }, "op1", NOT), "not-found", 404);
    await expectNoTraces(keyObject(id));
    await expectProblem(await resolve({ id: "made.up", effect: "e" }, "op1", NOT), "not-found", 404);
  });

  it("to an operator who may only read", async () => {
    const open = await makeUnknown();
    await expectProblem(await resolve(open, "reader", NOT), "operator-forbidden", 403);
    expect((await readRecord(keyObject(open.id))).state).toBe("unknown");
  });

  it.each<[field: string, body: unknown]>([
    ["body", "no json"],
    ["body", "[]"],
    ["body", '{"outcome":"not-committed","outcome":"committed"}'],
    ["body", { effect_id: "e", ...NOT, ...GROUNDS, note: "x" }],
    ["effect_id", { ...NOT, ...GROUNDS }],
    ["effect_id", { effect_id: "e e", ...NOT, ...GROUNDS }],
    ["outcome", { effect_id: "e", ...GROUNDS }],
    ["outcome", { effect_id: "e", outcome: "unknown", ...GROUNDS }],
    ["reason", { effect_id: "e", ...NOT, evidence: "t" }],
    ["reason", { effect_id: "e", ...NOT, evidence: "t", reason: "" }],
    ["reason", { effect_id: "e", ...NOT, evidence: "t", reason: "a\nb" }],
    ["evidence", { effect_id: "e", ...NOT, reason: "r" }],
    ["evidence", { effect_id: "e", ...NOT, reason: "r", evidence: "x".repeat(201) }],
    ["answer", { effect_id: "e", ...NOT, ...GROUNDS, answer: ANSWER }],
    ["answer", { effect_id: "e", ...GROUNDS, outcome: "committed", answer: null }],
    ["answer", { effect_id: "e", ...GROUNDS, outcome: "committed", answer: { ...ANSWER, cookies: [] } }],
    ["answer.status", { effect_id: "e", ...GROUNDS, outcome: "committed", answer: {} }],
    [
      "answer.headers",
      { effect_id: "e", ...GROUNDS, outcome: "committed", answer: { status: 200, headers: {} } },
    ],
    ["answer.body", { effect_id: "e", ...GROUNDS, outcome: "committed", answer: { status: 200, body: 1 } }],
  ])("for its %s: %j", async (field, body) => {
    const told = await expectProblem(
      await ask(`/operations/${await idOf("pay", "never-used")}/resolve`, body),
      "operator-request-refused",
      400,
    );
    expect(told.field).toBe(field);
  });

  it("over the limit, with any other method, and without a token", async () => {
    const path = `/operations/${await idOf("pay", "never-used")}/resolve`;
    const large = " ".repeat(16 * 1024 * 1024 + 1);
    await expectProblem(await ask(path, large), "operator-request-too-large", 413);
    const got = await get(`/_oncegate/operator${path}`, tokenOf("op1"));
    await expectProblem(got, "method-not-allowed", 405);
    const bare = makeRequest(`/_oncegate/operator${path}`, { method: "POST", body: "{}" });
    await expectProblem(await send(bare), "operator-unauthorized", 401);
    const off = bindWith({ OPERATOR_TOKENS: undefined });
    await expectProblem(await ask(path, {}, "op1", off), "not-found", 404);
  });
});
