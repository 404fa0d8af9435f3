/**
 * One RPC to the key's live object, which reads the stored answer and returns it. The first call stores it.
 */
import { DurableObject } from "cloudflare:workers";

const BODY = JSON.stringify({ id: "pay_0000000000000000", pad: "x".repeat(73) });

export class KeyObject extends DurableObject {
  replay() {
    const stored = this.ctx.storage.kv.get("record");
    if (stored !== undefined) return stored;
    const bytes = new TextEncoder().encode(BODY).buffer;
    const record = { status: 200, headers: [["content-type", "application/json"]], bytes };
    this.ctx.storage.kv.put("record", record);
    return record;
  }
}

export default {
  async fetch(request, env) {
    const answer = await env.KEYS.getByName(request.headers.get("idempotency-key")).replay();
    return new Response(answer.bytes, { status: answer.status, headers: answer.headers });
  },
};
