/**
 * One object per key, reached by `stub.fetch`, which calls the origin itself. Two writes and one alarm: what
 * at most one dispatch per key cannot do without, and nothing else.
 */
import { DurableObject } from "cloudflare:workers";

const WINDOW_MS = 86_400_000;

export class KeyObject extends DurableObject {
  async fetch(request) {
    const body = await request.arrayBuffer();
    this.ctx.storage.kv.put("record", { state: "in-flight", attempt: 1 });
    const alarm = this.ctx.storage.setAlarm(Date.now() + WINDOW_MS);
    const { pathname } = new URL(request.url);
    const answer = await fetch(this.env.ORIGIN_URL + pathname, {
      method: "POST",
      headers: request.headers,
      body,
    });
    const bytes = await answer.arrayBuffer();
    const headers = [...answer.headers];
    await alarm;
    this.ctx.storage.kv.put("record", {
      state: "settled",
      attempt: 1,
      status: answer.status,
      headers,
      bytes,
    });
    return new Response(bytes, { status: answer.status, headers });
  }

  alarm() {
    return this.ctx.storage.deleteAll();
  }
}

export default {
  fetch(request, env) {
    return env.KEYS.getByName(request.headers.get("idempotency-key")).fetch(request);
  },
};
