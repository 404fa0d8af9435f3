/** What a run can have done at once: alarms come, objects break, the cron's handler runs. */
import type { Env } from "../../../src/env.ts";
import product from "../../../src/worker.ts";
import { enrolled, readMember } from "./wrap.ts";

type Ordered = { ring(): Promise<void>; break(): Promise<void> };

const DONE = 204;
const NOT_THERE = 404;

/** `what` is the path below this Worker's own prefix, in segments. */
export async function obey(
  [what = "", name = ""]: readonly string[],
  env: Env,
  ctx: ExecutionContext,
): Promise<Response> {
  switch (what) {
    case "ring-shards":
      return forShards(env, (shard) => shard.ring());
    case "ring-key":
      await keyObject(env, name).ring();
      return reply(DONE);
    case "break-shards":
      return forShards(env, breakNow);
    case "break-key": {
      const [object] = [...enrolled].filter(([, { key }]) => key === name).map(([object]) => object);
      if (object === undefined) return reply(NOT_THERE);
      await breakNow(keyObject(env, object));
      return reply(DONE);
    }
    case "reconcile":
      await product.scheduled({ scheduledTime: Date.now(), cron: "", noRetry: () => {} }, hurry(env), ctx);
      return reply(DONE);
    default:
      return reply(NOT_THERE);
  }
}

function reply(status: number): Response {
  return new Response(null, { status });
}

function keyObject(env: Env, name: string): Ordered {
  return env.KEYS.getByName(name) as unknown as Ordered;
}

async function forShards(env: Env, act: (shard: Ordered) => Promise<void>): Promise<Response> {
  const names = Array.from({ length: Number(Reflect.get(env, "LEDGER_SHARDS")) }, (_, n) => `1:${n}`);
  await Promise.all(names.map((name) => act(env.LEDGERS.getByName(name) as unknown as Ordered)));
  return reply(DONE);
}

/** The call itself is broken off with the object. */
async function breakNow(object: Ordered): Promise<void> {
  await object.break().catch(() => {});
}

/** A run of kills is over before anything is as old as a reconciliation wants it. */
const EARLIER_MS = 88_000;

/** Bindings under which what has not changed for two seconds is stale; the same ones for the same bindings. */
const hurried = new WeakMap<Env, Env>();

function hurry(env: Env): Env {
  const known = hurried.get(env);
  if (known !== undefined) return known;
  const made = { ...env, DB: hurryDatabase(env.DB) };
  hurried.set(env, made);
  return made;
}

function hurryDatabase(database: D1Database): D1Database {
  return replaceMember(database, "withSession", (constraint?: string) => {
    const session = database.withSession(constraint);
    return replaceMember(session, "prepare", (sql: string) => {
      const statement = session.prepare(sql);
      if (!sql.includes("changed_at < ?2")) return statement;
      return replaceMember(statement, "bind", (name: unknown, staleBefore: number, ...rest: unknown[]) =>
        statement.bind(name, staleBefore + EARLIER_MS, ...rest),
      );
    });
  });
}

function replaceMember<Target extends object>(target: Target, name: string, member: unknown): Target {
  return new Proxy(target, {
    get: (object, asked) => (asked === name ? member : readMember(object, asked)),
  });
}
