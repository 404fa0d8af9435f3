/**
 * The product as it is deployed in a simulated world: the same parts behind the same ports as in `src/wiring.ts`, made anew for every isolate.
 * The only file here that runs the product's code; it is loaded once for the code as it is, and once for every mutant.
 */
import { makeKeyring } from "../../../src/config/keyring.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { readTarget } from "../../../src/core/http/target.ts";
import { RUN_MS_MAX } from "../../../src/core/limits.ts";
import type { Config, RoutePolicy } from "../../../src/core/policy.ts";
import type { Keyring, Report } from "../../../src/core/ports.ts";
import type { Cursor } from "../../../src/core/reconcile/finding.ts";
import type { Stale } from "../../../src/core/reconcile/ports.ts";
import { type Gateway, makeGateway } from "../../../src/gateway/gateway.ts";
import { handle } from "../../../src/gateway/handle.ts";
import { writeOperationId } from "../../../src/gateway/operation-id.ts";
import { KeyObjectShell, type KeyParts } from "../../../src/key/key-object.ts";
import { openKeyPort } from "../../../src/key/remote.ts";
import { scanStale } from "../../../src/ledger/d1-findings.ts";
import { openLeases } from "../../../src/ledger/d1-lease.ts";
import { noLedger } from "../../../src/ledger/none.ts";
import { type LedgerObjects, openLedger, reachShards } from "../../../src/ledger/port.ts";
import { LedgerObjectShell } from "../../../src/ledger/shard/ledger-object.ts";
import type { LedgerParts } from "../../../src/ledger/shard/parts.ts";
import { openOrigin, originUrl, type Send } from "../../../src/origin/dispatch.ts";
import { type OriginMacs, openOriginMacs } from "../../../src/origin/evidence.ts";
import { openProbe } from "../../../src/origin/probe.ts";
import { ProbeBudget } from "../../../src/origin/probe-budget.ts";
import { openQuota, QuotaObject } from "../../../src/quota/quota-object.ts";
import { reconcileStale, STALE_EFFECTS } from "../../../src/reconcile/stale-effects.ts";
import { report } from "../../../src/report.ts";
import type { Served } from "./host.ts";

const secret = (byte: number): string => Buffer.alloc(32, byte).toString("base64");

/** A clock, a seed and a place for secrets: what every deployment of the simulation shares. */
export type Base = { config: Config; keyring: Keyring; macs: OriginMacs };

/** Made once a process: the settings as `config/` reads them, and the keys. */
export async function makeBase(): Promise<Base> {
  const loaded = loadConfig(
    {
      ORIGIN_URL: "https://origin.example",
      NAMING_KEY: secret(1),
      SEALING_KEY: secret(2),
      ORIGIN_EVIDENCE_KEY: secret(3),
      ROUTES: JSON.stringify([{ id: "pay", match: "/*" }]),
    },
    "oncegate",
  );
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  const { config } = loaded;
  return {
    config,
    keyring: await makeKeyring(config.secrets),
    macs: await openOriginMacs(config.secrets.originEvidence),
  };
}

/** What a world gives every isolate of the product that lives in it. */
export type Surroundings = {
  /** Settings of a build. */
  policyOf: (version: number) => RoutePolicy;
  send: Send;
  keys: unknown;
  ledgers: unknown;
  quotas: unknown;
  shards: number;
  hasLedger: boolean;
  database: D1Database | null;
  retentionMs: number;
};

export type Front = { fetch: (request: unknown) => Promise<unknown> };

export function basePolicy({ config }: Base): RoutePolicy {
  const [policy] = config.routes;
  if (policy === undefined) throw new Error("no route");
  return policy;
}

function gatewayOf(base: Base, around: Surroundings, version: number): Gateway {
  const config: Config = { ...base.config, routes: [around.policyOf(version)] };
  const url = (target: string): string => originUrl(config.origin, target);
  const send = (): Promise<Response> => Promise.reject(new Error("nothing is unguarded here"));
  return makeGateway({ config, keyring: base.keyring, send, originUrl: url, report });
}

/** An isolate of the Worker: what a client's request comes to. */
export function openFront(base: Base, around: Surroundings, version: number): Front {
  const gateway = gatewayOf(base, around, version);
  const origin = openOrigin(base.config.origin, around.send, base.keyring, base.macs);
  const keepAlive = (work: Promise<unknown>): void => void work.catch(() => undefined);
  const keys = openKeyPort(around.keys as Parameters<typeof openKeyPort>[0], origin, report, keepAlive);
  return {
    async fetch(request) {
      const asked = request as Request;
      return (await handle(asked, readTarget(asked.url), gateway, keys, keepAlive)).response;
    },
  };
}

