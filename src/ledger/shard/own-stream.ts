/**
 * What a shard tells of itself: one stream that it alone writes. One entry at a time, because each names the one before it and two of one number
 * would be a fork.
 */
import { encodeUtf8, sha256Hex } from "../../core/bytes.ts";
import { ENTRY_VERSION, STREAM_START } from "../../core/entry.ts";
import type { Purpose, Sequencer } from "./sequencer.ts";
import type { ShardStore } from "./store.ts";

/**
 * `prune`: `target` is the first index whose body stays, `digest` the root of the tree before it. `opened`: the first entry of a shard that is
 * not of the first epoch; `target` is the shard whose streams go on here, `digest` the root over all it has. `closed`: no key's entry comes
 * behind it; `target` says `epoch/shards-epoch/shards` of this epoch and the next.
 */
export type OwnEntry =
  | { type: "prune"; capability: "ledger.prune"; target: string; digest: string }
  | { type: "opened"; capability: "ledger.epoch"; target: string; digest: string }
  | { type: "closed"; capability: "ledger.epoch"; target: string };

export class OwnStream {
  readonly #store: ShardStore;
  readonly #shard: string;
  readonly #sequencer: Sequencer;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: ShardStore, shard: string, sequencer: Sequencer) {
    this.#store = store;
    this.#shard = shard;
    this.#sequencer = sequencer;
  }

  /**
   * Appends what `choose` gives when its turn comes, and gives the entry's index. Null: there was nothing to tell any more. Rejects where it was
   * not taken: then nothing was stored.
   */
  tell(choose: () => OwnEntry | null, purpose: Purpose, now: number): Promise<number | null> {
    const told = this.#last.then(() => this.#append(choose(), purpose, now));
    this.#last = told.catch(() => undefined);
    return told;
  }

  async #append(entry: OwnEntry | null, purpose: Purpose, now: number): Promise<number | null> {
    if (entry === null) return null;
    const stream = await ownStream(this.#shard);
    const row = this.#store.readStream(stream);
    const place = { stream, seq: (row?.seq ?? 0) + 1, prev: row?.hash ?? STREAM_START };
    const text = writeText(entry, place, now);
    const hash = await sha256Hex(encodeUtf8(text));
    const delivery = {
      stream,
      operation: null,
      first: place.seq,
      prev: place.prev,
      lines: [{ text, hash }],
      ends: false,
    };
    const held = await this.#sequencer.append(delivery, purpose);
    const written = this.#store.readStream(stream);
    if (held.kind !== "held" || written?.seq !== place.seq)
      throw new Error("the shard's entry was not taken");
    return written.last;
  }
}

/** The members in the order that every entry has. */
function writeText(
  entry: OwnEntry,
  place: { stream: string; seq: number; prev: string },
  at: number,
): string {
  const { type, capability, target } = entry;
  const digest = "digest" in entry ? entry.digest : undefined;
  return JSON.stringify({
    v: ENTRY_VERSION,
    at,
    type,
    ...place,
    capability,
    target,
    digest,
    actor: "ledger",
  });
}

/** Name of a shard's own stream. Its shard alone writes it, so it is no secret. */
function ownStream(shard: string): Promise<string> {
  return sha256Hex(encodeUtf8(`oncegate shard ${shard}`));
}
