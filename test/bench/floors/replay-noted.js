/**
 * As `replay-memory`, and each replay is noted in the key's object after its answer: one call for all that came while the call before was under
 * way, and one write a call. No ledger.
 */
import { DurableObject } from "cloudflare:workers";

const BODY = new TextEncoder().encode(JSON.stringify({ id: "pay_0000000000000000", pad: "x".repeat(73) }));
const answers = new Map();
const waiting = new Map();

export class KeyObject extends DurableObject {
  note(count) {
    this.ctx.storage.kv.put("record", { count: (this.ctx.storage.kv.get("record")?.count ?? 0) + count });
  }
}

async function tell(objects, key) {
  await scheduler.wait(0);
  for (let count = waiting.get(key); count > 0; count = waiting.get(key)) {
    waiting.set(key, 0);
    await objects.getByName(key).note(count);
  }
  waiting.delete(key);
}

export default {
  async fetch(request, env, ctx) {
    const body = await request.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
    const key = request.headers.get("idempotency-key");
    const known = answers.get(key);
    if (known === undefined) {
      answers.set(key, { digest, status: 200, headers: [["content-type", "application/json"]], body: BODY });
    } else if (known.digest[0] !== digest[0]) {
      return new Response(null, { status: 422 });
    } else {
      const isUnderWay = waiting.has(key);
      waiting.set(key, (waiting.get(key) ?? 0) + 1);
      if (!isUnderWay) ctx.waitUntil(tell(env.KEYS, key));
    }
    const answer = answers.get(key);
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  },
};
