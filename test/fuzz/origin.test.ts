// Aim: nothing that an origin sends is believed unless it is exactly what was agreed on.
import { createHmac, timingSafeEqual } from "node:crypto";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { readEntry } from "../../src/core/effect/report.ts";
import { openOriginMacs } from "../../src/origin/evidence.ts";
import { readProbeText } from "../../src/origin/probe-answer.ts";
import { hold, holdAsync, mutated } from "./runs.ts";

const KEY = Buffer.alloc(32, 7);
const ATTEMPT = { name: "object", effect: "e".repeat(32), n: 1 };

function macOf(label: string, effect: string, n: number, word: string): string {
  return createHmac("sha256", KEY).update([label, effect, n, word].join("\n")).digest("base64");
}

describe("Effect-Evidence", () => {
  beforeAll(() => {
    // The runtime has it; Node has it elsewhere.
    Object.defineProperty(crypto.subtle, "timingSafeEqual", { value: timingSafeEqual, configurable: true });
  });

  const right = macOf("oncegate-evidence-v1", ATTEMPT.effect, 1, "none");
  const wrong = [
    macOf("oncegate-probe-v1", ATTEMPT.effect, 1, "none"),
    macOf("oncegate-evidence-v1", ATTEMPT.effect, 2, "none"),
    macOf("oncegate-evidence-v1", "f".repeat(32), 1, "none"),
    macOf("oncegate-evidence-v1", ATTEMPT.effect, 1, "committed"),
    Buffer.alloc(32).toString("base64"),
  ];
  const field = fc.oneof(
    mutated(
      [right, ...wrong].map((mac) => `none; mac="${mac}"`),
      ["none", ";", " ", "\t", '"', "mac=", "A", "=", ",", "\n"],
    ),
    fc.string({ maxLength: 80 }),
  );

  it("is believed exactly where its mac is of this very attempt", async () => {
    const macs = await openOriginMacs(KEY);
    await holdAsync(
      fc.asyncProperty(field, async (text) => {
        const isRight = new RegExp(`^none;[ \t]*mac="${right.replace(/[+/]/g, "\\$&")}"$`).test(text);
        expect(await macs.readEvidence(text, ATTEMPT)).toBe(isRight ? "signed-none" : null);
      }),
    );
  });

  it("proves nothing without a key", async () => {
    const macs = await openOriginMacs(null);
    await holdAsync(
      fc.asyncProperty(field, async (text) => {
        expect(await macs.readEvidence(text, ATTEMPT)).toBeNull();
      }),
    );
  });
});

const PHASES = ["intent", "committed", "failed", "compensated"];
const ids = fc.constantFrom<unknown[]>(
  "e1",
  "e",
  "x".repeat(64),
  "x".repeat(65),
  "",
  "a b",
  "é",
  1,
  null,
  undefined,
  "e\n",
);
const capabilities = fc.constantFrom<unknown[]>(
  "payments.charge",
  "a",
  "a.b-c_d.0",
  "A.b",
  "a..b",
  ".a",
  "a.",
  "0a",
  "a".repeat(128),
  "a".repeat(129),
  "origin.request",
  "",
  1,
  undefined,
);
const costs = fc.constantFrom<unknown[]>(
  ...[
    undefined,
    {},
    { a: 0 },
    { "a.b": 1.5, c: 2 },
    { a: -1 },
    { a: Number.POSITIVE_INFINITY },
    { a: "1" },
    { A: 1 },
    [],
    null,
    1,
  ],
  Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`a${i}`, i])),
  Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`a${i}`, i])),
);
const members = fc.record(
  {
    effect_id: ids,
    capability: capabilities,
    phase: fc.constantFrom<unknown[]>(...PHASES, "Intent", "", 1, null),
    target: fc.constantFrom<unknown[]>("card_1", "x".repeat(128), "x".repeat(129), "", "a b", 1, null),
    cost: costs,
    digest: fc.constantFrom<unknown[]>("a".repeat(64), "A".repeat(64), "a".repeat(63), "", null),
    error: fc.constantFrom<unknown[]>(
      { code: "declined" },
      { code: "declined", message: "x" },
      { code: "A" },
      { code: "" },
      { code: "x".repeat(65) },
      {},
      "declined",
      null,
      [],
    ),
    note: fc.string(),
  },
  { requiredKeys: [] },
);

const SOUND = {
  effect_id: "e1",
  capability: "payments.charge",
  phase: "intent",
  target: "card_1",
  cost: { a: 1 },
};

