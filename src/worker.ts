/** What wrangler deploys. Wires ports and decides nothing. */
import { problem } from "./core/problem.ts";
import type { Env } from "./env.ts";
import { replyProblem } from "./gateway/reply.ts";
import { KeyObjectShell, type KeyParts } from "./key/key-object.ts";
import { openKeyPort } from "./key/remote.ts";
import { isDatabaseUp } from "./ledger/d1.ts";
import { answerLedger, type LedgerDesk } from "./ledger/read/endpoints.ts";
import { LedgerObjectShell } from "./ledger/shard/ledger-object.ts";
import type { LedgerParts } from "./ledger/shard/parts.ts";
import { answerOperator, refuseStranger } from "./operator/endpoints.ts";
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
  const keepAlive = (work: Promise<unknown>): void => ctx.waitUntil(work);
  const keys = openKeyPort(env.KEYS, wiring.origin, report, keepAlive);
  return wiring.serve(request, {
    gateway: wiring.gateway,
    keys,
    keepAlive,
    isDatabaseUp: () => isDatabaseUp(env.DB),
    operator: (asked) => answerOperator(asked, deskOf(wiring)),
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

function deskOf(wiring: Sound): Parameters<typeof answerOperator>[1] {
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
} satisfies ExportedHandler<Env>;
