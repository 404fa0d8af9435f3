/** The ledger as the key objects see it: an outbox's stream in, how far it is held out. */
import { callObject } from "../call-object.ts";
import { encodeUtf8, sha256Hex } from "../core/bytes.ts";
import { entryText } from "../core/entry.ts";
import type { Acknowledged, Keyring, LedgerPort } from "../core/ports.ts";
import type { Stream } from "../core/record.ts";
import { nameOf } from "../report.ts";
import { APPEND_TIMEOUT_MS, PLACE_TRIES_MAX } from "./bounds.ts";
import { type Epochs, FIRST_SHARD, placeOf, type ShardPlace } from "./epochs.ts";
import type { Appended, LedgerObjectShell } from "./shard/ledger-object.ts";
import type { LedgerParts } from "./shard/parts.ts";
import type { Delivery } from "./shard/sequencer.ts";
import { withinTime } from "./time.ts";

export type LedgerObjects = DurableObjectNamespace<LedgerObjectShell<unknown>>;

export type LedgerAccess = {
  objects: LedgerObjects;
  shards: number;
  keyring: Pick<Keyring, "stream">;
  report: (event: string, members: Record<string, string | number>) => void;
};

export function openLedger(access: LedgerAccess): LedgerPort {
  const map = new EpochMap(access);
  return {
    isKept: true,
    async append(name, stream) {
      try {
        const id = await access.keyring.stream(name, stream.inc);
        return await deliver(access, map, await writeDelivery(name, id, stream));
      } catch (error) {
        access.report("ledger-append-failed", { error: nameOf(error) });
        return { kind: "failed" };
      }
    },
  };
}

/** What a shard reaches others through. */
export function reachShards(objects: LedgerObjects): Pick<LedgerParts, "first" | "other"> {
  const at = ({ shard }: ShardPlace): DurableObjectStub<LedgerObjectShell<unknown>> =>
    objects.getByName(shard);
  const first = (): DurableObjectStub<LedgerObjectShell<unknown>> => objects.getByName(FIRST_SHARD);
  return {
    first: () => ({
      epochs: async () => first().epochs(),
      agree: async (shards) => first().agree(FIRST_SHARD, shards),
      ownKey: async () => first().ownKey(),
    }),
    other: {
      open: async (place) => at(place).open(place),
      close: async (place) => at(place).close(place),
      headsOf: async (place, streams) => at(place).headsOf(place, streams),
      isEndShown: async (place) => at(place).isEndShown(),
    },
  };
}

/** The epochs, as far as this isolate has been told. The first shard knows better, and is asked again where a shard has ended. */
class EpochMap {
  readonly #access: LedgerAccess;
  #epochs: Epochs | null = null;

  constructor(access: LedgerAccess) {
    this.#access = access;
  }

  async read(): Promise<Epochs> {
    if (this.#epochs !== null) return this.#epochs;
    const { objects, shards, report } = this.#access;
    const call = objects.getByName(FIRST_SHARD).agree(FIRST_SHARD, shards);
    const epochs = await withinTime(Promise.resolve(call), APPEND_TIMEOUT_MS);
    const newest = epochs.at(-1) ?? shards;
    // Settings that are older than the ledger, or a number that was made smaller: entries go where they belong all the same.
    if (newest !== shards) report("ledger-shards-changed", { from: newest, to: shards });
    this.#epochs = epochs;
    return epochs;
  }

  forget(): void {
    this.#epochs = null;
  }
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

function endOf({ first, prev, lines }: Delivery): { seq: number; head: string } {
  return { seq: first + lines.length - 1, head: lines.at(-1)?.hash ?? prev };
}

async function deliver(access: LedgerAccess, map: EpochMap, delivery: Delivery): Promise<Acknowledged> {
  for (let tries = 1; ; tries++) {
    const place = placeOf(delivery.stream, await map.read());
    const { shard } = place;
    const appended = await callShard(access, place, delivery);
    switch (appended.kind) {
      case "held":
        return { kind: "held", seq: appended.seq, head: appended.hash };
      case "gap":
        // The log has less than it had acknowledged: what is missing was let go of, so nobody can send it again. (Of a stream that has ended
        // it has nothing any more once its bodies are pruned.)
        access.report("ledger-gap", { shard, stream: delivery.stream, held: appended.seq });
        return { kind: "gap", ...endOf(delivery) };
      case "closed":
      case "misplaced":
        map.forget();
        if (tries < PLACE_TRIES_MAX) continue;
        break;
      case "ahead":
        // The log has these and more: the last entry of a record that was not wiped after it had been told. What is told next,
        // that entry again, is compared with what is there.
        return { kind: "held", ...endOf(delivery) };
      case "frozen":
      case "failed":
        break;
    }
    access.report("ledger-refused", { shard, stream: delivery.stream, why: appended.kind });
    return { kind: "failed" };
  }
}

/** What a lost line had brought is known there. Rejects where the shard does not answer. */
async function callShard(
  { objects }: LedgerAccess,
  place: ShardPlace,
  delivery: Delivery,
): Promise<Appended> {
  const called = await callObject(async () =>
    withinTime(Promise.resolve(objects.getByName(place.shard).append(place, delivery)), APPEND_TIMEOUT_MS),
  );
  if (called.kind === "failed") throw called.error;
  return called.result;
}
