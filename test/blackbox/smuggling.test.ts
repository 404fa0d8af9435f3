// Aim: whatever bytes come, the origin sees at most one request for each one that was accepted, and each under its own identity.
import { describe, expect, it } from "vitest";
import { RawExchange } from "../support/raw-exchange.ts";
import { describeRoute, makeKey, useStage } from "../support/stage.ts";
import { CORPUS, type Crafted, NOMINATIONS } from "./smuggling-corpus.ts";
import { PIPELINES } from "./smuggling-pipelines.ts";

const stage = useStage({ routes: [describeRoute("a")] });

/** How long an answer may take; some of the corpus never get one. */
const WAIT_MS = 800;
/** What is no request, or none that may pass, gets one of these and nothing else, or silence. */
const REFUSED = /^(|400|401|413|431|500|501|505)$/;

function open(bytes: string, answers: number): Promise<RawExchange> {
  return RawExchange.open(stage.gateway.port, bytes, answers, WAIT_MS);
}

/** Who the origin was told had sent what. */
function seen(): string[] {
  return stage.origin.arrivals.map(
    ({ method, target, header }) => `${method} ${target} ${header("Authorization") ?? "nobody"}`,
  );
}

/** Another caller is served as ever, while the connection of the first is still open. */
async function expectAlive(): Promise<void> {
  const answer = await stage.post({ target: "/a/alive", key: makeKey() });
  expect(answer.status).toBe(201);
  expect(answer.header("Idempotency-Status")).toBe("executed");
}

const ALIVE = "POST /a/alive Bearer a";

/** What was accepted, and nothing else: not the request that hid in another's body, nor one under another's name. */
async function expectCrafted({ bytes, sees }: Crafted): Promise<void> {
  const exchange = await open(bytes(makeKey()), Math.max(1, sees.length));
  try {
    await expectAlive();
    expect(seen()).toEqual([...sees, ALIVE]);
    expect(stage.origin.starts()).toBe(sees.length + 1);
    expect(stage.origin.executions()).toBe(sees.length + 1);
    if (sees.length === 0) expect(exchange.statuses.join()).toMatch(REFUSED);
    else expect(exchange.statuses).toEqual(sees.map(() => 201));
  } finally {
    exchange.close();
  }
}

describe.each(CORPUS)("$about", ({ rows }) => {
  it.each(rows)("$name", expectCrafted);
});

describe.each(PIPELINES)("$about", ({ rows }) => {
  it.each(rows)("$name", async ({ bytes, sees, answers }) => {
    const exchange = await open(bytes(makeKey()), answers.length + 1);
    try {
      await expectAlive();
      expect(seen()).toEqual([...sees, ALIVE]);
      expect(stage.origin.starts()).toBe(sees.length + 1);
      expect(exchange.statuses).toEqual(answers);
    } finally {
      exchange.close();
    }
  });
});

describe("Connection names", () => {
  it.each(NOMINATIONS)("%s, and the request is refused", async (field) => {
    const head = `POST /a/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer a\r\nIdempotency-Key: ${makeKey()}\r\n`;
    const fields = `X-Forwarded-For: 192.0.2.1\r\nConnection: keep-alive, ${field}\r\nContent-Length: 2\r\n`;
    const exchange = await open(`${head}${fields}\r\n{}`, 1);
    try {
      await expectAlive();
      expect(exchange.statuses).toEqual([400]);
      expect(exchange.text).toContain("header-refused");
      expect(seen()).toEqual([ALIVE]);
    } finally {
      exchange.close();
    }
  });
});

describe("a key", () => {
  it("has its one effect, whatever framing its retries come in", async () => {
    const key = makeKey();
    const head = `POST /a/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer a\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\n`;
    const framings = [
      "Content-Length: 2\r\n\r\n{}",
      "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n",
      "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    ];
    for (const framing of framings) {
      const exchange = await open(head + framing, 1);
      expect(exchange.statuses).toEqual([201]);
      exchange.close();
    }
    expect(seen()).toEqual(["POST /a/x Bearer a"]);
    expect(stage.origin.executions()).toBe(1);
  });
});
