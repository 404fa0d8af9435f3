import { describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { type Call, describeRoute, makeKey, useStage } from "../support/stage.ts";

const stage = useStage({
  routes: [
    describeRoute("credential"),
    describeRoute("shared-credential", { anonymous: "share" }),
    describeRoute("tenant", { principal: { from: "header", name: "X-Tenant" } }),
    describeRoute("shared-tenant", { principal: { from: "header", name: "X-Tenant" }, anonymous: "share" }),
    describeRoute("cookie", { principal: { from: "cookie", name: "session" } }),
    describeRoute("shared-cookie", { principal: { from: "cookie", name: "session" }, anonymous: "share" }),
    describeRoute("versioned", { fingerprint: { body: "raw", headers: ["Stripe-Version"] } }),
  ],
});

/** Field values as octets, one character each: none is UTF-8, but for the replacement character, which stands for any. */
const ILLEGIBLE = [
  ["the octet E9", "\xe9"],
  ["the octet E8", "\xe8"],
  ["a sequence that is cut", "a\xe2\x82"],
  ["an overlong slash", "\xc0\xaf"],
  ["a surrogate", "\xed\xa0\x80"],
  ["the replacement character itself", "\xef\xbf\xbd"],
] as const;

/** How a caller says on a route who it is. */
type Caller = { segment: string; say: (octets: string) => Omit<Call, "target" | "key"> };

const CALLERS: Caller[] = ["", "shared-"].flatMap((share) => [
  { segment: `${share}credential`, say: (octets: string) => ({ tenant: `token-${octets}` }) },
  {
    segment: `${share}tenant`,
    say: (octets: string) => ({ headers: [["X-Tenant", `acme-${octets}`] as const] }),
  },
  {
    segment: `${share}cookie`,
    say: (octets: string) => ({ headers: [["Cookie", `theme=dark; session=s-${octets}`] as const] }),
  },
]);

describe.each(CALLERS)("a caller named in octets that are not UTF-8 ($segment)", ({ segment, say }) => {
  it.each(ILLEGIBLE)("is nobody: %s", async (_name, octets) => {
    const call = { target: `/${segment}/pay`, key: makeKey() };
    expectProblem(await stage.post({ ...call, ...say(octets) }), "principal-missing");
    expect(stage.origin.starts()).toBe(0);
    expectExecuted(await stage.post({ ...call, ...say("fine") }));
  });

  it("is told from others where they are UTF-8", async () => {
    const call = { target: `/${segment}/pay`, key: makeKey() };
    const first = await stage.post({ ...call, ...say("\xc3\xa9") });
    expectExecuted(first);
    expectExecuted(await stage.post({ ...call, ...say("\xc3\xa8") }));
    expectReplay(await stage.post({ ...call, ...say("\xc3\xa9") }), first);
    expect(stage.origin.executions()).toBe(2);
  });
});

const FIELDS: [string, string, (octets: string) => readonly [string, string]][] = [
  ["the media type", "credential", (octets) => ["Content-Type", `text/plain; charset=${octets}`]],
  ["a field of the fingerprint", "versioned", (octets) => ["Stripe-Version", `v-${octets}`]],
  ["a field that does not count", "credential", (octets) => ["X-Note", `note ${octets}`]],
];

describe.each(FIELDS)("octets that are not UTF-8 in %s", (_name, segment, say) => {
  it.each(ILLEGIBLE)("are refused, so that no two requests meet in one: %s", async (_case, octets) => {
    const call = { target: `/${segment}/pay`, key: makeKey(), headers: [say(octets)] };
    expectProblem(await stage.post(call), "header-refused");
    expect(stage.origin.starts()).toBe(0);
    const first = await stage.post({ ...call, headers: [say("fine")] });
    expectExecuted(first);
    expectProblem(await stage.post(call), "header-refused");
    expectReplay(await stage.post({ ...call, headers: [say("fine")] }), first);
    expectProblem(await stage.post(call), "header-refused");
    expect(stage.origin.starts()).toBe(1);
  });
});

describe("a Connection field that names what somebody relies on", () => {
  it.each([
    ["credential", "Authorization"],
    ["credential", "idempotency-key"],
    ["versioned", "close, STRIPE-Version"],
    ["tenant", "x-tenant"],
  ])("is refused at the first try and beside a known answer (/%s: %s)", async (segment, connection) => {
    const plain = { target: `/${segment}/pay`, key: makeKey() };
    const call = {
      ...plain,
      headers: [
        ["X-Tenant", "acme"],
        ["Stripe-Version", "1"],
      ] as const,
    };
    const bad = { ...call, headers: [...call.headers, ["Connection", connection] as const] };
    expectProblem(await stage.post(bad), "header-refused");
    expect(stage.origin.starts()).toBe(0);
    const first = await stage.post(call);
    expectExecuted(first);
    for (let replays = 0; replays < 2; replays += 1) {
      expectProblem(await stage.post(bad), "header-refused");
      expectReplay(await stage.post(call), first);
    }
    expect(stage.origin.starts()).toBe(1);
  });
});
