/** Makes the parts of an isolate from its bindings, once: the only place that knows which thing stands behind which port. */
import { makeKeyring } from "./config/keyring.ts";
import { loadConfig } from "./config/load.ts";
import type { Config } from "./core/policy.ts";
import type { Keyring, LedgerPort, OriginPort } from "./core/ports.ts";
import type { Env } from "./env.ts";
import { type Gateway, makeGateway } from "./gateway/gateway.ts";
import { writeOperationId } from "./gateway/operation-id.ts";
import { makeRouter, type Serve } from "./gateway/router.ts";
import type { KeyParts } from "./key/key-object.ts";
import { noLedger } from "./ledger/none.ts";
import { openLedger, reachShards } from "./ledger/port.ts";
import type { LedgerParts } from "./ledger/shard/parts.ts";
import { openOrigin, originUrl } from "./origin/dispatch.ts";
import { type OriginMacs, openOriginMacs } from "./origin/evidence.ts";
import { openProbe } from "./origin/probe.ts";
import { ProbeBudget } from "./origin/probe-budget.ts";
import { openQuota } from "./quota/quota-object.ts";
import { printEntry, report } from "./report.ts";

/** The name in `wrangler.toml`, which names the ledger where `LEDGER_NAME` doesn't. */
const WORKER_NAME = "oncegate";

export type Sound = {
  kind: "sound";
  config: Config;
  gateway: Gateway;
  serve: Serve;
  origin: OriginPort;
  keyParts: KeyParts;
  /** Tells the isolates of one deployment apart in metrics. */
  isolate: string;
  ledgerParts: LedgerParts;
};

export type Wiring = Sound | { kind: "misconfigured" };

/** One entry per bindings object, so one per isolate; a result, never a promise, because a promise belongs to one request. */
const wirings = new WeakMap<Env, Wiring>();

/** What has been made, if it has. */
export function wired(env: Env): Wiring | undefined {
  return wirings.get(env);
}

export async function wire(env: Env): Promise<Wiring> {
  const made = await makeWiring(env);
  // Two first requests may both have made one: the first stays, so that all share one cache.
  const first = wired(env) ?? made;
  wirings.set(env, first);
  return first;
}

async function makeWiring(env: Env): Promise<Wiring> {
  const loaded = loadConfig(env, WORKER_NAME);
  if (loaded.kind === "misconfigured") {
    for (const mistake of loaded.mistakes) report("misconfigured", { mistake });
    return { kind: "misconfigured" };
  }
  const { config } = loaded;
  const keyring = await makeKeyring(config.secrets);
  const macs = await openOriginMacs(config.secrets.originEvidence);
  return makeSound(env, config, keyring, macs);
}

function makeSound(env: Env, config: Config, keyring: Keyring, macs: OriginMacs): Sound {
  const binding = config.origin.kind === "binding" ? env.ORIGIN : undefined;
  const send = (input: RequestInfo, init: RequestInit): Promise<Response> =>
    binding === undefined ? fetch(input, init) : binding.fetch(input, init);
  const origin = openOrigin(config.origin, send, keyring, macs);
  const probe = openProbe({
    address: config.origin,
    send,
    macs,
    budget: new ProbeBudget(Date.now),
    operationId: (name) => writeOperationId(name, keyring),
  });
  const url = (target: string): string => originUrl(config.origin, target);
  const gateway = makeGateway({ config, keyring, send, originUrl: url, report });
  const quota = openQuota(env.QUOTAS);
  const ledger = openLedgerOf(env, config, keyring);
  const keyParts: KeyParts = { route: gateway.policyOf, keyring, origin, probe, ledger, quota, report };
  const ledgerParts = ledgerPartsOf(env, config);
  const isolate = crypto.randomUUID();
  const serve = makeRouter(config.prefix);
  return { kind: "sound", config, gateway, serve, origin, keyParts, ledgerParts, isolate };
}

function openLedgerOf(env: Env, { ledger }: Config, keyring: Keyring): LedgerPort {
  if (ledger.sinks.includes("none")) return noLedger;
  return openLedger({ objects: env.LEDGERS, shards: ledger.shards, keyring, report });
}

function ledgerPartsOf(env: Env, { ledger, secrets }: Config): LedgerParts {
  const { name, sinks, webhookUrl, retentionMs, effectsTable } = ledger;
  const receiver =
    webhookUrl === null || secrets.webhook === null ? null : { url: webhookUrl, key: secrets.webhook };
  return {
    name,
    signingKey: secrets.ledgerSigning,
    database: sinks.includes("d1") ? env.DB : null,
    allEffects: effectsTable === "all",
    retentionMs,
    webhook: sinks.includes("webhook") ? receiver : null,
    print: sinks.includes("stdout") ? printEntry : null,
    send: (url, init) => fetch(url, init),
    report,
    ...reachShards(env.LEDGERS),
  };
}
