import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findCanaries } from "../support/canary.ts";
import type { Answer } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { OPERATORS } from "../support/gateway.ts";
import { describeRoute, EXECUTORS, useStage } from "../support/stage.ts";
import type { HeaderPair } from "../support/wire.ts";

/** One secret for every way into the gateway; each is looked for in every way out. */
const CANARIES = {
  key: "jane.doe@example.test-SECRET-KEY-1",
  longKey: "SECRET-KEY-2-",
  auth: "SECRET-AUTH-1",
  otherAuth: "SECRET-AUTH-2",
  card: "4242424242424242",
  body: "SECRET-BODY-1",
  cookie: "SECRET-COOKIE-1",
  query: "SECRET-QUERY-1",
  requestHeader: "SECRET-HEADER-1",
  answerHeader: "SECRET-HEADER-2",
  operator: "operator-secret-",
  note: "SECRET-NOTE-1",
  reason: "SECRET-REASON-1",
  evidence: "SECRET-EVIDENCE-1",
  probed: "SECRET-PROBED-1",
  naming: "SECRET-NAMING-1",
  sealing: "SECRET-SEALING-1",
};

const ORIGIN_ANSWER: HeaderPair[] = [
  ["Content-Type", "application/json"],
  ["Set-Cookie", `s=${CANARIES.cookie}`],
  ["X-Internal", CANARIES.answerHeader],
];

const stage = useStage({
  routes: [
    ...EXECUTORS.flatMap((executor) => [
      describeRoute(executor, { executor }),
      describeRoute(`${executor}-sealed`, { executor, seal_with_key: true }),
    ]),
    describeRoute("small", { request_max: "64B" }),
  ],
});

