/**
 * The list of settings: name, default, what is allowed, meaning. Reading, mistakes and the README's tables
 * are all made from it. The fields of a route are in `route-settings.ts` in the same form. What is in neither
 * doesn't exist.
 */

import * as bounds from "./bounds.ts";
import { ROUTE_SETTINGS } from "./route/route-settings.ts";
import type { Setting } from "./setting.ts";
import { allowDuration, allowOneOf, allowWhole, derived, given, none, required, span } from "./setting.ts";

export const SINKS = ["d1", "stdout", "webhook", "none"] as const;
export const EFFECT_TABLES = ["all", "open"] as const;
export const REQUEST_LOGS = ["all", "problems"] as const;
export const ROLES = ["read", "resolve"] as const;

/** Variables of `[vars]`. */
export const SETTINGS = {
  ORIGIN_URL: {
    fallback: none("none; required without the service binding `ORIGIN`"),
    allowed:
      "an absolute http or https URL without user, query, fragment, and dot or empty segments (or a " +
      "service binding named ORIGIN)",
    meaning:
      "The API behind the gateway; the URL's path is a prefix of every target. A service binding `ORIGIN` " +
      "wins over it and keeps the prefix.",
  },
  ROUTES: {
    fallback: given([{}], "one route: every `POST` and `PATCH`, key optional"),
    allowed: `a list of ${span(bounds.ROUTES)} tables, or the same as JSON text`,
    meaning:
      "What is guarded, and how. The first route that matches wins; what matches none passes through " +
      "untouched.",
  },
  LEDGER_NAME: {
    fallback: derived("the Worker's name"),
    allowed: `${span(bounds.LEDGER_NAME_LENGTH)} letters, digits and . _ - /, a letter or digit at both ends`,
    meaning:
      "Origin line of checkpoints, followed by `/epoch:shard`. A Worker can't read its own name: one that is not " +
      "called `oncegate` has to be told.",
  },
  LEDGER_SHARDS: {
    fallback: given(4),
    allowed: `a power of two from ${span(bounds.LEDGER_SHARDS)}`,
    meaning: "Number of ledger objects among which keys are spread. May be made larger, not smaller.",
  },
  LEDGER_SINKS: {
    fallback: given(["d1"]),
    allowed: `a list of ${allowOneOf(SINKS)}, each once, or the same as JSON text; "none" only alone`,
    meaning: "Where ledger entries go. `webhook` needs `LEDGER_WEBHOOK_URL` and the secret `WEBHOOK_KEY`.",
  },
  LEDGER_WEBHOOK_URL: {
    fallback: none(),
    allowed: 'an absolute https URL without user and fragment; the sink "webhook" needs it',
    meaning: "Where the sink `webhook` sends entries.",
  },
  LEDGER_RETENTION: {
    fallback: given("90d"),
    allowed: allowDuration(bounds.RETENTION_MS),
    meaning: "Age after which bundle bodies are pruned. Hashes stay, so proofs go on working.",
  },
  EFFECTS_TABLE: {
    fallback: given("all"),
    allowed: allowOneOf(EFFECT_TABLES),
    meaning:
      "Which effects get a row in D1: `all`, or `open` (reported ones, and dispatches once their outcome is unknown; cheaper).",
  },
  OPERATORS_REQUIRED: {
    fallback: given(2),
    allowed: allowWhole(bounds.OPERATORS_REQUIRED),
    meaning: "How many different operators must agree on a resolution.",
  },
  LOG_REQUESTS: {
    fallback: given("all"),
    allowed: allowOneOf(REQUEST_LOGS),
    meaning:
      "One log line per request: `all`, or `problems` (what was neither executed, replayed, released nor passed " +
      "through; cheaper).",
  },
  PREFIX: {
    fallback: given("/_oncegate"),
    allowed:
      'a path of plain segments (letters, digits and . _ ~ -) that starts with "/" and doesn\'t end with it',
    meaning: "Where the gateway's own endpoints live.",
  },
  CORS_ORIGINS: {
    fallback: given([], "none"),
    allowed:
      'a list of origins like "https://app.example", each once, or ["*"] alone, or the same as JSON text',
    meaning: "Browser origins that may call. None means: CORS is the origin's business.",
  },
} as const satisfies Record<string, Setting>;

