// Aim: in front of an API that keeps the contract of probes, every lost outcome closes by itself, and nothing runs twice.
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, send } from "../support/client.ts";
import { expectExecuted, expectProblem } from "../support/expect-answer.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { listObjectFiles, readRows, writeRow } from "../support/object-store.ts";
import { sendAnswer, startReferenceOrigin } from "../support/reference-origin.mjs";
import { describeCall, describeRoute, EXECUTORS, makeKey } from "../support/stage.ts";

const EVIDENCE_KEY = Buffer.alloc(32, 0x45).toString("base64");
const PROBE = { url: "/effects/{effect_id}", seal_url: "/effects/{effect_id}/void", max_origin_delay: "1s" };
const ROUTES = EXECUTORS.map((executor) =>
  describeRoute(executor, { executor, probe: PROBE, origin_timeout: "1s", max_execution: "2s" }),
);
const CLOSED_MS_MAX = 30_000;

type Origin = Awaited<ReturnType<typeof startReferenceOrigin>>;
const held: { gateway: Gateway | null; origin: Origin | null } = { gateway: null, origin: null };

function use<Part>(part: Part | null): Part {
  if (part === null) throw new Error("not started yet");
  return part;
}

const gateway = (): Gateway => use(held.gateway);
const origin = (): Origin => use(held.origin);

async function startOrigin(port = 0): Promise<void> {
  held.origin = await startReferenceOrigin({ evidenceKey: EVIDENCE_KEY, port });
}

beforeAll(async () => {
  await startOrigin();
  const secrets = { ORIGIN_EVIDENCE_KEY: EVIDENCE_KEY };
  held.gateway = await startGateway({ origin: origin().url, routes: ROUTES, secrets });
});

afterAll(async () => {
  await held.gateway?.stop();
  await held.origin?.close();
});

/** Counts from here. */
let before = { executions: 0, payments: 0 };
beforeEach(() => {
  origin().interfere({});
  before = { executions: origin().executions(), payments: origin().arrivals().payments };
});

const executions = (): number => origin().executions() - before.executions;
const payments = (): number => origin().arrivals().payments - before.payments;

type Payment = { target: string; key: string };

function pay({ target, key }: Payment, amount = 5): Promise<Answer> {
  return send({ port: gateway().port, ...describeCall({ target, key, body: JSON.stringify({ amount }) }) });
}

/** State of the operation that an answer's `Link` names, once it is one of these. Nobody retries meanwhile. */
async function waitForState(answer: Answer, wanted: readonly string[]): Promise<string> {
  const path = /<([^>]+)>; rel="status"/.exec(answer.header("Link") ?? "")?.[1] ?? "";
  const until = Date.now() + CLOSED_MS_MAX;
  for (;;) {
    const call = describeCall({ method: "GET", target: path, key: null, body: "" });
    const read = (await send({ port: gateway().port, ...call })).json() as { state: string };
    if (wanted.includes(read.state) || Date.now() > until) return read.state;
    await sleep(100);
  }
}

async function expectReplayOf(payment: Payment): Promise<void> {
  const replay = await pay(payment);
  expect([replay.status, replay.header("Idempotency-Status")]).toEqual([201, "replayed"]);
  expect(replay.json()).toMatchObject({ amount: 5 });
}

type Interference = Parameters<Origin["interfere"]>[0];

/** Breaks the first payment only. */
function once(how: (response: ServerResponse) => void | Promise<void>, at: "before" | "send"): Interference {
  let isFirst = true;
  const act = async (response: ServerResponse, answer?: Parameters<typeof sendAnswer>[1]): Promise<void> => {
    if (isFirst) {
      isFirst = false;
      return how(response);
    }
    if (answer !== undefined) sendAnswer(response, answer);
  };
  return { [at]: act };
}

const hang = (): void => undefined;
const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy();
const cutBody = (response: ServerResponse): void => {
  response.writeHead(201, { "Content-Length": 100 }).write("half", () => response.destroy());
};
const fail = (response: ServerResponse): void => {
  response.writeHead(500).end("it broke");
};

const LOST: [name: string, how: (response: ServerResponse) => void][] = [
  ["falls silent", hang],
  ["resets the line", reset],
  ["cuts its answer's body", cutBody],
  ["answers 500", fail],
];

