/** What wrangler deploys. Wires ports and decides nothing. */
import { EFFECTS_VERSION } from "./core/effect/judge.ts";
import { ENTRY_VERSION } from "./core/entry.ts";
import { FINGERPRINT_VERSION } from "./core/fingerprint/message.ts";
import { OPERATOR_RUN_MS_MAX, RUN_MS_MAX } from "./core/limits.ts";
import type { KeyPort } from "./core/ports.ts";
import { type Problem, problem } from "./core/problem.ts";
import { RECORD_VERSION } from "./core/record.ts";
import type { Env } from "./env.ts";
import { discard, readRequestBody } from "./gateway/admission/body.ts";
import { explainSample } from "./gateway/explain/explain.ts";
import { nameKey } from "./gateway/explain/name-key.ts";
import { readOperationId, writeOperationId } from "./gateway/operation-id.ts";
import { replyProblem } from "./gateway/reply.ts";
import { KeyObjectShell, type KeyParts } from "./key/key-object.ts";
import { openKeyPort } from "./key/remote.ts";
import { WIRE_VERSION } from "./key/wire.ts";
import { SCHEMA_VERSION } from "./ledger/bounds.ts";
import { isDatabaseUp, readSchema } from "./ledger/d1.ts";
import { readOverview, scanStale } from "./ledger/d1-findings.ts";
import { openLeases } from "./ledger/d1-lease.ts";
import { listEffects } from "./ledger/read/effects.ts";
import { answerLedger, type LedgerDesk } from "./ledger/read/endpoints.ts";
import { listOpenKeys } from "./ledger/read/open-keys.ts";
import { LedgerObjectShell } from "./ledger/shard/ledger-object.ts";
import type { LedgerParts } from "./ledger/shard/parts.ts";
import { LOG_VERSION } from "./ledger/shard/store.ts";
import type { OperatorDesk } from "./operator/desk.ts";
import { answerOperator, refuseStranger } from "./operator/endpoints.ts";
import type { ReconciliationAccess, ReconciliationDesk } from "./operator/reconciliation.ts";
import type { Versions } from "./operator/versions.ts";
import { reconcileStale, STALE_EFFECTS, type StaleParts } from "./reconcile/stale-effects.ts";
import { nameOf, report } from "./report.ts";
import { type Sound, type Wiring, wire, wired } from "./wiring.ts";

export { QuotaObject } from "./quota/quota-object.ts";

/** Where problem pages would be, were there a sound configuration to say so. */
const DEFAULT_PREFIX = "/_oncegate";

const VERSIONS: Versions = {
  record: RECORD_VERSION,
  reported_effects: EFFECTS_VERSION,
  fingerprint: FINGERPRINT_VERSION,
  entry: ENTRY_VERSION,
  log: LOG_VERSION,
  call: WIRE_VERSION,
};

export class KeyObject extends KeyObjectShell<Env> {
  protected override async parts(): Promise<KeyParts> {
    return (await soundWiring(this.env)).keyParts;
  }
}

export class LedgerObject extends LedgerObjectShell<Env> {
  protected override async parts(): Promise<LedgerParts> {
    return (await soundWiring(this.env)).ledgerParts;
  }
}

/** Rejects while the deployment is misconfigured: an object then does nothing. */
async function soundWiring(env: Env): Promise<Sound> {
  const wiring = wired(env) ?? (await wire(env));
  if (wiring.kind === "misconfigured") throw new Error("misconfigured");
  return wiring;
}

async function serve(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  let wiring: Wiring;
  try {
    wiring = wired(env) ?? (await wire(env));
  } catch (error) {
    report("defect", { where: "wiring", error: nameOf(error) });
    return replyProblem(problem("internal"), DEFAULT_PREFIX, null);
  }
  if (wiring.kind === "misconfigured") {
    await discard(request.body);
    return replyProblem(problem("misconfigured"), DEFAULT_PREFIX, null);
  }
  const keepAlive = (work: Promise<unknown>): void => ctx.waitUntil(work);
  const keys = openKeyPort(env.KEYS, wiring.origin, report, keepAlive);
  return wiring.serve(request, {
    gateway: wiring.gateway,
    keys,
    keepAlive,
    isDatabaseUp: () => isDatabaseUp(env.DB, wiring.ledgerParts.database !== null),
    operator: (asked) => answerOperator(asked, deskOf(wiring, keys, env, ctx)),
    ledger: (asked) => answerLedger(asked, ledgerDeskOf(wiring, env)),
  });
}

