// @ts-check
/** What the command line asks for. */
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** @typedef {{ from: "url" | "d1" | "export", where: string, token: string | null, key: string | null, pin: string | null, json: boolean }} Asked */

export const USAGE = `oncegate verify (--url URL | --d1 PATH | --export FILE) [options]

Checks a ledger: every line, hash, root and signature, that nothing seen before has changed, and that what is told
of every key can have happened. Reads only.

  --url URL      a running gateway, with its prefix if that is not /_oncegate
  --d1 PATH      the SQLite file of a local D1 database, or a folder with one such file below it
  --export FILE  what \`wrangler d1 export\` wrote

  --token TOKEN  operator token (id.secret) with the role "read", for --url; else ONCEGATE_TOKEN of the environment
  --key KEY      verifier key (or a file with it); else the pinned one, else the one the gateway tells
  --pin FILE     compare with what was seen before, and keep what is seen now; made when it is not there
  --json         the verdict as one JSON object
  --help         this text

Exit code: 0 sound, 1 broken, 2 could not be checked.
`;

const SOURCES = /** @type {const} */ (["url", "d1", "export"]);

/**
 * @param {string[]} args
 * @returns {{ kind: "help" } | { kind: "wrong", why: string } | { kind: "asked", asked: Asked }}
 */
export function readArguments(args) {
  let parsed;
  try {
    parsed = parse(args);
  } catch (error) {
    return { kind: "wrong", why: error instanceof Error ? error.message : "wrong arguments" };
  }
  const { values, positionals } = parsed;
  if (values.help || (positionals.length === 0 && args.length === 0)) return { kind: "help" };
  if (positionals.length !== 1 || positionals[0] !== "verify")
    return { kind: "wrong", why: "the command is: verify" };
  const [from, more] = SOURCES.filter((name) => values[name] !== undefined);
  if (from === undefined || more !== undefined) {
    return { kind: "wrong", why: "name one of --url, --d1 and --export" };
  }
  const asked = {
    from,
    where: values[from] ?? "",
    token: values.token ?? process.env.ONCEGATE_TOKEN ?? null,
    key: values.key === undefined ? null : readKey(values.key),
    pin: values.pin ?? null,
    json: values.json ?? false,
  };
  return { kind: "asked", asked };
}

/** @param {string[]} args */
function parse(args) {
  const text = /** @type {const} */ ({ type: "string" });
  const flag = /** @type {const} */ ({ type: "boolean" });
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      url: text,
      d1: text,
      export: text,
      token: text,
      key: text,
      pin: text,
      json: flag,
      help: { ...flag, short: "h" },
    },
  });
}

/** @param {string} key */
function readKey(key) {
  return existsSync(key) ? readFileSync(key, "utf8").trim() : key;
}
