/** The ledger as the key objects see it: an outbox's stream in, how far it is held out. */
import { encodeUtf8, sha256Hex } from "../core/bytes.ts";
import { entryText } from "../core/entry.ts";
import { STORE_PAUSE_MS, STORE_TRIES_MAX } from "../core/limits.ts";
import type { Acknowledged, Keyring, LedgerPort } from "../core/ports.ts";
import type { Stream } from "../core/record.ts";
import { APPEND_TIMEOUT_MS, EPOCH } from "./bounds.ts";
import type { Appended, LedgerObjectShell } from "./shard/ledger-object.ts";
import type { Delivery } from "./shard/sequencer.ts";
import { withinTime } from "./time.ts";

export type LedgerObjects = DurableObjectNamespace<LedgerObjectShell<unknown>>;

export type LedgerAccess = {
  objects: LedgerObjects;
  shards: number;
  keyring: Pick<Keyring, "stream">;
  report: (event: string, members: Record<string, string | number>) => void;
};

export function shardName(number: number): string {
  return `${EPOCH}:${number}`;
}

/** Names of all shards, in order. */
export function listShards(shards: number): string[] {
  return Array.from({ length: shards }, (_, number) => shardName(number));
}

/** The shard of a stream: its first four bytes as a number, big-endian, modulo the number of shards. */
export function shardOf(stream: string, shards: number): string {
  return shardName(Number.parseInt(stream.slice(0, 8), 16) % shards);
}

export function openLedger(access: LedgerAccess): LedgerPort {
  return {
    isKept: true,
    async append(name, stream) {
      try {
        const id = await access.keyring.stream(name, stream.inc);
        return await deliver(access, await writeDelivery(name, id, stream));
      } catch (error) {
        access.report("ledger-append-failed", { error: error instanceof Error ? error.name : "unknown" });
        return { kind: "failed" };
      }
    },
  };
}

/** The texts of a stream's entries, each with the hash of the one before. */
async function writeDelivery(
  operation: string,
  stream: string,
  { acked, head, entries }: Stream,
): Promise<Delivery> {
  const lines: Delivery["lines"][number][] = [];
  let prev = head;
  for (const [i, entry] of entries.entries()) {
    const text = entryText(entry, { stream, seq: acked + i + 1, prev });
    prev = await sha256Hex(encodeUtf8(text));
    lines.push({ text, hash: prev });
  }
  const ends = entries.at(-1)?.type === "purged";
  return { stream, operation, first: acked + 1, prev: head, lines, ends };
}

async function deliver(access: LedgerAccess, delivery: Delivery): Promise<Acknowledged> {
  const shard = shardOf(delivery.stream, access.shards);
  const appended = await callShard(access, shard, delivery);
  switch (appended.kind) {
    case "held":
      return { kind: "held", seq: appended.seq, head: appended.hash };
    case "gap":
      // The log has less than it had acknowledged: what is missing was let go of, so nobody can send it again.
      access.report("ledger-gap", { shard, stream: delivery.stream, held: appended.seq });
      return { kind: "failed" };
    case "ahead": {
      // The log has these and more: the last entry of a record that was not wiped after it had been told. What is told next,
      // that entry again, is compared with what is there.
      const last = delivery.lines.at(-1);
      const seq = delivery.first + delivery.lines.length - 1;
      return last === undefined ? { kind: "failed" } : { kind: "held", seq, head: last.hash };
    }
    case "frozen":
    case "misplaced":
    case "failed":
      access.report("ledger-refused", { shard, stream: delivery.stream, why: appended.kind });
      return { kind: "failed" };
  }
}

/** The same delivery again where the platform says that the line was lost: what has been taken is known there. */
async function callShard(
  { objects, shards }: LedgerAccess,
  shard: string,
  delivery: Delivery,
): Promise<Appended> {
  for (let tries = 1; ; tries++) {
    try {
      const call = objects.getByName(shard).append({ shard, shards }, delivery);
      return await withinTime(Promise.resolve(call), APPEND_TIMEOUT_MS);
    } catch (error) {
      const { retryable, overloaded, durableObjectReset } = error as Record<string, unknown>;
      const mayRepeat = overloaded !== true && (retryable === true || durableObjectReset === true);
      if (!mayRepeat || tries === STORE_TRIES_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, STORE_PAUSE_MS * 2 ** tries));
    }
  }
}
