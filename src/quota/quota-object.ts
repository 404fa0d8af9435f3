/**
 * Counts the new keys of one principal on one route: a fixed window of a minute, exact, in one place. It only ever refuses new
 * keys; nothing that has been promised is evicted. Storage is wiped by the alarm once the principal has been quiet.
 */
import { DurableObject } from "cloudflare:workers";
import { QUOTA_WINDOW_MS } from "../core/limits.ts";
import type { QuotaPort } from "../core/ports.ts";

type Count = { windowStart: number; taken: number };

export class QuotaObject extends DurableObject {
  take(newKeysPerMinute: number): boolean {
    return this.ctx.storage.transactionSync(() => {
      const now = Date.now();
      const windowStart = now - (now % QUOTA_WINDOW_MS);
      const stored = this.ctx.storage.kv.get<Count>("count");
      const taken = stored?.windowStart === windowStart ? stored.taken : 0;
      if (taken >= newKeysPerMinute) return false;
      this.ctx.storage.kv.put<Count>("count", { windowStart, taken: taken + 1 });
      if (taken === 0) this.ctx.waitUntil(this.ctx.storage.setAlarm(windowStart + 2 * QUOTA_WINDOW_MS));
      return true;
    });
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}

/** An owner's digest, which covers its route, names its counting object. */
export function openQuota(objects: DurableObjectNamespace<QuotaObject>): QuotaPort {
  return {
    async take(owner, newKeysPerMinute) {
      try {
        return (await objects.getByName(owner).take(newKeysPerMinute)) ? "granted" : "refused";
      } catch {
        return "unavailable";
      }
    },
  };
}
