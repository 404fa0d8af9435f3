/**
 * Counts the new keys of one principal on one route: a fixed window of a minute, exact, in one place. It only ever refuses new
 * keys; nothing that has been promised is evicted. Storage is wiped by the alarm once the principal has been quiet.
 */
import { DurableObject } from "cloudflare:workers";
import { writeMessage } from "../core/bytes.ts";
import type { QuotaPort } from "../core/ports.ts";

const WINDOW_MS = 60_000;

type Count = { windowStart: number; taken: number };

export class QuotaObject extends DurableObject {
  take(newKeysPerMinute: number): boolean {
    return this.ctx.storage.transactionSync(() => {
      const now = Date.now();
      const windowStart = now - (now % WINDOW_MS);
      const stored = this.ctx.storage.kv.get<Count>("count");
      const taken = stored?.windowStart === windowStart ? stored.taken : 0;
      if (taken >= newKeysPerMinute) return false;
      this.ctx.storage.kv.put<Count>("count", { windowStart, taken: taken + 1 });
      if (taken === 0) this.ctx.waitUntil(this.ctx.storage.setAlarm(windowStart + 2 * WINDOW_MS));
      return true;
    });
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}

/** `name` turns a principal into the name of its counting object. */
export function openQuota(
  objects: DurableObjectNamespace<QuotaObject>,
  name: (message: Uint8Array) => Promise<string>,
): QuotaPort {
  return {
    async take(principal, route, newKeysPerMinute) {
      try {
        const object = await name(writeMessage(["quota", route, ...principal]));
        return (await objects.getByName(object).take(newKeysPerMinute)) ? "granted" : "refused";
      } catch {
        return "unavailable";
      }
    },
  };
}
