/** What a world gives every isolate of the product in it: bindings over lines that break, settings, a way to the origin. */
import type { SimDatabase } from "./database.ts";
import type { State } from "./deeds.ts";
import type { Surroundings } from "./deployment.ts";
import type { Injector } from "./faults.ts";
import type { Hosts } from "./hosts.ts";
import type { Network, Trouble } from "./network.ts";
import type { Origin } from "./origin.ts";
import type { Scenario } from "./scenario.ts";

const KEY_METHODS = [
  "fetch",
  "renew",
  "settle",
  "report",
  "release",
  "look",
  "tell",
  "ask",
  "resolve",
  "observe",
];
const LEDGER_METHODS = [
  ...["append", "agree", "epochs", "open", "close", "headsOf", "isEndShown"],
  ...["ownKey", "verifierKey", "checkpoint"],
];
const QUOTA_METHODS = ["take"];
const SOUND: Trouble = { hangs: () => false, fails: () => false };

export type SurroundingsParts = {
  scenario: Scenario;
  injector: Injector;
  state: State;
  network: Network;
  hosts: Hosts;
  origin: Origin;
  database: SimDatabase;
};

export function surround(parts: SurroundingsParts): Surroundings {
  const { scenario, injector, state, network, hosts, origin, database } = parts;
  const { policies, shards, hasLedger, hasDatabase, retentionMs } = scenario;
  const trouble: Trouble = {
    hangs: () => injector.strikes("ledger hangs"),
    fails: () => (state.isLedgerDown && !injector.isHealed) || injector.strikes("ledger fails"),
  };
  return {
    policyOf: (version) => policies[version === 0 ? 0 : 1],
    send: network.fetchFrom(origin) as Surroundings["send"],
    keys: network.namespace(KEY_METHODS, (name) => hosts.key(name), SOUND),
    ledgers: network.namespace(LEDGER_METHODS, (name) => hosts.ledger(name), trouble),
    quotas: network.namespace(QUOTA_METHODS, (name) => hosts.quota(name), SOUND),
    shards,
    hasLedger,
    database: hasDatabase ? (database as unknown as D1Database) : null,
    retentionMs,
  };
}
