// Aim: secrets are read strictly and never told. Method: rows for each form; keys made by the platform; and a
// property that hides a canary in every secret and looks for it in every line.

import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import type { Secrets } from "../../src/core/policy.ts";

const bytes = (length: number, fill: number) => new Uint8Array(length).fill(fill);
const base64 = (of: Uint8Array) => Buffer.from(of).toString("base64");
const key = (fill: number) => base64(bytes(32, fill));

const MINIMAL = { ORIGIN_URL: "https://api.example", NAMING_KEY: key(1), SEALING_KEY: key(2) };
const OPERATOR = { id: "op_1-A", sha256: "0123456789abcdef".repeat(4), roles: ["read", "resolve"] };

type Env = Record<string, unknown>;

function load(env: Env): Secrets {
  const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  return loaded.config.secrets;
}

function listMistakes(env: Env): readonly string[] {
  const loaded = loadConfig({ ...MINIMAL, ...env }, "gateway");
  return loaded.kind === "sound" ? [] : loaded.mistakes;
}

describe("sound secrets", () => {
  it("become bytes", () => {
    expect(load({})).toMatchObject({ naming: bytes(32, 1), sealing: [bytes(32, 2)] });
  });

  it.each([`${key(3)},${key(4)}`, ` ${key(3)} , ${key(4)}`, JSON.stringify([key(3), key(4)])])(
    "list older sealing keys after the one that seals: %s",
    (SEALING_KEYS) => {
      expect(load({ SEALING_KEYS }).sealing).toEqual([bytes(32, 2), bytes(32, 3), bytes(32, 4)]);
    },
  );

  it("have an Ed25519 signing key as the platform exports it", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const der = privateKey.export({ format: "der", type: "pkcs8" });

    const { ledgerSigning } = load({ LEDGER_SIGNING_KEY: der.toString("base64") });

    expect(ledgerSigning).toEqual(new Uint8Array(der));
  });

  it.each([16, 17, 256])("have shared keys of %d bytes", (length) => {
    const shared = base64(bytes(length, 5));

    expect(load({ ORIGIN_EVIDENCE_KEY: shared, WEBHOOK_KEY: shared })).toMatchObject({
      originEvidence: bytes(length, 5),
      webhook: bytes(length, 5),
    });
  });

  it.each([
    [[OPERATOR]],
    [[]],
    [
      [
        { ...OPERATOR, id: "a".repeat(64), roles: ["read"] },
        { ...OPERATOR, roles: ["resolve"] },
      ],
    ],
  ])("list operators %j", (operators) => {
    expect(load({ OPERATOR_TOKENS: JSON.stringify(operators) }).operators).toEqual(operators);
  });
});

