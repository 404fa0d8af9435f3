import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Answer } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { OPERATORS } from "../support/gateway.ts";
import { answerCreated } from "../support/origin.ts";
import { EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

// Aim: what the gateway lost sight of is found and decided by two people, and the ledger tells the whole story. Method: an origin
// that does the effect and falls silent, operators on their endpoints, the verifier as a process of its own.

const COMMAND = join(import.meta.dirname, "../../src/verify/oncegate.mjs");
const WAIT_MS = 20_000;

const stage = useStage({ routes: EXECUTOR_ROUTES, vars: { LEDGER_SHARDS: "1" } });

type Operator = keyof typeof OPERATORS;
type Item = Record<string, unknown>;

function ask(operator: Operator, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = [["Authorization", `Bearer ${OPERATORS[operator].token}`]] as const;
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  return stage.send({ method, target: `/_oncegate${path}`, headers, ...content });
}

type Found = Item & { id: string; effects: Item[]; ledger: Item };

async function find(route: string, key: string): Promise<Found> {
  const query = { route, principal: { authorization: "Bearer a" }, key };
  const answer = await ask("reader", "POST", "/operator/keys/find", query);
  expect({ status: answer.status, text: answer.text() }).toMatchObject({ status: 200 });
  const [found] = (answer.json() as { items: Found[] }).items;
  if (found === undefined) throw new Error("not found");
  return found;
}

/** Entries of one stream, as the ledger gives them, once there are as many as `count`. */
async function readStream(stream: unknown, count: number): Promise<Item[]> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const answer = await ask("reader", "GET", "/ledger/entries?shard=1:0&limit=1000");
    const lines = answer.text().split("\n").slice(0, -1);
    const own = lines.map((line): Item => JSON.parse(line)).filter((line) => line.stream === stream);
    if (own.length >= count || performance.now() > until) return own;
    await sleep(100);
  }
}

async function verify(): Promise<Item> {
  const args = ["verify", "--json", "--url", stage.gateway.url, "--token", OPERATORS.reader.token];
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  await once(child, "close");
  return JSON.parse(Buffer.concat(pieces).toString());
}

/** An operation whose origin did the effect and never said so. From then on it answers. */
async function fallSilent(route: string): Promise<{ key: string; target: string }> {
  const call = { target: `/${route}/pay`, key: makeKey() };
  stage.origin.handle((_arrival, reply) => {
    reply.execute();
    reply.hang();
  });
  const lost = await stage.post(call);
  expectProblem(lost, "outcome-lost");
  expect(lost.status).toBe(504);
  stage.origin.handle(answerCreated);
  return call;
}

const WORD = { reason: "not-at-the-provider", evidence: "ticket-73" };

describe.each(EXECUTORS)("an operation whose outcome nobody knows (%s)", (executor) => {
  const route = `${executor}-brief`;

  it("FR-073 is freed by two operators, runs again, and the ledger has both dispatches and who freed the key", async () => {
    const call = await fallSilent(route);
    const found = await find(route, call.key);
    expect(found).toMatchObject({ state: "unknown", attempts: 1 });
    const [effect] = found.effects;
    const path = `/operator/operations/${found.id}/resolve`;
    const word = { effect_id: effect?.effect_id, outcome: "not-committed", ...WORD };
    expect((await ask("reader", "POST", path, word)).status).toBe(403);
    expect((await ask("first", "POST", path, word)).status).toBe(202);
    expect((await ask("first", "POST", path, word)).status).toBe(202);
    expectProblem(await stage.post(call), "outcome-unknown");
    expect((await ask("second", "POST", path, word)).status).toBe(200);

    const second = await stage.post(call);
    expectExecuted(second);
    expectReplay(await stage.post(call), second);
    expect((await ask("first", "POST", path, word)).status).toBe(409);

    const told = await readStream(found.ledger.stream, 8);
    const seen = told.filter(({ type }) => type === "observed").map(({ code }) => code);
    expect(seen).toEqual(["outcome-unknown", "replayed"]);
    const lines = told.filter(({ type }) => type !== "observed");
    expect(lines.map(({ type, attempt, actor }) => [type, attempt, actor])).toEqual([
      ["granted", 1, undefined],
      ["unknown", 1, undefined],
      ["proposed", 1, "operator:op1"],
      ["released", 1, "operator:op2"],
      ["granted", 2, undefined],
      ["settled", 2, "executor"],
    ]);
    expect(lines[3]).toMatchObject({ evidence: "operator", code: WORD.reason, target: WORD.evidence });
    const granted = lines.filter(({ type }) => type === "granted");
    const arrivals = stage.origin.arrivalsAt(call.target);
    expect(arrivals.map((arrival) => arrival.header("Effect-Id"))).toEqual(
      granted.map(({ effect_id }) => effect_id),
    );
    for (const [i, { at }] of granted.entries()) {
      expect(Number(at)).toBeLessThanOrEqual(arrivals[i]?.atMs ?? 0);
    }
    expect(await verify()).toMatchObject({ verdict: "sound" });
  });

  it("gets the answer that two operators agree on, and never runs again", async () => {
    const call = await fallSilent(route);
    const found = await find(route, call.key);
    const [effect] = found.effects;
    const path = `/operator/operations/${found.id}/resolve`;
    const answer = {
      status: 201,
      headers: [["Content-Type", "application/json"]],
      body: '{"id":"effect-1"}',
    };
    const word = { effect_id: effect?.effect_id, outcome: "committed", answer, ...WORD };
    expect((await ask("first", "POST", path, word)).status).toBe(202);
    expect((await ask("second", "POST", path, word)).status).toBe(200);
    const replay = await stage.post(call);
    expect([replay.status, replay.header("Idempotency-Status"), replay.text()]).toEqual([
      201,
      "replayed",
      answer.body,
    ]);
    expect(stage.origin.executions()).toBe(1);
    expect(await find(route, call.key)).toMatchObject({ state: "settled", settled_by: "operator:op2" });
  });

  it("FR-024 is listed as unknown", async () => {
    const call = await fallSilent(route);
    const id = (await find(route, call.key)).id;
    const until = performance.now() + WAIT_MS;
    let listed: Item | undefined;
    while (listed === undefined && performance.now() < until) {
      const answer = await ask("reader", "GET", "/operator/keys?state=unknown&limit=1000");
      listed = (answer.json() as { items: Item[] }).items.find((item) => item.id === id);
      if (listed === undefined) await sleep(100);
    }
    expect(listed).toMatchObject({ id, attempt: 1, reason: "timeout", age: expect.any(Number) });
  });

  it("can be asked what a request under its key would get, and nothing runs", async () => {
    const call = await fallSilent(route);
    const headers = [
      ["Idempotency-Key", call.key],
      ["Authorization", "Bearer a"],
      ["Content-Type", "application/json"],
    ];
    const explain = async (body: string): Promise<unknown> => {
      const request = { method: "POST", target: call.target, headers, body };
      return (await ask("reader", "POST", "/operator/explain", { request })).json();
    };
    expect(await explain("{}")).toMatchObject({ state: "unknown", would: { problem: "outcome-unknown" } });
    expect(await explain("{ }")).toMatchObject({ would: { problem: "key-reused", status: 422 } });
    expect(stage.origin.executions()).toBe(1);
  });
});
