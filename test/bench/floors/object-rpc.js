/**
 * One object per key, asked twice by RPC (`begin`, `settle`); the Worker calls the origin. Two writes and one
 * alarm.
 */
import { DurableObject } from "cloudflare:workers";

const WINDOW_MS = 86_400_000;

export class KeyObject extends DurableObject {
  async begin() {
    this.ctx.storage.kv.put("record", { state: "in-flight", attempt: 1 });
    await this.ctx.storage.setAlarm(Date.now() + WINDOW_MS);
    return { attempt: 1 };
  }

  settle(attempt, answer) {
    this.ctx.storage.kv.put("record", { state: "settled", attempt, ...answer });
    return true;
  }

  alarm() {
    return this.ctx.storage.deleteAll();
  }
}

export default {
  async fetch(request, env) {
    const body = await request.arrayBuffer();
    const object = env.KEYS.getByName(request.headers.get("idempotency-key"));
    const grant = await object.begin();
    const { pathname } = new URL(request.url);
    const answer = await fetch(env.ORIGIN_URL + pathname, { method: "POST", headers: request.headers, body });
    const bytes = await answer.arrayBuffer();
    const headers = [...answer.headers];
    await object.settle(grant.attempt, { status: answer.status, headers, bytes });
    return new Response(bytes, { status: answer.status, headers });
  },
};
