import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Answer, Connection } from "../support/client.ts";
import { expectExecuted, expectProblem, expectReplay, type Refusal } from "../support/expect-answer.ts";
import { type Call, describeCall, describeRoute, makeKey, useStage } from "../support/stage.ts";

const TENANT = "SECRET-TENANT-1";
const LARGE = "x".repeat(100);

const stage = useStage((originUrl) => ({
  routes: [
    describeRoute("plain", { request_max: "64B" }),
    describeRoute("quota", { request_max: "64B", quota: { new_keys_per_minute: 1 } }),
    describeRoute("asked", {
      authorize: `${originUrl}/authorize`,
      window: "1s",
      quarantine: "1h",
      origin_timeout: "1s",
    }),
  ],
}));

/** A call that has nothing wrong with it, under a key and a caller of its own. */
function makeCall(segment = "plain"): Call & { key: string; tenant: string } {
  const key = makeKey();
  return { target: `/${segment}/pay`, key, tenant: `${TENANT}-${key}` };
}

/** Declares a length, sends the first bytes of it and the end of the line, and reads on. */
async function sendCut(call: Call, sent: number, length: number): Promise<Answer> {
  const connection = await Connection.open(stage.gateway.port);
  const pieces = ["x".repeat(sent)];
  const answered = connection.send(
    describeCall({ ...call, body: { pieces, gapMs: 0, framing: "length", length } }),
  );
  await sleep(50);
  connection.halfClose();
  try {
    return await answered;
  } finally {
    connection.close();
  }
}

/** Uses up the caller's quota of one new key a minute. */
async function useQuota(call: Call): Promise<void> {
  expectExecuted(await stage.post({ ...call, key: makeKey() }));
}

/** The route's `authorize` says no, and everything else is answered by a script. */
function forbid(act: "answer" | "hang"): void {
  stage.origin.handle((arrival, reply) => {
    if (arrival.target === "/authorize") return reply.send(403);
    reply.execute();
    if (act === "answer") reply.send(201, [], "done");
  });
}

type Case = { refusal: Refusal; beside: string; provoke: (call: Call & { key: string }) => Promise<Answer> };

/** Each fault beside the one that is checked next, in the order of the checks. */
const BEFORE_THE_CLAIM: Case[] = [
  {
    refusal: "target-refused",
    beside: "key-missing",
    provoke: (call) => stage.post({ ...call, target: "/plain/../plain/pay", key: null }),
  },
  {
    refusal: "target-refused",
    beside: "key-invalid",
    provoke: (call) => stage.post({ ...call, target: "/plain/./pay", key: "a,b" }),
  },
  {
    refusal: "key-missing",
    beside: "principal-missing",
    provoke: (call) => stage.post({ ...call, key: null, tenant: null }),
  },
  {
    refusal: "key-invalid",
    beside: "principal-missing",
    provoke: (call) => stage.post({ ...call, key: `${call.key},${call.key}`, tenant: null }),
  },
  {
    refusal: "principal-missing",
    beside: "request-too-large",
    provoke: (call) => stage.post({ ...call, tenant: null, body: LARGE }),
  },
  {
    refusal: "request-too-large",
    beside: "request-incomplete",
    provoke: (call) => sendCut(call, 400, 1_000),
  },
  {
    refusal: "request-incomplete",
    beside: "quota-exceeded",
    async provoke(call) {
      await useQuota({ ...call, target: "/quota/pay" });
      stage.origin.forget();
      return sendCut({ ...call, target: "/quota/pay" }, 40, 60);
    },
  },
];

const SINGLE: Case[] = [
  {
    refusal: "target-refused",
    beside: "nothing",
    provoke: (call) => stage.post({ ...call, target: "/plain/%2e%2e/pay" }),
  },
  { refusal: "key-missing", beside: "nothing", provoke: (call) => stage.post({ ...call, key: null }) },
  {
    refusal: "key-invalid",
    beside: "nothing",
    provoke: (call) => stage.post({ ...call, key: `${call.key} x` }),
  },
  {
    refusal: "principal-missing",
    beside: "nothing",
    provoke: (call) => stage.post({ ...call, tenant: null }),
  },
  {
    refusal: "request-too-large",
    beside: "nothing",
    provoke: (call) => stage.post({ ...call, body: LARGE }),
  },
  {
    refusal: "request-incomplete",
    beside: "nothing",
    provoke: (call) => sendCut(call, 40, 60),
  },
];

