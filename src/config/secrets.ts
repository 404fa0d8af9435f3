/** Worker secrets → bytes. What is refused is told without the value. */

import * as v from "valibot";
import { fromBase64 } from "../core/bytes.ts";
import type { OperatorToken, Secrets } from "../core/policy.ts";
import * as bounds from "./bounds.ts";
import { OPERATOR_MEMBERS as MEMBER, ROLES, SECRETS as SET } from "./settings.ts";
import { entry, type Field, isTable, list, maybe, oneOf, read, table, text } from "./shape.ts";

/**
 * DER of a PKCS #8 Ed25519 private key up to the 32 bytes of the key. Source: RFC 8410 sections 7 and 10.3.
 */
const PKCS8_ED25519: readonly number[] = [
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

const OPERATOR_TABLE = `a table of ${Object.keys(MEMBER).join(", ")}`;

const ownKey = read((given) => readBytes(given, { min: bounds.OWN_KEY_BYTES, max: bounds.OWN_KEY_BYTES }));
const sharedKey = read((given) => readBytes(given, bounds.SHARED_KEY_BYTES));

/** One entry for each secret, to be read together with the variables. */
export const secretEntries = {
  NAMING_KEY: entry(SET.NAMING_KEY, ownKey),
  SEALING_KEY: entry(SET.SEALING_KEY, ownKey),
  SEALING_KEYS: entry(SET.SEALING_KEYS, list(ownKey, bounds.OLDER_SEALING_KEYS)),
  LEDGER_SIGNING_KEY: maybe(SET.LEDGER_SIGNING_KEY, read(readSigningKey)),
  OPERATOR_TOKENS: entry(SET.OPERATOR_TOKENS, readOperators),
  ORIGIN_EVIDENCE_KEY: maybe(SET.ORIGIN_EVIDENCE_KEY, sharedKey),
  WEBHOOK_KEY: maybe(SET.WEBHOOK_KEY, sharedKey),
};

type Read = v.InferOutput<v.ObjectSchema<typeof secretEntries, undefined>>;

export function makeSecrets(given: Read): Secrets {
  return {
    naming: given.NAMING_KEY,
    sealing: [given.SEALING_KEY, ...given.SEALING_KEYS],
    ledgerSigning: given.LEDGER_SIGNING_KEY ?? null,
    originEvidence: given.ORIGIN_EVIDENCE_KEY ?? null,
    webhook: given.WEBHOOK_KEY ?? null,
    operators: given.OPERATOR_TOKENS,
  };
}

/** `SEALING_KEYS` as the list it stands for: a JSON list, or keys with commas between. */
export function splitKeys(given: string): readonly unknown[] {
  return given.split(",").map((key) => key.trim());
}

function readOperator(allowed: string): Field<OperatorToken> {
  return v.pipe(
    v.unknown(),
    v.check(isTable, allowed),
    table(
      {
        id: entry(MEMBER.id, text(bounds.ID_LENGTH, /^[A-Za-z0-9_-]+$/)),
        sha256: entry(MEMBER.sha256, text({ min: 64, max: 64 }, /^[0-9a-f]+$/)),
        roles: entry(MEMBER.roles, list(oneOf(ROLES), { min: 1, max: ROLES.length })),
      },
      allowed,
      "an operator",
    ),
  );
}

function readOperators(allowed: string): Field<readonly OperatorToken[]> {
  return v.pipe(
    v.unknown(),
    list(() => readOperator(OPERATOR_TABLE), bounds.OPERATORS)(allowed),
    v.checkItems(({ id }, at, all) => all.findIndex((other) => other.id === id) === at, MEMBER.id.allowed),
  );
}

function readSigningKey(given: unknown): Uint8Array | null {
  const bytes = readBytes(given, { min: 48, max: 48 });
  return bytes !== null && PKCS8_ED25519.every((byte, at) => bytes[at] === byte) ? bytes : null;
}

function readBytes(given: unknown, length: bounds.Range): Uint8Array | null {
  const bytes = typeof given === "string" ? fromBase64(given) : null;
  return bytes !== null && bytes.length >= length.min && bytes.length <= length.max ? bytes : null;
}