describe("mistaken secrets", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
  const x25519 = generateKeyPairSync("x25519").privateKey;
  const ed25519 = generateKeyPairSync("ed25519").privateKey;
  const der = { format: "der", type: "pkcs8" } as const;
  const ownKey = "allowed: 32 bytes in base64";
  const signingKey = "allowed: an Ed25519 private key: the 48 bytes of its PKCS #8 DER form in base64";

  it.each<[string, unknown, string]>([
    ["NAMING_KEY", base64(bytes(31, 1)), `NAMING_KEY has 44 characters (not shown); ${ownKey}`],
    ["NAMING_KEY", base64(bytes(33, 1)), `NAMING_KEY has 44 characters (not shown); ${ownKey}`],
    ["NAMING_KEY", "", `NAMING_KEY has 0 characters (not shown); ${ownKey}`],
    ["NAMING_KEY", key(1).replace("=", ""), `NAMING_KEY has 43 characters (not shown); ${ownKey}`],
    ["NAMING_KEY", `${key(1)}\n`, `NAMING_KEY has 45 characters (not shown); ${ownKey}`],
    ["NAMING_KEY", key(255).replaceAll("/", "_"), `NAMING_KEY has 44 characters (not shown); ${ownKey}`],
    // The last character before the padding has bits that no byte holds.
    ["SEALING_KEY", key(1).replace("E=", "F="), `SEALING_KEY has 44 characters (not shown); ${ownKey}`],
    ["SEALING_KEY", bytes(32, 1), `SEALING_KEY is not text (not shown); ${ownKey}`],
    ["SEALING_KEYS", "", "SEALING_KEYS[0] has 0 characters (not shown); allowed: up to 16 keys of 32 bytes"],
    ["SEALING_KEYS", `${key(3)},x`, "SEALING_KEYS[1] has 1 characters (not shown); allowed: up to 16"],
    ["SEALING_KEYS", "[", "SEALING_KEYS has 1 characters (not shown); allowed: up to 16"],
    [
      "SEALING_KEYS",
      Array(17).fill(key(3)).join(),
      "SEALING_KEYS has 764 characters (not shown); allowed: up",
    ],
    ["LEDGER_SIGNING_KEY", rsa.export(der).toString("base64"), signingKey],
    ["LEDGER_SIGNING_KEY", x25519.export(der).toString("base64"), signingKey],
    ["LEDGER_SIGNING_KEY", ed25519.export({ ...der, format: "pem" }), signingKey],
    ["LEDGER_SIGNING_KEY", key(1), signingKey],
    ["ORIGIN_EVIDENCE_KEY", base64(bytes(15, 1)), "allowed: 16 to 256 bytes in base64"],
    ["ORIGIN_EVIDENCE_KEY", base64(bytes(257, 1)), "allowed: 16 to 256 bytes in base64"],
    ["WEBHOOK_KEY", "not base64 at all!", "WEBHOOK_KEY has 18 characters (not shown); allowed: 16 to 256"],
    ["OPERATOR_TOKENS", "op1.secret", "OPERATOR_TOKENS has 10 characters (not shown); allowed: a JSON list"],
    ["OPERATOR_TOKENS", "{}", "OPERATOR_TOKENS has 2 characters (not shown); allowed: a JSON list"],
  ])("%s %# is told by its size and what is allowed", (name, value, told) => {
    const mistakes = listMistakes({ [name]: value });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(name);
    expect(mistakes[0]).toContain(told);
  });

  it.each<[unknown, string]>([
    ["op1", "OPERATOR_TOKENS[1] has 3 characters (not shown); allowed: a table of id, sha256, roles"],
    [[], "OPERATOR_TOKENS[1] is not text (not shown); allowed: a table of id, sha256, roles"],
    [
      { ...OPERATOR, id: "a.b" },
      "OPERATOR_TOKENS[1].id has 3 characters (not shown); allowed: an id of 1 to 64",
    ],
    [
      { ...OPERATOR, id: "" },
      "OPERATOR_TOKENS[1].id has 0 characters (not shown); allowed: an id of 1 to 64",
    ],
    [
      { ...OPERATOR, id: "a".repeat(65) },
      "OPERATOR_TOKENS[1].id has 65 characters (not shown); allowed: an id",
    ],
    [
      { ...OPERATOR, sha256: "AB".repeat(32) },
      "OPERATOR_TOKENS[1].sha256 has 64 characters (not shown); allowed: 64",
    ],
    [
      { ...OPERATOR, sha256: "ab".repeat(31) },
      "OPERATOR_TOKENS[1].sha256 has 62 characters (not shown); allowed: 64",
    ],
    [
      { id: "x", roles: ["read"] },
      "OPERATOR_TOKENS[1].sha256 is not given; allowed: 64 lower-case hex digits",
    ],
    [
      { ...OPERATOR, id: "x", roles: [] },
      'OPERATOR_TOKENS[1].roles is not text (not shown); allowed: a list of "read"',
    ],
    [{ ...OPERATOR, id: "x", roles: ["admin"] }, "OPERATOR_TOKENS[1].roles[0] has 5 characters (not shown)"],
    [
      { ...OPERATOR, id: "x", hunter2: 1 },
      "OPERATOR_TOKENS[1] is not text (not shown); allowed: only the members of",
    ],
    [
      { ...OPERATOR, roles: ["read"] },
      "OPERATOR_TOKENS[1] is not text (not shown); allowed: an id of 1 to 64",
    ],
  ])("operator %j is told without its value", (operator, told) => {
    const mistakes = listMistakes({ OPERATOR_TOKENS: JSON.stringify([OPERATOR, operator]) });

    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(told);
    expect(mistakes[0]).not.toContain("hunter2");
  });
});