const OWN_KEY = `${bounds.OWN_KEY_BYTES} bytes in base64`;
const SHARED_KEY = `${span(bounds.SHARED_KEY_BYTES)} bytes in base64`;

/** Worker secrets. Their values are never shown. */
export const SECRETS = {
  NAMING_KEY: {
    fallback: required,
    allowed: OWN_KEY,
    meaning: "Names key objects. Another one leaves every stored key behind, so it never changes.",
  },
  SEALING_KEY: {
    fallback: required,
    allowed: OWN_KEY,
    meaning: "Seals stored answers.",
  },
  SEALING_KEYS: {
    fallback: given([], "none"),
    allowed: `up to ${bounds.OLDER_SEALING_KEYS.max} keys of ${OWN_KEY}, a JSON list or with commas between`,
    meaning:
      "Older sealing keys, for reading only. To rotate: put the old `SEALING_KEY` here, set the new one, " +
      "and drop the old one when the longest `window` and `quarantine` are over.",
  },
  LEDGER_SIGNING_KEY: {
    fallback: none("the ledger makes and keeps its own"),
    allowed: "an Ed25519 private key: the 48 bytes of its PKCS #8 DER form in base64, without PEM lines",
    meaning: "Signs checkpoints.",
  },
  OPERATOR_TOKENS: {
    fallback: given([], "none: operator endpoints answer 404"),
    allowed: `a JSON list of up to ${bounds.OPERATORS.max} tables {id, sha256, roles}`,
    meaning:
      "Who may call the operator endpoints: `id` and the SHA-256 of the secret half of `id.secret`, with " +
      "the roles `read`, `resolve`.",
  },
  ORIGIN_EVIDENCE_KEY: {
    fallback: none("none: evidence headers and probe macs are off"),
    allowed: SHARED_KEY,
    meaning: "Shared with the origin: its `Effect-Evidence` is checked with it, probes are signed with it.",
  },
  WEBHOOK_KEY: {
    fallback: none(),
    allowed: `${SHARED_KEY}; the sink "webhook" needs it`,
    meaning: "Signs what the sink `webhook` sends.",
  },
} as const satisfies Record<string, Setting>;

/** Members of one entry of `OPERATOR_TOKENS`. */
export const OPERATOR_MEMBERS = {
  id: {
    fallback: required,
    allowed: `an id of ${span(bounds.ID_LENGTH)} letters, digits, _ and -, each id once`,
    meaning: "The half of the token before its dot, and the name in the ledger.",
  },
  sha256: {
    fallback: required,
    allowed: "64 lower-case hex digits: the SHA-256 of the token's secret half",
    meaning: "What the secret half is compared with.",
  },
  roles: {
    fallback: required,
    allowed: `a list of ${allowOneOf(ROLES)}, at least one, each once`,
    meaning: "What the operator may do.",
  },
} as const satisfies Record<string, Setting>;

/** The Markdown table of variables, as the README has it between its `settings` markers. */
function settingsTable(): string {
  return writeTable("var", SETTINGS);
}

/** The Markdown table of route fields and their members. */
export function routeTable(): string {
  return writeTable("field", ROUTE_SETTINGS);
}

/** The Markdown table of secrets. */
function secretsTable(): string {
  return writeTable("secret", SECRETS);
}

/** Every table by the name of its markers: `<!-- settings -->` … `<!-- /settings -->`. */
export function listTables(): ReadonlyMap<string, string> {
  return new Map([
    ["settings", settingsTable()],
    ["route-settings", routeTable()],
    ["secrets", secretsTable()],
  ]);
}

function writeTable(head: string, settings: Readonly<Record<string, Setting>>): string {
  const rows = Object.entries(settings).map(([name, { fallback, allowed, meaning }]) => [
    `\`${name}\``,
    fallback.shown,
    allowed,
    meaning,
  ]);
  const lines = [[head, "default", "allowed", "meaning"], ["---", "---", "---", "---"], ...rows];
  return lines.map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`).join("\n");
}

/**
 * Source: GitHub Flavored Markdown, tables: a bar inside a cell is escaped. `*` and `_` in text are not
 * markup here.
 */
function escapeCell(cell: string): string {
  return cell.replaceAll("|", "\\|");
}
