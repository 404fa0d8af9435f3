import { describe, expect, it } from "vitest";
import {
  fieldValue,
  isDecodedByRuntime,
  isForwardableCoding,
  isStillCoded,
  type Pairs,
  pairsForClient,
  pairsForOrigin,
  pairsToKeep,
} from "../../src/core/http/headers.ts";

const HOP_BY_HOP: Pairs = [
  ["Connection", "keep-alive"],
  ["Keep-Alive", "timeout=5"],
  ["Proxy-Connection", "keep-alive"],
  ["Proxy-Authenticate", "Basic"],
  ["Proxy-Authorization", "Basic eA=="],
  ["TE", "trailers"],
  ["Trailer", "x-sum"],
  ["Transfer-Encoding", "chunked"],
  ["Upgrade", "h2c"],
  ["Content-Length", "3"],
];

const GATEWAY: Pairs = [
  "Idempotency-Status",
  "IDEMPOTENCY-REPLAYED",
  "idempotency-created",
  "Idempotency-Expires",
  "Idempotency-Original-Request-Id",
  "Effect-Id",
  "effect-attempt",
  "Effect-Token",
  "Effect-Evidence",
  "Effect-Probe",
].map((name) => [name, "forged"] as const);

const ORDINARY: Pairs = [
  ["X-B", "2"],
  ["x-a", "1"],
  ["X-B", "1"],
  ["Content-Type", "text/plain"],
  ["ETag", '"x"'],
];

describe("fieldValue", () => {
  it("joins repeated fields in order, whatever the case of their names", () => {
    expect(fieldValue(ORDINARY, "x-b")).toBe("2, 1");
    expect(fieldValue(ORDINARY, "X-A")).toBe("1");
  });

  it("tells an absent field from an empty one", () => {
    expect(fieldValue([["a", ""]], "a")).toBe("");
    expect(fieldValue([["a", ""]], "b")).toBeNull();
  });
});

describe("pairsForOrigin", () => {
  const forwarded = (pairs: Pairs, relied: readonly string[] = []) =>
    pairsForOrigin(pairs, "Idempotency-Key", relied);

  it("forwards ordinary fields as they are, in order, repeats included", () => {
    const cookies: Pairs = [...ORDINARY, ["cookie", "a=1"], ["Authorization", "Bearer x"], ["cookie", "b=2"]];
    expect(forwarded(cookies)).toEqual({ kind: "pairs", pairs: cookies });
  });

  it.each([
    ...HOP_BY_HOP,
    ...GATEWAY,
    ["Host", "h"],
    ["Expect", "100-continue"],
    ["HTTP2-Settings", "AAMAAABk"],
    ["idempotency-key", "k"],
  ] as Pairs)("keeps %s from the origin", (name, value) => {
    expect(
      forwarded([
        ["x-a", "1"],
        [name, value],
        ["x-b", "2"],
      ]),
    ).toEqual({
      kind: "pairs",
      pairs: [
        ["x-a", "1"],
        ["x-b", "2"],
      ],
    });
  });

  it("strips the route's own key field, and forwards Idempotency-Key where that is another", () => {
    const pairs: Pairs = [
      ["Idempotency-Key", "k"],
      ["Webhook-Id", "d"],
    ];
    expect(pairsForOrigin(pairs, "webhook-id")).toEqual({ kind: "pairs", pairs: [["Idempotency-Key", "k"]] });
  });

  it.each(["gzip, chunked", "identity", "chunked, chunked", "", "x"])(
    "refuses a body whose transfer coding nobody undoes: %j",
    (coding) => {
      expect(forwarded([["Transfer-Encoding", coding]])).toEqual({
        kind: "refused",
        reason: "transfer-coding",
        field: "transfer-encoding",
      });
    },
  );

  it("strips what any Connection field nominates", () => {
    const pairs: Pairs = [
      ["X-Hop", "1"],
      ["Connection", "close, x-hop"],
      ["connection", "\tX-Other ,,"],
      ["x-other", "2"],
      ["x-a", "3"],
    ];
    expect(forwarded(pairs)).toEqual({ kind: "pairs", pairs: [["x-a", "3"]] });
  });

  it.each([
    "authorization",
    "cookie",
    "idempotency-key",
    "content-type",
    "content-length",
    "host",
    "x-forwarded-for",
    "x-real-ip",
    "cf-connecting-ip",
    "forwarded",
    "if-match",
    "prefer",
    "effect-id",
    "stripe-version",
  ])("refuses a Connection that nominates %s, there or not", (field) => {
    const refusal = { kind: "refused", reason: "nominated", field };
    const nominating: Pairs = [["connection", `close, ${field.toUpperCase()}`]];
    expect(forwarded(nominating, ["Stripe-Version"])).toEqual(refusal);
    expect(forwarded([[field, "x"], ...nominating], ["Stripe-Version"])).toEqual(refusal);
  });

  it.each(["\u0000", "\u0001", "\n", "\r\nx: y", "\u007f"])("refuses a value with %j in it", (text) => {
    expect(forwarded([["X-A", `a${text}b`]])).toEqual({
      kind: "refused",
      reason: "control-character",
      field: "x-a",
    });
  });

  it("forwards tabs and bytes above ASCII in a value", () => {
    const pairs: Pairs = [["x-a", "a\tb \u00fc"]];
    expect(forwarded(pairs)).toEqual({ kind: "pairs", pairs });
  });
});