describe.each(EXECUTORS)("an operation whose outcome got lost (%s)", (executor) => {
  const target = `/${executor}/pay`;

  it.each(LOST)(
    "FR-024 with probe: closes without a retry when the origin pays and %s",
    async (_name, how) => {
      const payment = { target, key: makeKey() };
      origin().interfere(once(how, "send"));
      const first = await pay(payment);
      expect(first.header("Idempotency-Status")).toBe("unknown");
      expect(await waitForState(first, ["settled"])).toBe("settled");
      await expectReplayOf(payment);
      await expectReplayOf(payment);
      expect([executions(), payments()]).toEqual([1, 1]);
    },
  );

  it.each(LOST)(
    "runs once more, and only then has its effect, when the origin %s before it pays",
    async (_name, how) => {
      const payment = { target, key: makeKey() };
      origin().interfere(
        once(async (response) => {
          how(response);
          await new Promise(() => undefined);
        }, "before"),
      );
      const first = await pay(payment);
      expect(first.header("Idempotency-Status")).toBe("unknown");
      expect(await waitForState(first, ["released"])).toBe("released");
      expectExecuted(await pay(payment));
      await expectReplayOf(payment);
      expect([executions(), payments()]).toEqual([1, 2]);
    },
  );

  it("has its effect once when the origin wakes after its attempt was voided", async () => {
    const payment = { target, key: makeKey() };
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    origin().interfere(once(() => woken, "before"));
    const first = await pay(payment);
    expect(await waitForState(first, ["released"])).toBe("released");
    expectExecuted(await pay(payment));
    wake();
    await expect.poll(() => origin().arrivals().payments).toBe(before.payments + 2);
    await expectReplayOf(payment);
    expect(executions()).toBe(1);
  });

  it("gets its answer by the first retry, at once", async () => {
    const payment = { target, key: makeKey() };
    origin().interfere(once(reset, "send"));
    expectProblem(await pay(payment), "outcome-lost");
    await expectReplayOf(payment);
    expect(executions()).toBe(1);
  });

  it("is known to have had none when the origin proves it with its refusal", async () => {
    const payment = { target, key: makeKey() };
    for (let tries = 1; tries <= 2; tries += 1) {
      const refused = await pay(payment, -1);
      expect([refused.status, refused.header("Idempotency-Status")]).toEqual([422, "released"]);
      expect(refused.header("Effect-Evidence")).toBeNull();
      expect(payments()).toBe(tries);
    }
  });

  it("FR-029 with probe: closes when the gateway is killed before it has stored the answer", async () => {
    const payment = { target, key: makeKey() };
    const asked = origin().arrivals().probes;
    const { promise: paid, resolve: tell } = Promise.withResolvers<void>();
    origin().interfere(once(() => tell(), "send"));
    const lost = pay(payment).catch(() => undefined);
    await paid;
    await gateway().kill();
    await lost;
    await gateway().restart();
    // Nobody retries: the alarm of the lease's end asks.
    await expect.poll(() => origin().arrivals().probes, { timeout: CLOSED_MS_MAX }).toBe(asked + 1);
    await expectReplayOf(payment);
    expect(executions()).toBe(1);
  });

  it("FR-026 with probe: runs when the gateway is killed between its claim and the effect", async () => {
    const payment = { target, key: makeKey() };
    const { promise: arrived, resolve: tell } = Promise.withResolvers<void>();
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    origin().interfere(
      once(() => {
        tell();
        return woken;
      }, "before"),
    );
    const lost = pay(payment).catch(() => undefined);
    await arrived;
    await gateway().kill();
    await lost;
    await gateway().restart();
    await expect
      .poll(async () => (await pay(payment)).header("Idempotency-Status"), { timeout: CLOSED_MS_MAX })
      .toMatch(/executed|replayed/);
    wake();
    await expectReplayOf(payment);
    expect(executions()).toBe(1);
  });

  it("FR-031 with probe: runs once there is an origin, when there was none to connect to", async () => {
    const payment = { target, key: makeKey() };
    const { port } = origin();
    await origin().close();
    expectProblem(await pay(payment), "outcome-lost");
    await startOrigin(port);
    before = { executions: 0, payments: 0 };
    await expect
      .poll(async () => (await pay(payment)).header("Idempotency-Status"), {
        timeout: CLOSED_MS_MAX,
        interval: 1_100,
      })
      .toMatch(/executed|replayed/);
    await expectReplayOf(payment);
    expect([executions(), payments()]).toEqual([1, 1]);
  });
});

describe("a record that can't be read while its outcome is unknown", () => {
  it("FR-037 with probe: is asked about by nobody, runs nothing, and holds up no other key", async () => {
    const payment = { target: "/object/pay", key: makeKey() };
    await gateway().halt();
    await gateway().restart({ routes: ROUTES.map((route) => ({ ...route, probe: undefined })) });
    origin().interfere(once(reset, "send"));
    expectProblem(await pay(payment), "outcome-lost");
    await gateway().halt();
    await alterUnknownRecords();
    const asked = origin().arrivals().probes;
    await gateway().restart({ routes: ROUTES });
    for (let tries = 0; tries < 2; tries += 1) expectProblem(await pay(payment), "store-unavailable");
    const other = { target: "/object/pay", key: makeKey() };
    expectExecuted(await pay(other));
    await expectReplayOf(other);
    expect(origin().arrivals().probes).toBe(asked);
    expect(executions()).toBe(2);
  });
});

/** Every record in doubt says from here on that a later version wrote it. */
async function alterUnknownRecords(): Promise<void> {
  let altered = 0;
  for (const file of await listObjectFiles(gateway().persist, "KeyObject")) {
    const record = readRows(file).find(({ key }) => key === "record")?.value as
      | { state?: string }
      | undefined;
    if (record?.state !== "unknown") continue;
    writeRow(file, "record", { ...record, v: 999 });
    altered += 1;
  }
  expect(altered).toBe(1);
}