describe("a refusal before the claim", () => {
  it.each([...SINGLE, ...BEFORE_THE_CLAIM])(
    "$refusal beside $beside sends nothing and leaves the key unused",
    async (row) => {
      const call = makeCall();
      const answer = await row.provoke(call);
      expectProblem(answer, row.refusal);
      expect(answer.rawHead + answer.text()).not.toContain(TENANT);
      expect(answer.text()).not.toContain(`"${call.key}`);
      expect(stage.origin.starts()).toBe(0);
      const first = await stage.post(call);
      expectExecuted(first);
      expectReplay(await stage.post(call), first);
    },
  );

  it("quota-exceeded meets new keys only and sends nothing", async () => {
    const call = makeCall("quota");
    const first = await stage.post(call);
    expectExecuted(first);
    expectProblem(await stage.post({ ...call, key: makeKey() }), "quota-exceeded");
    expectReplay(await stage.post(call), first);
    expectExecuted(await stage.post({ ...call, tenant: `${TENANT}-other` }));
    expect(stage.origin.starts()).toBe(2);
  });

  it("leaves the connection fit for the next request", async () => {
    const connection = await Connection.open(stage.gateway.port);
    const bad: [Refusal, (call: Call & { key: string }) => Call][] = [
      ["target-refused", (call) => ({ ...call, target: "/plain/../pay" })],
      ["key-missing", (call) => ({ ...call, key: null })],
      ["key-invalid", (call) => ({ ...call, key: "a b" })],
      ["principal-missing", (call) => ({ ...call, tenant: null })],
      ["request-too-large", (call) => ({ ...call, body: LARGE })],
    ];
    for (const [refusal, spoil] of bad) {
      const call = makeCall();
      expectProblem(await connection.send(describeCall(spoil(call))), refusal);
      expectExecuted(await connection.send(describeCall(call)));
    }
    connection.close();
  });
});

describe("a refusal of a known key", () => {
  const other = { body: '{"other":1}' };

  it("key-reused comes before not-authorized, and not-authorized before the answer", async () => {
    const call = makeCall("asked");
    forbid("answer");
    expectExecuted(await stage.post(call));
    expectProblem(await stage.post({ ...call, ...other }), "key-reused");
    expectProblem(await stage.post(call), "not-authorized");
    expect(stage.origin.executions()).toBe(1);
  });

  it("key-reused and not-authorized come before key-expired", async () => {
    const call = makeCall("asked");
    forbid("answer");
    expectExecuted(await stage.post(call));
    await sleep(1_200);
    expectProblem(await stage.post({ ...call, ...other }), "key-reused");
    expectProblem(await stage.post(call), "not-authorized");
    allow();
    expectProblem(await stage.post(call), "key-expired");
    expect(stage.origin.executions()).toBe(1);
  });

  it("key-reused and not-authorized come before in-flight and outcome-unknown", async () => {
    const call = makeCall("asked");
    forbid("hang");
    const lost = stage.post(call);
    while (stage.origin.executions() === 0) await sleep(5);
    expectProblem(await stage.post({ ...call, ...other }), "key-reused");
    expectProblem(await stage.post(call), "not-authorized");
    allow();
    expectProblem(await stage.post(call), "in-flight");
    expectProblem(await lost, "outcome-lost");
    forbid("hang");
    expectProblem(await stage.post({ ...call, ...other }), "key-reused");
    expectProblem(await stage.post(call), "not-authorized");
    allow();
    expectProblem(await stage.post(call), "outcome-unknown");
    expect(stage.origin.executions()).toBe(1);
  });

  it("not-authorized asks with the caller's credentials, and 2xx lets the answer out", async () => {
    const call = makeCall("asked");
    allow();
    const first = await stage.post(call);
    expectExecuted(first);
    expectReplay(await stage.post(call), first);
    const [asked] = stage.origin.arrivalsAt("/authorize");
    expect(asked?.method).toBe("GET");
    expect(asked?.header("Authorization")).toBe(`Bearer ${call.tenant}`);
  });

  function allow(): void {
    stage.origin.handle((arrival, reply) => {
      if (arrival.target === "/authorize") return reply.send(204);
      reply.send(201, [], reply.execute());
    });
  }
});

