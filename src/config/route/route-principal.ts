/** `principal`: who a key belongs to. One table per source, told apart by `from`. */

import * as v from "valibot";
import type { JwtKeys, PrincipalRule } from "../../core/policy.ts";
import * as bounds from "../bounds.ts";
import { SECRETS, SETTINGS } from "../settings.ts";
import { entry, isTable, list, maybe, type Reader, read, table, type Variables } from "../shape.ts";
import { readCookieName, readFreeHeaderName, readSecureUrl, readVisible } from "../words.ts";
import { ROUTE_SETTINGS as SET } from "./route-settings.ts";

/** `env` is asked for the text behind `secret` and for nothing else. */
export function readPrincipal(env: Variables): Reader<PrincipalRule> {
  return (allowed) => {
    const options = [
      members("credential", {
        headers: entry(SET["principal.headers"], list(read(readFreeHeaderName), bounds.HEADER_NAMES)),
      }),
      members("header", { name: entry(SET["principal.name"], read(readFreeHeaderName)) }),
      members("cookie", { name: entry(SET["principal.name"], read(readCookieName)) }),
      readJwt(env),
      members("mtls", {}),
      members("none", {}),
    ] as const;
    return v.pipe(
      v.unknown(),
      v.check(isTable, allowed),
      v.variant("from", options, SET["principal.from"].allowed),
    );
  };
}

function members<From extends string, Entries extends v.ObjectEntries>(from: From, entries: Entries) {
  return table({ from: v.literal(from), ...entries }, SET.principal.allowed, `a principal from "${from}"`);
}

function readJwt(env: Variables) {
  const visible = read((given) => readVisible(given, bounds.TEXT_LENGTH));
  const claim = read((given) => readVisible(given, bounds.NAME_LENGTH));
  return v.pipe(
    members("jwt", {
      jwks_url: maybe(
        SET["principal.jwks_url"],
        read((given) => readSecureUrl(given)?.href ?? null),
      ),
      secret: maybe(
        SET["principal.secret"],
        read((given) => readNamedSecret(given, env)),
      ),
      issuer: entry(SET["principal.issuer"], visible),
      audience: entry(SET["principal.audience"], visible),
      claims: entry(SET["principal.claims"], list(claim, bounds.CLAIMS)),
    }),
    v.forward(
      v.partialCheck(
        [["jwks_url"], ["secret"]],
        (given) => (given.jwks_url === undefined) !== (given.secret === undefined),
        SET["principal.jwks_url"].allowed,
      ),
      ["jwks_url"],
    ),
    v.transform(({ from, issuer, audience, claims, jwks_url: url, secret = "" }) => {
      const keys: JwtKeys = url === undefined ? { kind: "hmac", secret } : { kind: "jwks", url };
      return { from, keys, issuer, audience, claims };
    }),
  );
}

/** A variable of the gateway's own has another purpose, and `ORIGIN_URL` for one is no secret. */
function readNamedSecret(given: unknown, env: Variables): string | null {
  if (typeof given !== "string" || given in SETTINGS || given in SECRETS) return null;
  const secret = env[given];
  return typeof secret === "string" && secret.length >= bounds.JWT_SECRET_LENGTH_MIN ? secret : null;
}