describe("mistake lines", () => {
  const CANARY = "canary7f3a";
  const withCanary = fc
    .tuple(fc.string({ unit: "binary", maxLength: 40 }), fc.string({ unit: "binary", maxLength: 40 }))
    .map(([before, after]) => `${before}${CANARY}${after}`);
  const holders = fc.oneof(
    withCanary,
    withCanary.map((text) => JSON.stringify([text])),
    withCanary.map((text) => JSON.stringify([{ [text]: text }])),
    withCanary.map((text) => `[{${JSON.stringify(text)}:1,${JSON.stringify(text)}:${JSON.stringify(text)}}]`),
    withCanary.map((text) => JSON.stringify([{ id: text, sha256: text, roles: [text] }])),
    withCanary.map((text) => JSON.stringify({ secret: { [text]: [text] } })),
    withCanary.map((text) => [{ id: { [text]: text }, secret: text, principal: text }]),
  );
  const names = [
    "NAMING_KEY",
    "SEALING_KEY",
    "SEALING_KEYS",
    "LEDGER_SIGNING_KEY",
    "OPERATOR_TOKENS",
    "ORIGIN_EVIDENCE_KEY",
    "WEBHOOK_KEY",
  ];
  const jwt = { from: "jwt", issuer: "i", audience: "a" };

  it("never hold a secret's value, in whatever form it was given", () => {
    fc.assert(
      fc.property(fc.tuple(...names.map(() => holders)), (values) => {
        const env = Object.fromEntries(names.map((name, at) => [name, values[at]]));

        const mistakes = listMistakes(env);

        expect(mistakes.length).toBeGreaterThanOrEqual(names.length);
        expect(mistakes.join("\n")).not.toContain(CANARY);
      }),
    );
  });

  it("never hold a secret pasted into a route, nor one that a route names", () => {
    fc.assert(
      fc.property(withCanary, (secret) => {
        const pasted = listMistakes({ ROUTES: [{ principal: { ...jwt, secret } }] });
        const wrongPlace = listMistakes({ ROUTES: { principal: { ...jwt, secret } } });
        const tooShort = listMistakes({
          ROUTES: [{ principal: { ...jwt, secret: "JWT_KEY" } }],
          JWT_KEY: CANARY,
        });

        for (const mistakes of [pasted, wrongPlace, tooShort]) {
          expect(mistakes).toHaveLength(1);
          expect(mistakes[0]).not.toContain(CANARY);
        }
      }),
    );
  });

  it("are one printable line each, and reading never throws", () => {
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withBoxedValues: true });
    const route = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("match", "principal", "probe")),
      anything,
    );
    const env = fc.record({
      ORIGIN_URL: fc.oneof(anything, fc.string({ unit: "binary" }), fc.webUrl()),
      ORIGIN: anything,
      ROUTES: fc.oneof(anything, fc.json(), fc.array(route)),
      LEDGER_NAME: fc.oneof(anything, fc.string({ unit: "binary" })),
      LEDGER_SHARDS: anything,
      LEDGER_SINKS: fc.oneof(anything, fc.json()),
      PREFIX: fc.oneof(anything, fc.string({ unit: "binary" })),
      CORS_ORIGINS: fc.oneof(anything, fc.array(fc.webUrl())),
      OPERATOR_TOKENS: fc.oneof(anything, fc.json()),
      NAMING_KEY: fc.oneof(anything, fc.base64String()),
    });

    fc.assert(
      fc.property(env, (given) => {
        const loaded = loadConfig(given, "gateway");

        expect(loaded.kind).toBe("misconfigured");
        for (const line of loaded.kind === "misconfigured" ? loaded.mistakes : []) {
          expect(line).toMatch(
            /^[A-Z_]+[^\p{Cc}\u2028\u2029]* (?:is|has) [^\p{Cc}\u2028\u2029]*; allowed: .+$/u,
          );
          expect(line).not.toMatch(/Invalid|Expected/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
