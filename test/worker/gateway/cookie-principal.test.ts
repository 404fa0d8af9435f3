import { describe, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { bindWith, expectAnswer, expectProblem, makeKey, post } from "../support/gateway.ts";
import { mockOrigin } from "../support/origin.ts";
import { describeRoute } from "../support/routes.ts";

const PRINCIPAL = { from: "cookie", name: "session" };

function bindAnonymous(anonymous: "refuse" | "share"): Env {
  return bindWith({ ROUTES: [describeRoute("pay", { principal: PRINCIPAL, anonymous })] });
}

function postWith(key: string, cookie: string | null, bindings: Env): Promise<Response> {
  return post("/pay", key, { headers: { Authorization: null, Cookie: cookie } }, bindings);
}

const AMBIGUOUS = [
  ["a name sent twice", "session=alice; session=mallory"],
  ["a name sent twice with one value", "session=alice; session=alice"],
  ["a name sent twice, once without a value", "session=; session=mallory"],
  ["two fields joined by a comma", "session=alice, session=mallory"],
  ["a name behind a comma", "theme=dark, session=alice"],
  ["a name behind a comma without space", "theme=dark,session=alice"],
  ["a value with a comma", "session=alice,theme"],
  ["a value of nothing", "session="],
  ["a value that is blank", "session=  ; theme=dark"],
] as const;

describe.each(["refuse", "share"] as const)(
  "a cookie that has two readings, with anonymous = %s",
  (anonymous) => {
    it.each(AMBIGUOUS)("is nobody's, and is not taken for none: %s", async (_case, cookie) => {
      const origin = mockOrigin();
      const bindings = bindAnonymous(anonymous);
      const key = makeKey();
      await expectProblem(await postWith(key, cookie, bindings), "principal-missing", 401);
      expect(origin.count).toBe(0);
      await expectAnswer(await postWith(key, "theme=dark; session=alice", bindings), "executed");
      expect(origin.count).toBe(1);
    });
  },
);

describe("a caller without the cookie", () => {
  it.each([null, "theme=dark", "asession=x; session2=y", "sessions=x, other=y"])(
    "is one of those who share: %j",
    async (cookie) => {
      mockOrigin();
      const key = makeKey();
      const bindings = bindAnonymous("share");
      const body = await expectAnswer(await postWith(key, null, bindings), "executed");
      expect(await expectAnswer(await postWith(key, cookie, bindings), "replayed")).toBe(body);
      await expectProblem(await postWith(key, cookie, bindAnonymous("refuse")), "principal-missing", 401);
    },
  );
});