describe("isDecodedByRuntime", () => {
  it.each(["gzip", "br"])("is true for %s", (encoding) => {
    expect(isDecodedByRuntime(encoding)).toBe(true);
  });

  it.each([
    null,
    "",
    "GZIP",
    "Br",
    "x-gzip",
    "deflate",
    "zstd",
    "identity",
    "gzip, gzip",
    "gzip, br",
    " gzip",
  ])("is false for %j", (encoding) => {
    expect(isDecodedByRuntime(encoding)).toBe(false);
  });
});

describe("a transfer coding", () => {
  it.each<[string | null, boolean, boolean]>([
    [null, true, false],
    ["chunked", true, false],
    ["Chunked", true, false],
    ["identity", false, false],
    ["identity, chunked", false, false],
    ["gzip, chunked", false, true],
    ["chunked, gzip", false, true],
    ["", false, false],
    ["chunked,", false, false],
    ["gzip,, chunked", false, true],
    ["xchunked", false, true],
  ])("%j of a request can go on: %s; of an answer it is still there: %s", (coding, goesOn, stays) => {
    expect([isForwardableCoding(coding), isStillCoded(coding)]).toEqual([goesOn, stays]);
  });
});

describe("pairsForClient", () => {
  it.each([...HOP_BY_HOP, ...GATEWAY])("keeps %s from the client", (name, value) => {
    expect(
      pairsForClient([
        ["x-a", "1"],
        [name, value],
      ]),
    ).toEqual([["x-a", "1"]]);
  });

  it("passes everything else on as it is, in order", () => {
    const pairs: Pairs = [
      ...ORDINARY,
      ["Set-Cookie", "a=1"],
      ["Date", "d"],
      ["set-cookie", "b=2"],
      ["Retry-After", "3"],
      ["Cache-Control", "max-age=1"],
      ["X-Request-Id", "r"],
    ];
    expect(pairsForClient(pairs)).toEqual(pairs);
  });

  it("strips what the origin's Connection nominates", () => {
    const pairs: Pairs = [
      ["connection", "X-Hop"],
      ["x-hop", "1"],
      ["x-a", "2"],
    ];
    expect(pairsForClient(pairs)).toEqual([["x-a", "2"]]);
  });

  it.each(["gzip", "br"])(
    "strips %s and the digests of the encoded bytes, since the body is decoded",
    (encoding) => {
      const pairs: Pairs = [
        ["Content-Encoding", encoding],
        ["Content-Digest", "sha-256=:x:"],
        ["Repr-Digest", "sha-256=:x:"],
        ["Digest", "x"],
        ["Content-MD5", "x"],
        ["Vary", "accept-encoding"],
      ];
      expect(pairsForClient(pairs)).toEqual([["Vary", "accept-encoding"]]);
    },
  );

  it.each(["GZIP", "x-gzip", "deflate", "zstd", "gzip, gzip"])(
    "leaves %s, since the body is encoded",
    (encoding) => {
      const pairs: Pairs = [
        ["Content-Encoding", encoding],
        ["Content-Digest", "sha-256=:x:"],
      ];
      expect(pairsForClient(pairs)).toEqual(pairs);
    },
  );

  it("leaves gzip that is given in two fields, since together they are gzip twice", () => {
    const pairs: Pairs = [
      ["content-encoding", "gzip"],
      ["content-encoding", "gzip"],
    ];
    expect(pairsForClient(pairs)).toEqual(pairs);
  });
});

describe("pairsToKeep", () => {
  const kept = (pairs: Pairs) => pairsToKeep(pairsForClient(pairs), { cookies: false });

  it("keeps ordinary fields as they are, in order, repeats included", () => {
    expect(kept(ORDINARY)).toEqual(ORDINARY);
  });

  it.each([
    ...HOP_BY_HOP,
    ...GATEWAY,
    ...[
      "Set-Cookie",
      "WWW-Authenticate",
      "Authentication-Info",
      "Proxy-Status",
      "Alt-Svc",
      "Clear-Site-Data",
      "Age",
      "RateLimit",
      "RateLimit-Policy",
      "RateLimit-Remaining",
      "X-RateLimit-Reset",
      "Retry-After",
      "Server-Timing",
      "CF-Ray",
      "cf-cache-status",
      "Date",
      "Cache-Control",
    ].map((name) => [name, "x"] as const),
  ])("does not keep %s", (name, value) => {
    expect(
      kept([
        ["x-a", "1"],
        [name, value],
      ]),
    ).toEqual([["x-a", "1"]]);
  });

  it("keeps every Set-Cookie where the route replays cookies", () => {
    const pairs: Pairs = [
      ["set-cookie", "a=1"],
      ["x-a", "1"],
      ["Set-Cookie", "b=2"],
      ["Date", "d"],
    ];
    expect(pairsToKeep(pairs, { cookies: true })).toEqual([
      ["set-cookie", "a=1"],
      ["x-a", "1"],
      ["Set-Cookie", "b=2"],
    ]);
  });

  it.each(["X-Request-Id", "request-id"])(
    "keeps the first of the origin's ids under its own name: %s",
    (name) => {
      const pairs: Pairs = [
        ["Idempotency-Original-Request-Id", "forged"],
        ["x-a", "1"],
        [name, "r1"],
        ["x-request-id", "r2"],
      ];
      expect(kept(pairs)).toEqual([
        ["x-a", "1"],
        ["Idempotency-Original-Request-Id", "r1"],
      ]);
    },
  );

  it("does not keep what the origin's Connection nominates, nor an encoding that is undone", () => {
    const pairs: Pairs = [
      ["Connection", "x-hop"],
      ["X-Hop", "1"],
      ["Content-Encoding", "gzip"],
      ["x-a", "1"],
    ];
    expect(kept(pairs)).toEqual([["x-a", "1"]]);
  });
});
