import { env } from "cloudflare:workers";
import { CompactSign, type JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/core/bytes.ts";
import type { Env } from "../../../src/env.ts";
import { advanceClock, DAY, MINUTE, SECOND, stopClock } from "../support/clock.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, operationOf, post } from "../support/gateway.ts";
import { readLog } from "../support/log.ts";
import { type Answerer, answerCreated, mockOrigin, type Origin } from "../support/origin.ts";
import { describeRoute, JWKS_URL, JWT_CLAIMS } from "../support/routes.ts";
import { makeSigner, makeUnsigned, type Signer, signWithSecret } from "../support/tokens.ts";

/** `/pay` for callers with a token. Without `keys`: under the HMAC secret of this layer. */
function bindTokens(changes: Record<string, unknown> = {}, route: Record<string, unknown> = {}): Env {
  const keys = "jwks_url" in changes ? {} : { secret: "JWT_SECRET" };
  const principal = { from: "jwt", ...keys, ...JWT_CLAIMS, ...changes };
  return bindWith({ ROUTES: [describeRoute("pay", { principal, ...route })] });
}

function postWith(token: string, key: string, bindings: Env): Promise<Response> {
  return post("/pay", key, { headers: { Authorization: `Bearer ${token}` } }, bindings);
}

const secret = env.JWT_SECRET;
const signAs = (sub: string): Promise<string> => signWithSecret(secret, { claims: { sub } });

describe("a token under a shared secret", () => {
  it("that was refreshed is the same principal, another subject is not", async () => {
    const origin = mockOrigin();
    const bindings = bindTokens();
    const key = makeKey();
    const [first, refreshed] = [await signAs("alice"), await signAs("alice")];
    expect(refreshed).not.toBe(first);
    const body = await expectAnswer(await postWith(first, key, bindings), "executed");
    expect(await expectAnswer(await postWith(refreshed, key, bindings), "replayed")).toBe(body);
    await expectAnswer(await postWith(await signAs("mallory"), key, bindings), "executed");
    expect(origin.count).toBe(2);
  });

  it.each(["HS256", "HS384", "HS512"])("may be signed with %s", async (alg) => {
    mockOrigin();
    const token = await signWithSecret(`${secret}${secret}`, {}, alg);
    const bindings = { ...bindTokens(), JWT_SECRET: `${secret}${secret}` };
    await expectAnswer(await postWith(token, makeKey(), bindings), "executed");
  });

  const past = Math.floor(Date.now() / 1_000) - 60;
  const REFUSED: [string, () => Promise<string> | string][] = [
    ["that has expired", () => signWithSecret(secret, { expiresAt: past })],
    ["for another audience", () => signWithSecret(secret, { audience: "another" })],
    ["of another issuer", () => signWithSecret(secret, { issuer: "https://another.example" })],
    ["under another secret", () => signWithSecret(`${secret}!`)],
    ["without the claim", () => signWithSecret(secret, { claims: {} })],
    ["whose claim is empty", () => signWithSecret(secret, { claims: { sub: "" } })],
    ["that needs no signature", () => makeUnsigned()],
    ["of another algorithm", async () => (await makeSigner("k1")).sign()],
    ["that is none", () => "abc.def.ghi"],
    ["whose last part is cut off", async () => (await signAs("alice")).split(".").slice(0, 2).join(".")],
  ];

  it.each(REFUSED)("%s is refused, and nothing is sent", async (_case, make) => {
    const origin = mockOrigin();
    const token = await make();
    await expectProblem(await postWith(token, makeKey(), bindTokens()), "principal-missing", 401);
    const shared = bindTokens({}, { anonymous: "share" });
    await expectProblem(await postWith(token, makeKey(), shared), "principal-missing", 401);
    expect(origin.count).toBe(0);
    expect(readLog()).not.toContain(token);
  });

  it("is not the only way in where callers without one share", async () => {
    mockOrigin();
    const shared = bindTokens({}, { anonymous: "share" });
    const anonymous = { headers: { Authorization: null } };
    await expectAnswer(await post("/pay", makeKey(), anonymous, shared), "executed");
    await expectProblem(await post("/pay", makeKey(), anonymous, bindTokens()), "principal-missing", 401);
  });

  it("is read to the second claim, too, and by type", async () => {
    mockOrigin();
    const bindings = bindTokens({ claims: ["org", "sub"] });
    const key = makeKey();
    const callers: JWTPayload[] = [
      { org: "a", sub: "1" },
      { org: "b", sub: "1" },
      { org: "a", sub: "2" },
      { org: "1", sub: "a" },
      { org: 1, sub: "a" },
    ];
    const names = new Set<string>();
    for (const claims of callers) {
      names.add(operationOf(await postWith(await signWithSecret(secret, { claims }), key, bindings)));
    }
    expect(names.size).toBe(callers.length);
    const half = await signWithSecret(secret, { claims: { sub: "1" } });
    await expectProblem(await postWith(half, key, bindings), "principal-missing", 401);
  });

  it.each([
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "1.5",
    "9007199254740990.7",
    "4503599627370495.9999",
    "1.00000000000000001",
    "1e3",
    "1e400",
    "true",
    "null",
    "[1]",
  ])("names nobody by the claim %s: others may meet in what is read of it", async (uid) => {
    const origin = mockOrigin();
    const token = await signClaim(uid);
    const bindings = bindTokens({ claims: ["uid"] });
    await expectProblem(await postWith(token, makeKey(), bindings), "principal-missing", 401);
    expect(origin.count).toBe(0);
    for (const exact of ["9007199254740991", "-7", "7.0", '"1.5"', '"x","more":{"uid":1.5}']) {
      await expectAnswer(await postWith(await signClaim(exact), makeKey(), bindings), "executed");
    }
  });
});

/** A good token that has a claim `uid`, as this text. */
function signClaim(uid: string): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + 300;
  const { issuer, audience } = JWT_CLAIMS;
  const payload = `{"iss":"${issuer}","aud":"${audience}","exp":${exp},"uid":${uid}}`;
  return new CompactSign(encodeUtf8(payload)).setProtectedHeader({ alg: "HS256" }).sign(encodeUtf8(secret));
}

