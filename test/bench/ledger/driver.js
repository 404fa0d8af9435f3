/**
 * The gateway's own shard object, and callers that keep it busy: each sends the two entries of one new key's life and waits until they are
 * taken. `POST /append` with { callers, seconds } answers { entries, seconds }. `GET /rows` tells what D1 was given by then.
 */
import { LedgerObject as Shard } from "./worker.js";

export { KeyObject, QuotaObject } from "./worker.js";

const PLACE = { shard: "1:0", shards: 1 };
const START = "0".repeat(64);
const encoder = new TextEncoder();

/** What D1 says that it has written. Shard and callers share an isolate. */
let rows = 0;
let counted = null;

export class LedgerObject extends Shard {
  constructor(ctx, env) {
    counted ??= { ...env, DB: countRows(env.DB) };
    super(ctx, counted);
  }
}

export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/rows") return Response.json(await readRows(env));
    const { callers, seconds } = await request.json();
    const shard = env.LEDGERS.getByName(PLACE.shard);
    await shard.agree(PLACE.shard, PLACE.shards);
    const started = Date.now();
    const until = started + seconds * 1_000;
    const taken = await Promise.all(Array.from({ length: callers }, () => keepSending(shard, until)));
    const entries = taken.reduce((sum, each) => sum + each, 0);
    return Response.json({ entries, seconds: (Date.now() - started) / 1_000 });
  },
};

async function readRows(env) {
  const sql =
    "SELECT (SELECT max(size) FROM checkpoints) AS published, (SELECT count(*) FROM effects) AS effects";
  const { published, effects } = await env.DB.prepare(sql).first();
  return { rows, effects, published: published ?? 0 };
}

async function keepSending(shard, until) {
  let entries = 0;
  while (Date.now() < until) {
    const delivery = await writeLife();
    const appended = await shard.append(PLACE, delivery);
    if (appended.kind !== "held") throw new Error(`not taken: ${appended.kind}`);
    entries += delivery.lines.length;
  }
  return entries;
}

async function writeLife() {
  const [stream, effect_id, fp, answer_digest] = [32, 16, 32, 32].map(randomHex);
  const life = { effect_id, attempt: 1, capability: "origin.request" };
  const granted = await writeLine({
    type: "granted",
    stream,
    seq: 1,
    prev: START,
    ...life,
    phase: "intent",
    fp,
  });
  const settled = await writeLine({
    ...{ type: "settled", stream, seq: 2, prev: granted.hash, ...life, phase: "committed" },
    ...{ status: 2, answer_digest, actor: "executor" },
  });
  return { stream, operation: randomHex(16), first: 1, prev: START, lines: [granted, settled], ends: false };
}

async function writeLine(members) {
  const text = JSON.stringify({ v: 1, at: Date.now(), ...members });
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return { text, hash: toHex(new Uint8Array(digest)) };
}

function randomHex(bytes) {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}

function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function countRows(database) {
  return {
    prepare: (sql) => database.prepare(sql),
    async batch(statements) {
      const results = await database.batch(statements);
      for (const { meta } of results) rows += meta.rows_written;
      return results;
    },
  };
}
