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
      const count = { windowStart, taken: taken + 1 };
      this.ctx.storage.kv.put<Count>("count", count);
      if (taken === 0) this.ctx.waitUntil(this.ctx.storage.setAlarm(endOf(count)));
      return true;
    });
  }

  /** Early or twice it changes nothing: a count that may still be asked for stays until its own time is over. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const count = storage.kv.get<Count>("count");
    const dueAt = count === undefined ? 0 : endOf(count);
    await (dueAt > Date.now() ? storage.setAlarm(dueAt) : storage.deleteAll());
  }
}

/** When nothing asks for a count any more. */
function endOf({ windowStart }: Count): number {
  return windowStart + 2 * QUOTA_WINDOW_MS;
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
