/** The names of key objects from what an operator knows of its client, read as admission reads a request's own fields. */
import { readKey } from "../../core/http/key.ts";
import { nameMessage } from "../../core/http/scope.ts";
import type { GivenPrincipal, KeyQuery, OperatorField } from "../../core/operator/requests.ts";
import type { PrincipalRule, RoutePolicy } from "../../core/policy.ts";
import { type Principal, readClaims } from "../admission/principal.ts";
import type { Gateway } from "../gateway.ts";

export type NamedKey =
  /** More than one where what is given can be the word of several clients. */
  | { kind: "named"; names: readonly string[] }
  | { kind: "refused"; field: Extract<OperatorField, "route" | "principal" | "key"> };

type Values = ReadonlyMap<string, string | number>;

/** Touches no object: what is named may never have been used. */
export async function nameKey(query: KeyQuery, gateway: Gateway): Promise<NamedKey> {
  const policy = gateway.policyOf(query.route);
  if (policy === null || policy.key === "off") return { kind: "refused", field: "route" };
  const readings = readValues(query.principal, policy.principal);
  const principals = await Promise.all(readings.map((values) => readPrincipal(values, policy, gateway)));
  const known = principals.filter((principal) => principal?.kind === "known");
  if (known.length === 0) return { kind: "refused", field: "principal" };
  const read = readKey(query.key, policy.keyLength);
  if (read.kind !== "key") return { kind: "refused", field: "key" };
  const { key } = read;
  const named = known.map(({ parts }) => gateway.keyring.name(nameMessage(policy.id, parts, key)));
  return { kind: "named", names: await Promise.all(named) };
}

/** Header names in lower case, cookie and claim names as configured. */
function listNames(rule: PrincipalRule): readonly string[] {
  switch (rule.from) {
    case "credential":
      return rule.headers;
    case "header":
    case "cookie":
      return [rule.name];
    case "jwt":
      return rule.claims;
    case "mtls":
      return ["fingerprint"];
    case "none":
      return [];
  }
}

/** Every way to understand them. None: a value has a name that the rule doesn't read, or no name where there are several. */
function readValues(given: GivenPrincipal, rule: PrincipalRule): readonly Values[] {
  const names = listNames(rule);
  if (given === null) return [new Map()];
  if (typeof given === "string") {
    const [name] = names;
    if (name === undefined || names.length > 1) return [];
    return readText(given, rule).map((value) => new Map([[name, value]]));
  }
  const values = new Map<string, string | number>();
  for (const [name, value] of Object.entries(given)) {
    const known = names.find((one) => one === name) ?? names.find((one) => one === name.toLowerCase());
    if (known === undefined || values.has(known)) return [];
    values.set(known, value);
  }
  return [values];
}

/** A claim `"42"` and a claim `42` are two clients, of whom a text without a name tells no more than that it is one of them. */
function readText(text: string, { from }: PrincipalRule): readonly (string | number)[] {
  return from === "jwt" && String(Number(text)) === text ? [text, Number(text)] : [text];
}

/** Null: the values can't be a request's. */
async function readPrincipal(
  values: Values,
  policy: RoutePolicy,
  gateway: Gateway,
): Promise<Principal | null> {
  const rule = policy.principal;
  // A token's claims are given as they are; nobody signs them for an operator.
  if (rule.from === "jwt" && values.size > 0) {
    return readClaims(Object.fromEntries(values), rule.issuer, rule.claims);
  }
  const request = requestOf(values, rule);
  return request === null ? null : gateway.principalOf(policy)(request);
}

function requestOf(values: Values, rule: PrincipalRule): Request | null {
  const pairs = [...values].map(([name, value]): [string, string] => [name, String(value)]);
  const [, text = ""] = pairs[0] ?? [];
  try {
    switch (rule.from) {
      case "cookie":
        return new Request(ANYWHERE, {
          headers: pairs.map(([name, value]) => ["Cookie", `${name}=${value}`]),
        });
      case "mtls":
        return new Request(ANYWHERE, { cf: { tlsClientAuth: certificateOf(text) } });
      default:
        return new Request(ANYWHERE, { headers: pairs });
    }
  } catch {
    return null;
  }
}

/** A request that is only read needs an address, and goes nowhere. */
const ANYWHERE = "https://nowhere.invalid/";

function certificateOf(fingerprint: string): { certVerified: string; certFingerprintSHA256: string } {
  return { certVerified: "SUCCESS", certFingerprintSHA256: fingerprint };
}