/** A sound entry in which up to two members are something else, or one of anything. */
const entry: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  members,
  fc
    .tuple(
      members,
      fc.subarray(["effect_id", "capability", "phase", "target", "cost", "digest", "error"], {
        maxLength: 2,
      }),
    )
    .map(([other, names]) => ({
      ...SOUND,
      ...Object.fromEntries(Object.entries(other).filter(([name]) => names.includes(name))),
    })),
);

/** The table of the contract, member by member. */
function isEntry(given: Record<string, unknown>): boolean {
  const isCapability = (value: unknown) =>
    typeof value === "string" &&
    value.length <= 128 &&
    /^[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*$/.test(value);
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const has = (name: string, form: RegExp) =>
    typeof given[name] === "string" && form.test(String(given[name]));
  const { cost, error } = given;
  return (
    has("effect_id", /^[!-~]{1,64}$/) &&
    isCapability(given.capability) &&
    given.capability !== "origin.request" &&
    (given.phase === undefined || PHASES.includes(String(given.phase))) &&
    (given.target === undefined || has("target", /^[!-~]{1,128}$/)) &&
    (given.digest === undefined || has("digest", /^[0-9a-f]{64}$/)) &&
    (cost === undefined ||
      (isMap(cost) &&
        Object.keys(cost).length <= 8 &&
        Object.entries(cost).every(
          ([axis, amount]) =>
            isCapability(axis) &&
            typeof amount === "number" &&
            amount >= 0 &&
            amount < Number.POSITIVE_INFINITY,
        ))) &&
    (error === undefined ||
      (isMap(error) && typeof error.code === "string" && /^[a-z0-9][a-z0-9._-]{0,63}$/.test(error.code)))
  );
}

describe("an entry of a report", () => {
  it("is read exactly where every member is as the table says, and read again it is the same", () => {
    hold(
      fc.property(entry, (given) => {
        const read = readEntry(given);
        expect(read.kind).toBe(isEntry(given) ? "told" : "refused");
        if (read.kind === "refused") return;
        const { id, code, ...rest } = read.told;
        const members = { effect_id: id, ...rest, error: code === null ? null : { code } };
        const printed = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
        expect(readEntry(JSON.parse(JSON.stringify(printed)))).toEqual(read);
      }),
    );
  });

  it("is refused and nothing more, whatever JSON comes", () => {
    hold(
      fc.property(fc.jsonValue(), (given) => {
        expect(["told", "refused"]).toContain(readEntry(given).kind);
      }),
    );
  });
});

describe("a probe's answer", () => {
  const pieces = ['"', "{", "}", ":", ",", "null", "outcome", "200", "[", "]", "\\u0000", "\\ud800", " "];
  const samples = [
    '{"outcome":"none"}',
    '{"outcome":"unknown"}',
    '{"outcome":"void"}',
    '{"outcome":"committed"}',
    '{"outcome":"committed","answer":{"status":201,"headers":[["content-type","application/json"]],"body":"{}"}}',
    '{"outcome":"committed","answer":{"status":204,"headers":[],"body_base64":""}}',
  ];

  it("says of an effect exactly what its outcome says", () => {
    hold(
      fc.property(mutated(samples, pieces), (text) => {
        const said = readProbeText(Buffer.from(text));
        if (said === null) return;
        const { outcome } = JSON.parse(text);
        expect(said.kind).toBe(outcome);
        expect(["none", "void", "unknown", "committed"]).toContain(outcome);
      }),
    );
  });

  it("that is read can be written and read again", () => {
    hold(
      fc.property(mutated(samples, pieces), (text) => {
        const said = readProbeText(Buffer.from(text));
        if (said?.kind !== "committed" || said.answer === "lost") return;
        const { status, headers, body } = said.answer;
        expect(status >= 200 && status <= 599).toBe(true);
        const answer = { status, headers, body_base64: Buffer.from(body).toString("base64") };
        const again = readProbeText(Buffer.from(JSON.stringify({ outcome: "committed", answer })));
        expect(again).toMatchObject({ kind: "committed", answer: { status, headers } });
      }),
    );
  });

  it("is nothing where it is nothing, whatever bytes come", () => {
    hold(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readProbeText(bytes)));
    hold(
      fc.property(
        fc.jsonValue(),
        (given) => void readProbeText(Buffer.from(JSON.stringify({ outcome: "committed", answer: given }))),
      ),
    );
  });
});