describe("secrets", () => {
  const shown: string[] = [];
  /** Macs of the tokens that the origin was given. */
  const macs: string[] = [];

  async function ask(token: string, path: string, body: unknown): Promise<Answer> {
    const headers: HeaderPair[] = [["Authorization", `Bearer ${token}`]];
    const sent = { method: "POST", target: `/_oncegate/${path}`, headers, body: JSON.stringify(body) };
    const answer = await stage.send(sent);
    shown.push(answer.rawHead, answer.text());
    return answer;
  }

  it.each(EXECUTORS.flatMap((executor) => [executor, `${executor}-sealed`]))(
    "FR-059 come back to their owner in a replay (%s)",
    async (segment) => {
      stage.origin.handle((_arrival, reply) => {
        reply.execute();
        reply.send(201, ORIGIN_ANSWER, JSON.stringify({ token: CANARIES.body }));
      });
      const call = {
        target: `/${segment}/pay?session=${CANARIES.query}`,
        key: CANARIES.key,
        tenant: CANARIES.auth,
        body: JSON.stringify({ card: CANARIES.card }),
        headers: [["X-Client-Token", CANARIES.requestHeader] as const],
      };
      const first = await stage.post(call);
      expectExecuted(first);
      const replay = await stage.post(call);
      expectReplay(replay, first);
      expect(replay.json()).toEqual({ token: CANARIES.body });
      expect(replay.header("X-Internal")).toBe(CANARIES.answerHeader);
      const refused = await stage.post({ ...call, body: JSON.stringify({ card: CANARIES.card, more: 1 }) });
      expectProblem(refused, "key-reused");
      shown.push(refused.rawHead, refused.text());
    },
  );

  it("FR-059 are not repeated by refusals, unknown outcomes and faults", async () => {
    const target = `/object/pay?session=${CANARIES.query}`;
    const body = JSON.stringify({ card: CANARIES.card });
    const call = { target, key: `${CANARIES.key}-lost`, tenant: CANARIES.auth, body };
    const longKey = CANARIES.longKey.repeat(30);
    expectProblemOf(await stage.post({ ...call, key: longKey }), "key-invalid");
    expectProblemOf(await stage.post({ ...call, key: `${CANARIES.key},${CANARIES.longKey}` }), "key-invalid");
    expectProblemOf(await stage.post({ ...call, tenant: null }), "principal-missing");
    expectProblemOf(await stage.post({ ...call, target: `/object/../${CANARIES.query}` }), "target-refused");
    const large = `${body}${" ".repeat(100)}`;
    expectProblemOf(await stage.post({ ...call, target: "/small/pay", body: large }), "request-too-large");
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.raw(
        `HTTP/1.1 201 ${CANARIES.body}\r\nX-Internal: ${CANARIES.answerHeader}\r\nContent-Length: 900\r\n\r\n`,
      );
      reply.raw(CANARIES.body);
      reply.reset();
    });
    expectProblemOf(await stage.post(call), "outcome-lost");
    expectProblemOf(await stage.post(call), "outcome-unknown");
    await stage.gateway.restart({ secrets: { NAMING_KEY: CANARIES.naming, SEALING_KEY: CANARIES.sealing } });
    expectProblemOf(await stage.post(call), "misconfigured");
    await stage.gateway.restart({ secrets: {} });
  });

  it("FR-059 are not kept of what an origin reports", async () => {
    expectExecuted(await stage.post({ target: "/object/pay", key: `${CANARIES.key}-told` }));
    const token = stage.origin.arrivals.at(-1)?.header("Effect-Token") ?? "";
    macs.push(token.split(".").at(-1) ?? "");
    const told = { effect_id: "charge", capability: "payments.charge", note: CANARIES.note };
    const failed = { ...told, phase: "failed", error: { code: "declined", message: CANARIES.note } };
    expect((await ask(token, "effects", told)).json()).toMatchObject({ recorded: 1 });
    expect((await ask(token, "effects", failed)).json()).toMatchObject({ recorded: 1 });
    const bad = [
      { ...told, effect_id: `a ${CANARIES.note}` },
      { ...told, capability: CANARIES.note },
    ];
    for (const entry of bad) expect((await ask(token, "effects", entry)).status).toBe(400);
  });

  it("FR-059 are not kept of operators' words, nor told in what they are answered", async () => {
    const call = { target: "/object/pay", key: `${CANARIES.key}-asked`, tenant: CANARIES.auth };
    stage.origin.handle((_arrival, reply) => {
      reply.execute();
      reply.reset();
    });
    expectProblemOf(await stage.post(call), "outcome-lost");
    const principal = { authorization: `Bearer ${CANARIES.auth}` };
    const { token } = OPERATORS.first;
    const found = await ask(token, "operator/keys/find", { route: "object", principal, key: call.key });
    const [item] = (found.json() as { items: { id: string; effects: { effect_id: string }[] }[] }).items;
    const word = {
      effect_id: item?.effects[0]?.effect_id,
      outcome: "committed",
      answer: { status: 201, headers: [["X-Internal", CANARIES.answerHeader]], body: CANARIES.probed },
      reason: `${CANARIES.reason} in words`,
      evidence: `https://bank.example/${CANARIES.evidence}`,
    };
    const path = `operator/operations/${item?.id}/resolve`;
    expect((await ask(token, path, { ...word, evidence: `${CANARIES.evidence}\n` })).status).toBe(400);
    expect((await ask(token, path, word)).status).toBe(202);
    await ask(token, "operator/keys/find", { route: "object", principal, key: call.key });
    expect((await ask(OPERATORS.second.token, path, word)).status).toBe(200);
    const headers = [
      ["Idempotency-Key", call.key],
      ["Authorization", `Bearer ${CANARIES.auth}`],
    ];
    const sample = { method: "POST", target: `/object/pay`, headers, body: CANARIES.card };
    expect((await ask(token, "operator/explain", { request: sample })).status).toBe(200);
    expect((await stage.post(call)).text()).toBe(CANARIES.probed);
  });

  it("FR-059 are not told by the gateway's own endpoints", async () => {
    const operator: HeaderPair = ["Authorization", `Bearer ${OPERATORS.first.token}`];
    const wrong: HeaderPair = ["Authorization", `Bearer op1.${CANARIES.operator}wrong`];
    const paths = [
      "health",
      "metrics",
      "operator/keys",
      "operator/effects",
      "operator/reconciliation",
      "ledger/checkpoint",
    ];
    for (const path of [
      ...paths,
      "problems/key-reused",
      `problems/${CANARIES.query}`,
      `operations/${CANARIES.key}`,
    ]) {
      for (const header of [operator, wrong]) {
        const answer = await stage.send({ method: "GET", target: `/_oncegate/${path}`, headers: [header] });
        expect(answer.status, path).not.toBe(500);
        shown.push(answer.rawHead, answer.text());
      }
    }
  });

  it("FR-059 are in no log, problem, listing or database file", async () => {
    expect(shown.length).toBeGreaterThan(20);
    await sleep(1_500);
    await stage.gateway.halt();
    const canaries = [...Object.values(CANARIES), ...macs];
    const places = { logs: stage.gateway.logs(), problems: shown, directory: stage.gateway.persist };
    expect(await findCanaries(canaries, places)).toEqual([]);
    const control = await findCanaries(["object-sealed"], places);
    expect(control.map(({ where }) => where)).toEqual(
      expect.arrayContaining(["log", expect.stringMatching(/KeyObject.*\.sqlite/)]),
    );
    const digests = [CANARIES.key, CANARIES.auth, CANARIES.card, `Bearer ${CANARIES.auth}`].map((canary) =>
      createHash("sha256").update(canary).digest("hex"),
    );
    expect(await findCanaries(digests, places), "no unkeyed digest of a guessable secret").toEqual([]);
  });

  function expectProblemOf(...[answer, refusal]: Parameters<typeof expectProblem>): void {
    expectProblem(answer, refusal);
    shown.push(answer.rawHead, answer.text());
  }
});