const HOST = new URL(JWKS_URL).host;

/** Serves the keys that the issuer has at the time: `signers` may be added to. */
function mockIssuer(...signers: Signer[]): Origin & { signers: Signer[] } {
  const origin = mockOrigin(answerCreated, {
    [HOST]: () => Response.json({ keys: signers.map(({ jwk }) => jwk) }),
  });
  return Object.assign(origin, { signers });
}

describe("a token under the keys of its issuer", () => {
  it("is verified with a key set that is fetched once", async () => {
    const signer = await makeSigner("k1");
    const issuer = mockIssuer(signer);
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    const key = makeKey();
    await expectAnswer(await postWith(await signer.sign(), key, bindings), "executed");
    await expectAnswer(await postWith(await signer.sign(), key, bindings), "replayed");
    await expectAnswer(await postWith(await signer.sign(), makeKey(), bindings), "executed");
    expect(issuer.countAt(HOST)).toBe(1);
    expect(issuer.count).toBe(2);
  });

  it("stays the same principal when the issuer changes its key", async () => {
    stopClock();
    const [old, fresh] = [await makeSigner("k1"), await makeSigner("k2")];
    const issuer = mockIssuer(old);
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    const key = makeKey();
    const body = await expectAnswer(await postWith(await old.sign(), key, bindings), "executed");
    issuer.signers.push(fresh);
    advanceClock(MINUTE);
    expect(await expectAnswer(await postWith(await fresh.sign(), key, bindings), "replayed")).toBe(body);
    expect(issuer.countAt(HOST)).toBe(2);
  });

  it("is verified with the same key set where the clock goes back by a hair", async () => {
    stopClock();
    const signer = await makeSigner("k1");
    const issuer = mockIssuer(signer);
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    for (let turn = 0; turn < 6; turn++) {
      await expectAnswer(await postWith(await signer.sign(), makeKey(), bindings), "executed");
      advanceClock(turn % 2 === 0 ? -1 : 1);
    }
    expect(issuer.countAt(HOST)).toBe(1);
  });

  it.each([365 * DAY, MINUTE])(
    "is judged by the issuer's keys of now, though the clock goes back by %i ms",
    async (backMs) => {
      stopClock();
      const [old, fresh] = [await makeSigner("k1"), await makeSigner("k2")];
      const issuer = mockIssuer(old);
      const bindings = bindTokens({ jwks_url: JWKS_URL });
      await expectAnswer(await postWith(await old.sign(), makeKey(), bindings), "executed");
      issuer.signers.splice(0, 1, fresh);
      advanceClock(-backMs);
      await expectAnswer(await postWith(await fresh.sign(), makeKey(), bindings), "executed");
      await expectProblem(await postWith(await old.sign(), makeKey(), bindings), "principal-missing", 401);
    },
  );

  it("under a key that the issuer doesn't have is refused, without asking it each time", async () => {
    stopClock();
    const [signer, stranger] = [await makeSigner("k1"), await makeSigner("k9")];
    const issuer = mockIssuer(signer);
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    await expectAnswer(await postWith(await signer.sign(), makeKey(), bindings), "executed");
    for (let tries = 0; tries < 5; tries++) {
      advanceClock(SECOND);
      const refused = await postWith(await stranger.sign(), makeKey(), bindings);
      await expectProblem(refused, "principal-missing", 401);
    }
    expect(issuer.countAt(HOST)).toBeLessThanOrEqual(2);
    expect(issuer.count).toBe(1);
  });

  it("is refused when it is signed with the public key as if that were a secret", async () => {
    const signer = await makeSigner("k1");
    const issuer = mockIssuer(signer);
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    for (const text of [JSON.stringify(signer.jwk), String(signer.jwk.x), `${signer.jwk.x}${signer.jwk.y}`]) {
      const token = await signWithSecret(text);
      await expectProblem(await postWith(token, makeKey(), bindings), "principal-missing", 401);
    }
    await expectProblem(await postWith(makeUnsigned(), makeKey(), bindings), "principal-missing", 401);
    expect(issuer.count).toBe(0);
  });

  const OUTAGES: [string, Answerer][] = [
    ["is unavailable", () => new Response(null, { status: 503 })],
    ["has no such page", () => new Response("nothing here", { status: 404 })],
    ["can't be reached", () => Promise.reject(new TypeError("refused"))],
    [
      "sends a page instead of keys",
      () => new Response("<html>", { headers: { "Content-Type": "text/html" } }),
    ],
    ["sends JSON that is no key set", () => Response.json({ error: "later" })],
  ];

  it.each(OUTAGES)(
    "can't be judged while the issuer %s: nobody is turned away as unknown",
    async (_case, outage) => {
      const signer = await makeSigner("k1");
      const origin = mockOrigin(answerCreated, { [HOST]: outage });
      for (const anonymous of ["refuse", "share"]) {
        const bindings = bindTokens({ jwks_url: JWKS_URL }, { anonymous });
        const refused = await postWith(await signer.sign(), makeKey(), bindings);
        expect(refused.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
        await expectProblem(refused, "store-unavailable", 503);
      }
      expect(origin.count).toBe(0);
    },
  );

  it("that is none is refused though the issuer can't be reached", async () => {
    const origin = mockOrigin(answerCreated, { [HOST]: () => Promise.reject(new TypeError("refused")) });
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    for (const token of ["abc.def.ghi", makeUnsigned()]) {
      await expectProblem(await postWith(token, makeKey(), bindings), "principal-missing", 401);
    }
    expect(origin.count).toBe(0);
  });

  it("that was altered is refused", async () => {
    const signer = await makeSigner("k1");
    const issuer = mockIssuer(signer);
    const [head, , signature] = (await signer.sign()).split(".");
    const [, claims] = (await signer.sign({ claims: { sub: "mallory" } })).split(".");
    const bindings = bindTokens({ jwks_url: JWKS_URL });
    const refused = await postWith(`${head}.${claims}.${signature}`, makeKey(), bindings);
    await expectProblem(refused, "principal-missing", 401);
    expect(issuer.count).toBe(0);
  });
});