class KeyObject extends KeyObjectShell<KeyParts> {
  protected override async parts(): Promise<KeyParts> {
    return this.env;
  }
}

class LedgerObject extends LedgerObjectShell<LedgerParts> {
  protected override async parts(): Promise<LedgerParts> {
    return this.env;
  }
}

export function openKeyObject(base: Base, around: Surroundings, version: number, context: unknown): Served {
  const { keyring, macs } = base;
  const policy = around.policyOf(version);
  const ledger = around.hasLedger
    ? openLedger({ objects: around.ledgers as LedgerObjects, shards: around.shards, keyring, report })
    : noLedger;
  const parts: KeyParts = {
    route: (id) => (id === policy.id ? policy : null),
    keyring,
    origin: openOrigin(base.config.origin, around.send, keyring, macs),
    probe: openProbe({
      address: base.config.origin,
      send: around.send,
      macs,
      budget: new ProbeBudget(Date.now),
      operationId: (name) => writeOperationId(name, keyring),
    }),
    ledger,
    quota: openQuota(around.quotas as Parameters<typeof openQuota>[0]),
    report,
  };
  return new KeyObject(context as DurableObjectState, parts) as unknown as Served;
}

export function openLedgerObject(around: Surroundings, context: unknown): Served {
  const objects = around.ledgers as LedgerObjects;
  const parts: LedgerParts = {
    name: "simulated.example",
    signingKey: new Uint8Array(32),
    database: around.database,
    allEffects: true,
    retentionMs: around.retentionMs,
    webhook: null,
    print: null,
    send: around.send,
    report: report as Report,
    ...reachShards(objects),
  };
  return new LedgerObject(context as DurableObjectState, parts) as unknown as Served;
}

export function openQuotaObject(context: unknown): Served {
  return new QuotaObject(context as DurableObjectState, {} as never) as unknown as Served;
}

/** One run of the cron, by an isolate of its own. */
export function openCron(base: Base, around: Surroundings, version: number): () => Promise<unknown> {
  const { database } = around;
  const origin = openOrigin(base.config.origin, around.send, base.keyring, base.macs);
  const keepAlive = (work: Promise<unknown>): void => void work.catch(() => undefined);
  const keys = openKeyPort(around.keys as Parameters<typeof openKeyPort>[0], origin, report, keepAlive);
  return async () => {
    if (database === null) return null;
    const parts = {
      leases: openLeases(database),
      scan: (after: Cursor | null, stale: Stale, limit: number) =>
        scanStale(database, STALE_EFFECTS, after, stale, limit),
      keys,
      report,
    };
    return reconcileStale(parts, `cron of ${version}`, AbortSignal.timeout(RUN_MS_MAX));
  };
}

/** The value of `Effect-Evidence` that this deployment believes. */
export function signEvidence({ config }: Base, effect: string, attempt: string): Promise<string> {
  return signWith(config.secrets.originEvidence ?? new Uint8Array(), effect, attempt);
}

async function signWith(key: Uint8Array, effect: string, attempt: string): Promise<string> {
  const text = new TextEncoder().encode(["oncegate-evidence-v1", effect, attempt, "none"].join("\n"));
  const use = { name: "HMAC", hash: "SHA-256" };
  const mac = await crypto.subtle.sign(
    "HMAC",
    await crypto.subtle.importKey("raw", key, use, false, ["sign"]),
    text,
  );
  return `none; mac="${Buffer.from(mac).toString("base64")}"`;
}

export type Deployment = {
  makeBase: typeof makeBase;
  basePolicy: typeof basePolicy;
  openFront: typeof openFront;
  openKeyObject: typeof openKeyObject;
  openLedgerObject: typeof openLedgerObject;
  openQuotaObject: typeof openQuotaObject;
  openCron: typeof openCron;
  signEvidence: typeof signEvidence;
};

/** What the world works with. */
export const deployment: Deployment = {
  makeBase,
  basePolicy,
  openFront,
  openKeyObject,
  openLedgerObject,
  openQuotaObject,
  openCron,
  signEvidence,
};