describe("the page of a problem", () => {
  it.each([
    "misconfigured",
    "target-refused",
    "key-missing",
    "key-invalid",
    "principal-missing",
    "request-too-large",
    "request-incomplete",
    "quota-exceeded",
    "store-unavailable",
    "key-reused",
    "not-authorized",
    "key-expired",
    "in-flight",
    "outcome-unknown",
    "answer-not-kept",
    "claim-lost",
  ])("is served where its type says: %s", async (slug) => {
    const page = await stage.send({ method: "GET", target: `/_oncegate/problems/${slug}` });
    expect(page.status).toBe(200);
    expect(page.text()).toContain(slug);
    expect(stage.origin.starts()).toBe(0);
  });

  it("is not served for what is no problem", async () => {
    for (const slug of ["nothing", "toString", "__proto__", "key-missing/more"]) {
      const page = await stage.send({ method: "GET", target: `/_oncegate/problems/${slug}` });
      expect(page.status, slug).toBe(404);
    }
    expect(stage.origin.starts()).toBe(0);
  });
});

describe("a gateway with a mistake in its settings", () => {
  it.each([
    ["ORIGIN_URL", { vars: { ORIGIN_URL: "nowhere" } }],
    ["ORIGIN_URL", { vars: { ORIGIN_URL: undefined } }],
    ["NAMING_KEY", { secrets: { NAMING_KEY: undefined } }],
    ["SEALING_KEY", { secrets: { SEALING_KEY: "c2hvcnQ=" } }],
    ["ROUTES", { vars: { ROUTES: "[{" } }],
    ["window", { vars: { ROUTES: JSON.stringify([{ match: "/*", window: "90 days" }]) } }],
    ["on_crash", { vars: { ROUTES: JSON.stringify([{ match: "/*", on_crash: "retry" }]) } }],
    ["LEDGER_SHARDS", { vars: { LEDGER_SHARDS: 3 } }],
  ])("forwards nothing and names %s in its log (%j)", async (name, changes) => {
    const logged = stage.gateway.logs().length;
    await stage.gateway.restart({ vars: {}, secrets: {}, ...changes });
    const call = makeCall();
    expectProblem(await stage.post(call), "misconfigured");
    expectProblem(await stage.post({ ...call, target: "/plain/../pay", key: null }), "misconfigured");
    expectProblem(await stage.send({ method: "GET", target: "/elsewhere" }), "misconfigured");
    expect(stage.origin.starts()).toBe(0);
    await expect.poll(() => stage.gateway.logs().slice(logged), { timeout: 5_000 }).toContain(name);
  });

  it("leaves a connection usable whose request has a large body", async () => {
    await stage.gateway.restart({ vars: { LEDGER_SHARDS: 3 }, secrets: {} });
    const connection = await Connection.open(stage.gateway.port);
    try {
      for (const body of ["x".repeat(2_000_000), "{}"]) {
        expectProblem(await connection.send(describeCall({ ...makeCall(), body })), "misconfigured");
      }
    } finally {
      connection.close();
    }
  });

  it("is whole again once the mistake is mended", async () => {
    await stage.gateway.restart({ vars: { PREFIX: "/gate" }, secrets: {} });
    const call = makeCall();
    expectExecuted(await stage.post(call));
    expectProblem(await stage.post({ ...call, body: '{"other":1}' }), "key-reused", "/gate");
    const page = await stage.send({ method: "GET", target: "/gate/problems/key-reused" });
    expect(page.status).toBe(200);
  });
});
