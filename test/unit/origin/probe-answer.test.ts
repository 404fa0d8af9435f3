// Aim: what an origin says of an attempt is read as it was agreed on, and anything else is nothing.
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/core/bytes.ts";
import { type ProbeText, readProbeText } from "../../../src/origin/probe-answer.ts";

const read = (said: unknown): ProbeText | null => readProbeText(encodeUtf8(JSON.stringify(said)));
const committed = (answer: unknown): unknown => ({ outcome: "committed", answer });

const WORDS: [said: unknown, read: ProbeText][] = [
  [{ outcome: "committed" }, { kind: "committed", answer: "lost" }],
  [
    { outcome: "committed", answer: null },
    { kind: "committed", answer: "lost" },
  ],
  [{ outcome: "none" }, { kind: "none" }],
  [{ outcome: "void" }, { kind: "void" }],
  [{ outcome: "unknown" }, { kind: "unknown", why: "said" }],
  [{ outcome: "none", more: 1 }, { kind: "none" }],
];

const ANSWERS: [name: string, answer: unknown, body: string | Uint8Array, headers: unknown][] = [
  ["text", { status: 201, headers: [["a", "b"]], body: "x€" }, "x€", [["a", "b"]]],
  ["bytes", { status: 200, headers: [], body_base64: "AP8=" }, Uint8Array.of(0, 255), []],
  ["no body", { status: 204, headers: [] }, "", []],
  ["no fields", { status: 599, body: "" }, "", []],
  [
    "fields of one name",
    {
      status: 200,
      headers: [
        ["x", "1"],
        ["x", "2"],
      ],
    },
    "",
    [
      ["x", "1"],
      ["x", "2"],
    ],
  ],
  [
    "an encoding that is none",
    { status: 200, headers: [["Content-Encoding", "identity"]] },
    "",
    [["Content-Encoding", "identity"]],
  ],
];

const BAD_WORDS: unknown[] = [
  null,
  [],
  "none",
  1,
  {},
  { outcome: null },
  { outcome: "None" },
  { outcome: "none " },
  { outcome: ["none"] },
  [{ outcome: "none" }],
];

const BAD_ANSWERS: unknown[] = [
  "text",
  1,
  [],
  false,
  "",
  {},
  { status: "201" },
  { status: 199 },
  { status: 600 },
  { status: 200.5 },
  { status: -1 },
  { status: 200, headers: {} },
  { status: 200, headers: null },
  { status: 200, headers: [["a"]] },
  { status: 200, headers: [["a", "b", "c"]] },
  { status: 200, headers: [["a", 1]] },
  { status: 200, headers: [["", "b"]] },
  { status: 200, headers: [["a b", "c"]] },
  { status: 200, headers: [["a:", "c"]] },
  { status: 200, headers: [["a\n", "c"]] },
  { status: 200, headers: [["a", "b\r\nc: d"]] },
  { status: 200, headers: [["a", "b\u0000"]] },
  { status: 200, headers: [["a", "\ufffd"]] },
  { status: 200, headers: [["a", "\ud800"]] },
  { status: 200, headers: Array(257).fill(["a", "b"]) },
  { status: 200, headers: [["content-encoding", "gzip"]], body: "x" },
  {
    status: 200,
    headers: [
      ["Content-Encoding", "identity"],
      ["content-encoding", "br"],
    ],
    body: "x",
  },
  { status: 200, body: 1 },
  { status: 200, body: null },
  { status: 200, body: "\ud800" },
  { status: 200, body: "x", body_base64: "eA==" },
  { status: 200, body_base64: "e" },
  { status: 200, body_base64: "eB==" },
  { status: 200, body_base64: "_w==" },
  { status: 200, body_base64: 1 },
  { status: 204, body: "x" },
  { status: 205, body: "x" },
  { status: 304, body_base64: "eA==" },
];

describe("what an origin says", () => {
  it.each(WORDS)("%j is read", (said, expected) => {
    expect(read(said)).toEqual(expected);
  });

  it.each(ANSWERS)("with an answer of %s is read", (_name, answer, body, headers) => {
    const { status } = answer as { status: number };
    const bytes = typeof body === "string" ? encodeUtf8(body) : body;
    expect(read(committed(answer))).toEqual({ kind: "committed", answer: { status, headers, body: bytes } });
  });

  it.each(BAD_WORDS.map((said) => [said]))("%j is nothing", (said) => {
    expect(read(said)).toBeNull();
  });

  it.each(BAD_ANSWERS.map((answer) => [answer]))("with the answer %j is nothing", (answer) => {
    expect(read(committed(answer))).toBeNull();
  });

  it.each([
    ["no JSON", encodeUtf8("none")],
    ["nothing", new Uint8Array()],
    ["JSON cut short", encodeUtf8('{"outcome":"none"')],
    ["bytes that are no text", Uint8Array.of(0x22, 0xff, 0x22)],
    ["two words", encodeUtf8('{"outcome":"none","outcome":"committed"}')],
    ["one word twice", encodeUtf8('{"outcome":"none","outcome":"none"}')],
    ["two answers", encodeUtf8('{"outcome":"committed","answer":{"status":201},"answer":{"status":200}}')],
    [
      "an answer of two bodies",
      encodeUtf8('{"outcome":"committed","answer":{"status":201,"body":"a","body":"b"}}'),
    ],
    ["an unknown member twice", encodeUtf8('{"outcome":"none","more":1,"more":1}')],
  ])("that is %s is nothing", (_name, bytes) => {
    expect(readProbeText(bytes)).toBeNull();
  });
});
