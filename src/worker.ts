/** What wrangler deploys. Wires ports and decides nothing. */
import { OPERATOR_RUN_MS_MAX, RUN_MS_MAX } from "./core/limits.ts";
import type { KeyPort } from "./core/ports.ts";
import { problem } from "./core/problem.ts";
import type { Env } from "./env.ts";
import { writeOperationId } from "./gateway/operation-id.ts";
import { replyProblem } from "./gateway/reply.ts";
import { KeyObjectShell, type KeyParts } from "./key/key-object.ts";
import { openKeyPort } from "./key/remote.ts";
import { isDatabaseUp } from "./ledger/d1.ts";
import { readOverview, scanStale } from "./ledger/d1-findings.ts";
import { openLeases } from "./ledger/d1-lease.ts";
import { answerLedger, type LedgerDesk } from "./ledger/read/endpoints.ts";
import { LedgerObjectShell } from "./ledger/shard/ledger-object.ts";
import type { LedgerParts } from "./ledger/shard/parts.ts";
import { answerOperator, type OperatorDesk, refuseStranger } from "./operator/endpoints.ts";
import type { ReconciliationAccess } from "./operator/reconciliation.ts";
import { reconcileStale, STALE_EFFECTS, type StaleParts } from "./reconcile/stale-effects.ts";
import { nameOf, report } from "./report.ts";
import { type Sound, type Wiring, wire, wired } from "./wiring.ts";

export { QuotaObject } from "./quota/quota-object.ts";

/** Where problem pages would be, were there a sound configuration to say so. */
const DEFAULT_PREFIX = "/_oncegate";

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
  if (wiring.kind === "misconfigured") return replyProblem(problem("misconfigured"), DEFAULT_PREFIX, null);
  const keys = openKeyPort(env.KEYS, wiring.origin, report, (work) => ctx.waitUntil(work));
  return wiring.serve(request, {
    gateway: wiring.gateway,
    keys,
    isDatabaseUp: () => isDatabaseUp(env.DB),
    operator: (asked) => answerOperator(asked, operatorDeskOf(wiring, keys, ctx)),
    ledger: (asked) => answerLedger(asked, ledgerDeskOf(wiring, env)),
  });
}

function ledgerDeskOf(wiring: Sound, env: Env): LedgerDesk {
  const { gateway, config, ledgerParts } = wiring;
  const desk = deskOf(wiring);
  return {
    prefix: gateway.prefix,
    name: config.ledger.name,
    shards: config.ledger.shards,
    sinks: config.ledger.sinks,
    objects: env.LEDGERS,
    database: ledgerParts.database,
    refuseStranger: (request) => refuseStranger(request, desk, "read"),
    refuse: desk.refuse,
  };
}

function operatorDeskOf(wiring: Sound, keys: KeyPort, ctx: ExecutionContext): OperatorDesk {
  const desk = deskOf(wiring);
  const { database } = wiring.ledgerParts;
  const access = database === null ? null : accessOf(database, keys, ctx);
  const { keyParts, config } = wiring;
  const operationId = (name: string): Promise<string> => writeOperationId(name, keyParts.keyring);
  const { sinks } = config.ledger;
  return { ...desk, reconciliation: { sinks, access, operationId, refuse: desk.refuse } };
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
    scan: (after, staleBefore, limit) => scanStale(database, STALE_EFFECTS, after, staleBefore, limit),
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

function deskOf(wiring: Sound): Omit<OperatorDesk, "reconciliation"> {
  const { gateway, config, isolate } = wiring;
  return {
    operators: config.secrets.operators,
    prefix: gateway.prefix,
    readMetrics: () => ({ isolate, answers: gateway.counters.read(), cacheBytes: gateway.cache.bytes }),
    refuse: (refusal) => replyProblem(refusal, gateway.prefix, null),
  };
}

export default {
  fetch: serve,
  scheduled: reconcileByCron,
} satisfies ExportedHandler<Env>;
