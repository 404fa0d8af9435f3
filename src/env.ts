/** What wrangler binds. Settings and secrets are read from the same object by `config/`, as unknown until checked. */
import type { KeyObject, QuotaObject } from "./worker.ts";

export type Env = {
  KEYS: DurableObjectNamespace<KeyObject>;
  QUOTAS: DurableObjectNamespace<QuotaObject>;
  DB: D1Database;
  ORIGIN?: Fetcher;
};
