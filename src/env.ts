/** What wrangler binds. Settings and secrets are read from the same object by `config/`, as unknown until checked. */
import type { KeyObject, LedgerObject, QuotaObject } from "./worker.ts";

export type Env = {
  KEYS: DurableObjectNamespace<KeyObject>;
  QUOTAS: DurableObjectNamespace<QuotaObject>;
  LEDGERS: DurableObjectNamespace<LedgerObject>;
  DB: D1Database;
  ORIGIN?: Fetcher;
};
