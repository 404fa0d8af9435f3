// Aim: nothing that an origin sends is believed unless it is exactly what was agreed on.
import { createHmac, timingSafeEqual } from "node:crypto";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { openOriginMacs } from "../../src/origin/evidence.ts";
import { readProbeText } from "../../src/origin/probe-answer.ts";
import { isOneJson } from "./recognise-json.ts";
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

/** Statuses whose answers have no body; RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
const BODILESS = [204, 205, 304];

function isAnswer(given: unknown): boolean {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return false;
  const { status, headers, body, body_base64: encoded } = given as Readonly<Record<string, unknown>>;
  const isField = (pair: unknown) =>
    Array.isArray(pair) &&
    pair.length === 2 &&
    /^[\w!#$%&'*+.^`|~-]+$/.test(typeof pair[0] === "string" ? pair[0] : "") &&
    typeof pair[1] === "string" &&
    [...pair[1]].every((c) => c === "\t" || (c >= " " && c <= "\u00ff" && c !== "\u007f")) &&
    (pair[0].toLowerCase() !== "content-encoding" || pair[1].trim().toLowerCase() === "identity");
  const isStatus = Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
  const isHeaders = headers === undefined || (Array.isArray(headers) && headers.every(isField));
  const isText = body === undefined || (typeof body === "string" && body.isWellFormed());
  const isBase64 =
    encoded === undefined ||
    (typeof encoded === "string" && Buffer.from(encoded, "base64").toString("base64") === encoded);
  const isEmpty = (body ?? "") === "" && (encoded ?? "") === "";
  const isOne = body === undefined || encoded === undefined;
  const isFit = isEmpty || !BODILESS.includes(Number(status));
  return isStatus && isHeaders && isText && isBase64 && isOne && isFit;
}

/** The contract's text on probes; null: it is no answer to one. */
function recogniseProbe(text: string): string | null {
  const given: unknown = isOneJson(text) ? JSON.parse(text) : null;
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const { outcome, answer } = given as Readonly<Record<string, unknown>>;
  if (typeof outcome !== "string" || !["none", "void", "unknown", "committed"].includes(outcome)) return null;
  const isLost = answer === undefined || answer === null;
  return outcome !== "committed" || isLost || isAnswer(answer) ? outcome : null;
}

const answers = fc.record(
  {
    status: fc.constantFrom<unknown[]>(200, 201, 204, 205, 304, 402, 599, 199, 600, 101, 200.5, "200", null),
    headers: fc.constantFrom<unknown[]>(
      [],
      [["content-type", "application/json"]],
      [
        ["a", "b\tc é"],
        ["A", ""],
      ],
      [["a", "b\nc"]],
      [["a b", "c"]],
      [["", "c"]],
      [["a", "\u20ac"]],
      [["a"]],
      [["a", 1]],
      { a: "b" },
      [["content-encoding", "gzip"]],
      [["Content-Encoding", "Identity"]],
      null,
    ),
    body: fc.constantFrom<unknown[]>("", "{}", "é\u2028", "\ud800", 1, null),
    body_base64: fc.constantFrom<unknown[]>("", "e30=", "e30", "e31=", "-_8=", " e30=", 1),
    note: fc.string(),
  },
  { requiredKeys: ["status"] },
);

describe("a probe's answer", () => {
  const pieces = [
    '"',
    '"outcome":"void",',
    "{",
    "}",
    ":",
    ",",
    "null",
    "outcome",
    "200",
    "[",
    "]",
    "\\u0000",
    "\\ud800",
    " ",
  ];
  const samples = [
    '{"outcome":"none"}',
    '{"outcome":"unknown"}',
    '{"outcome":"void"}',
    '{"outcome":"committed"}',
    '{"outcome":"committed","answer":{"status":201,"headers":[["content-type","application/json"]],"body":"{}"}}',
    '{"outcome":"committed","answer":{"status":204,"headers":[],"body_base64":""}}',
  ];

  it("says of an effect exactly what its outcome says, and is one exactly where all of it is as agreed", () => {
    hold(
      fc.property(mutated(samples, pieces), (text) => {
        const said = readProbeText(Buffer.from(text));
        expect(said === null ? null : said.kind).toBe(recogniseProbe(Buffer.from(text).toString()));
      }),
    );
  });

  it("is one exactly where each member of its answer is as agreed", () => {
    hold(
      fc.property(answers, (answer) => {
        const text = JSON.stringify({ outcome: "committed", answer });
        const said = readProbeText(Buffer.from(text));
        expect(said === null ? null : said.kind).toBe(recogniseProbe(text));
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
        expect(again).toEqual(said);
        expect(body.length + headers.flat().join("").length).toBeLessThanOrEqual(3 * text.length);
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
