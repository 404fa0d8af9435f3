import { describe, expect, it } from "vitest";
import type { LiveRecord } from "../../../src/core/record.ts";
import { makeKey, post } from "../support/gateway.ts";
import { keyObject, nameOf, readClosed } from "../support/object.ts";
import { mockOrigin } from "../support/origin.ts";

const STREAM = { "Content-Type": "text/event-stream" };

type Said = { state: LiveRecord["state"] } & Record<string, unknown>;

const SAID: [number, Said][] = [
  [502, { state: "unknown", reason: "path-status" }],
  [504, { state: "unknown", reason: "path-status" }],
  [429, { state: "released", evidence: "status-list" }],
  [421, { state: "released", evidence: "protocol-none" }],
  [521, { state: "released", evidence: "never-dispatched" }],
  [200, { state: "settled", answer: { kind: "not-kept", status: 200, size: 9 } }],
];

describe.each(["pay", "worker"])("a stream that was passed on through /%s", (route) => {
  it.each(SAID)("of %i is recorded as what it says", async (status, said) => {
    const origin = mockOrigin(() => new Response("data: 1\n\n", { status, headers: STREAM }));
    const key = makeKey();
    await (await post(`/${route}`, key)).text();
    expect(await readClosed(keyObject(await nameOf(route, key)))).toMatchObject(said);
    expect(origin.count).toBe(1);
  });

  it("and left unread by its caller is counted to its end", async () => {
    const origin = mockOrigin(() => new Response("data: 1\n\n", { headers: STREAM }));
    const key = makeKey();
    await (await post(`/${route}`, key)).body?.cancel();
    expect(await readClosed(keyObject(await nameOf(route, key)))).toMatchObject({
      state: "settled",
      answer: { kind: "not-kept", size: 9 },
    });
    expect(origin.count).toBe(1);
  });
});