function ledgerDeskOf(wiring: Sound, env: Env): LedgerDesk {
  const { gateway, config, ledgerParts } = wiring;
  const { operators } = config.secrets;
  const refuse = (refusal: Problem): Response => replyProblem(refusal, gateway.prefix, null);
  return {
    prefix: gateway.prefix,
    name: config.ledger.name,
    shards: config.ledger.shards,
    sinks: config.ledger.sinks,
    objects: env.LEDGERS,
    database: ledgerParts.database,
    refuseStranger: (request) => refuseStranger(request, { operators, refuse }, "read"),
    refuse,
  };
}

function reconciliationDeskOf(wiring: Sound, keys: KeyPort, ctx: ExecutionContext): ReconciliationDesk {
  const { gateway, config, ledgerParts } = wiring;
  const { database } = ledgerParts;
  return {
    sinks: config.ledger.sinks,
    access: database === null ? null : accessOf(database, keys, ctx),
    operationId: (name) => writeOperationId(name, gateway.keyring),
    refuse: (refusal) => replyProblem(refusal, gateway.prefix, null),
  };
}

function accessOf(database: D1Database, keys: KeyPort, ctx: ExecutionContext): ReconciliationAccess {
  return {
    read: () => readOverview(database, STALE_EFFECTS, Date.now()),
    run: (startedBy) => {
      const abort = AbortSignal.timeout(OPERATOR_RUN_MS_MAX);
      const run = reconcileStale(stalePartsOf(database, keys), startedBy, abort);
      // An operator who leaves ends nothing: the lease is given back.
      ctx.waitUntil(run);
      return run;
    },
  };
}

function stalePartsOf(database: D1Database, keys: KeyPort): StaleParts {
  return {
    leases: openLeases(database),
    scan: (after, stale, limit) => scanStale(database, STALE_EFFECTS, after, stale, limit),
    keys,
    report,
  };
}

/** The cron. Where D1 is no sink nobody knows which effects are open, and there is nothing to do. */
async function reconcileByCron(_event: ScheduledController, env: Env, ctx: ExecutionContext): Promise<void> {
  const wiring = await soundWiring(env);
  const { database } = wiring.ledgerParts;
  if (database === null) return;
  const keys = openKeyPort(env.KEYS, wiring.origin, report, (work) => ctx.waitUntil(work));
  await reconcileStale(stalePartsOf(database, keys), "cron", AbortSignal.timeout(RUN_MS_MAX));
}

function deskOf(wiring: Sound, keys: KeyPort, env: Env, ctx: ExecutionContext): OperatorDesk {
  const { gateway, config, isolate, ledgerParts } = wiring;
  const { keyring, prefix } = gateway;
  const { database } = ledgerParts;
  return {
    operators: config.secrets.operators,
    operatorsRequired: config.operatorsRequired,
    prefix,
    readMetrics: () => ({ isolate, answers: gateway.counters.read(), cacheBytes: gateway.cache.bytes }),
    versions: { versions: VERSIONS, schemaNeeded: SCHEMA_VERSION, readSchema: () => readSchema(env.DB) },
    refuse: (refusal) => replyProblem(refusal, prefix, null),
    reconciliation: reconciliationDeskOf(wiring, keys, ctx),
    keys,
    sinks: config.ledger.sinks,
    listEffects: database === null ? null : (url) => listEffects(database, url),
    listOpenKeys: database === null ? null : (query) => listOpenKeys(database, query),
    writeId: (name) => writeOperationId(name, keyring),
    readId: (id) => readOperationId(id, keyring),
    streamOf: (name, inc) => keyring.stream(name, inc),
    readBody: readRequestBody,
    nameKey: (query) => nameKey(query, gateway),
    explain: (sample) => explainSample(sample, gateway, keys),
  };
}

export default {
  fetch: serve,
  scheduled: reconcileByCron,
} satisfies ExportedHandler<Env>;
