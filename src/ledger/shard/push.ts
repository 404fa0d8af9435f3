/**
 * Sinks beside D1. Each has a cursor of its own, and at least once gets every line in order. A receiver tells a repeated delivery by its
 * sequence, and a lost one by the digest of the one before.
 */
import { encodeUtf8, sha256Hex, toHex } from "../../core/bytes.ts";
import { pausedUntil } from "../../core/pause.ts";
import { BUNDLE_LINES, SINK_RETRY_MS, SINK_RETRY_MS_MAX, WEBHOOK_TIMEOUT_MS } from "../bounds.ts";
import { readEvents } from "./events.ts";
import type { Push, ShardStore } from "./store.ts";

/** Gives the first line that the sink did not get because it was none for a while; null: it got all. */
export function printLines(store: ShardStore, print: (line: string) => void): number | null {
  const { size } = store.readLog();
  const told = store.read("stdout") ?? 0;
  if (told >= size) return null;
  const cursor = oldestFrom(store, told);
  for (const line of store.readStaged(cursor, size).lines) print(line);
  // Stopping before this prints the lines again.
  store.write("stdout", size);
  return cursor > told ? told : null;
}

export type Receiver = {
  shard: string;
  url: string;
  key: Uint8Array;
  send: (url: string, init: RequestInit) => Promise<Response>;
};

const START: Push = {
  cursor: 0,
  to: 0,
  sequence: 0,
  previous: "0".repeat(64),
  tries: 0,
  notBefore: 0,
};

/** One delivery, if one is due. `left`: there is more to deliver at once. Never rejects. */
export async function pushLines(
  store: ShardStore,
  receiver: Receiver,
  now: number,
): Promise<{ kind: "idle" | "taken" | "refused"; skipped: number | null }> {
  const { size } = store.readLog();
  const state = store.read("webhook") ?? START;
  if (state.cursor >= size || pushDue(state, now) > now) return { kind: "idle", skipped: null };
  const cursor = oldestFrom(store, state.cursor);
  const isFixed = state.to > cursor;
  const most = isFixed ? state.to : Math.min(cursor + BUNDLE_LINES, size);
  const { lines, events } = readEvents(store.readStaged(cursor, most).lines, isFixed);
  const to = cursor + lines.length;
  const body = lines.map((line) => `${line}\n`).join("");
  const begun = { ...state, to, tries: state.tries + 1, notBefore: now + pauseAfter(state.tries) };
  // Fixed before it is sent: where the receiver's word is lost, the same bytes go again under the same sequence.
  store.write("webhook", begun);
  if (!(await deliver(receiver, begun, { events, body }))) return { kind: "refused", skipped: null };
  store.write("webhook", {
    cursor: to,
    to,
    sequence: state.sequence + 1,
    previous: await sha256Hex(encodeUtf8(body)),
    tries: 0,
    notBefore: 0,
  });
  return { kind: "taken", skipped: cursor > state.cursor ? state.cursor : null };
}

/** Lines before this one are gone: the sink was none when they came. */
function oldestFrom(store: ShardStore, cursor: number): number {
  return Math.max(cursor, store.firstStaged() ?? 0);
}

/** When the next delivery may be made. */
export function pushDue({ notBefore, tries }: Push, now: number): number {
  return pausedUntil(notBefore, now, pauseAfter(tries - 1));
}

/** Doubles with every try. */
export function pauseAfter(tries: number): number {
  return Math.min(SINK_RETRY_MS * 2 ** Math.min(tries, 20), SINK_RETRY_MS_MAX);
}

type Message = { events: string; body: string };

async function deliver(
  { shard, url, key, send }: Receiver,
  push: Push,
  { events, body }: Message,
): Promise<boolean> {
  const sequence = String(push.sequence);
  const signed = ["oncegate-webhook-v1", shard, sequence, push.previous, events, body].join("\n");
  const mac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", mac, encodeUtf8(signed)));
  try {
    const response = await send(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/x-ndjson",
        "Ledger-Shard": shard,
        "Ledger-Sequence": sequence,
        "Ledger-Previous": push.previous,
        ...(events === "" ? {} : { "Ledger-Events": events }),
        "Ledger-Signature": `v1=${toHex(signature)}`,
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
