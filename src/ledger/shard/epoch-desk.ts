/**
 * Opens and closes shards. Only the first shard decides which epochs there are; every other one asks it once. From a decision to the last closed
 * shard, each step is one transaction of one shard and may be made again:
 *
 *   the first shard stores the new epoch        stopped before: nothing. Behind: the old shards take entries until they are closed
 *   a new shard has its old one closed          stopped before: the same. Behind: the old one takes no more, senders turn to the new one
 *   the new shard stores that it is open        stopped before: it asks again, and is told the same root
 *   the first shard counts it as opened         stopped before: it is told that it is open already
 *
 * A new shard does all this by itself before it takes its first entry. The first shard's alarm goes through those that nobody has sent to.
 */
import { APPEND_TIMEOUT_MS, OPENED_AT_ONCE, OPENED_PER_ROUND } from "../bounds.ts";
import { type Epochs, findShard, growEpochs, listPlaces, type ShardPlace, type Standing } from "../epochs.ts";
import { withinTime } from "../time.ts";
import type { OwnStream } from "./own-stream.ts";
import type { LedgerParts } from "./parts.ts";
import type { Closed, KeptEpochs, ShardStore, StreamRow } from "./store.ts";

/** In the first shard: the epochs there are. */
export function keptEpochs(store: ShardStore): Epochs {
  return readEpochs(store).shards;
}

function readEpochs(store: ShardStore): KeptEpochs {
  const kept = store.read("epochs");
  if (kept !== null) return kept;
  const place = store.read("place");
  // Before there were epochs, the number of shards alone was kept.
  return place === null ? { shards: [], opened: 0 } : { shards: [place.shards], opened: place.shards };
}

/** In the first shard. See `FirstShard`. */
export function agreeOn(store: ShardStore, shard: string, shards: number): Epochs {
  const known = readEpochs(store).shards;
  const epochs = growEpochs(known, shards);
  if (epochs === known) return known;
  store.write("epochs", { shards: epochs, opened: known.length === 0 ? shards : 0 });
  if (store.read("place") === null) store.write("place", { shard, shards });
  return epochs;
}

/** True while shards of the newest epoch wait to be opened. */
export function isOpening(store: ShardStore): boolean {
  const { shards, opened } = readEpochs(store);
  return opened < (shards.at(-1) ?? 0);
}

/** In the first shard: opens some of the shards that are left. Rejects where one did not answer; those before it are counted. */
export async function openShards(
  store: ShardStore,
  open: (place: ShardPlace) => Promise<void>,
): Promise<void> {
  for (let done = 0; done < OPENED_PER_ROUND && isOpening(store); done += OPENED_AT_ONCE) {
    const { shards, opened } = readEpochs(store);
    const places = listPlaces(shards).slice(opened, opened + OPENED_AT_ONCE);
    await Promise.all(places.map(open));
    // Another epoch may have been opened meanwhile: then all of its shards are left.
    if (readEpochs(store).shards.length > shards.length) continue;
    store.write("epochs", { shards, opened: opened + places.length });
  }
}

export class EpochDesk {
  readonly #store: ShardStore;
  readonly #own: OwnStream;
  readonly #parts: LedgerParts;
  #opening: Promise<void> | null = null;
  /** Which shard this is, once that is stored: it stays so, and every append asks. */
  #place: ShardPlace | null = null;

  constructor(store: ShardStore, own: OwnStream, parts: LedgerParts) {
    this.#store = store;
    this.#own = own;
    this.#parts = parts;
  }

  /** False: there is no such shard. Callers that come while it is opened share that. */
  async open(place: ShardPlace): Promise<boolean> {
    this.#place ??= this.#store.read("place");
    if (this.#place === null) {
      this.#opening ??= this.#open(place).finally(() => {
        this.#opening = null;
      });
      await this.#opening;
      this.#place = this.#store.read("place");
    }
    return this.#place?.shards === place.shards;
  }

  async #open(place: ShardPlace): Promise<void> {
    const standing = await this.#find(place);
    if (standing === null) return;
    const { before } = standing;
    if (before === null) {
      this.#store.write("place", place);
      return;
    }
    const digest = await withinTime(this.#parts.other.close(before), APPEND_TIMEOUT_MS);
    const isOpen = (): boolean => this.#store.read("place") !== null;
    const entry = { type: "opened", capability: "ledger.epoch", target: before.shard, digest } as const;
    await this.#own.tell(() => (isOpen() ? null : entry), { kind: "opens", place, before }, Date.now());
  }

  /** Rejects where there is no such shard, or no epoch behind its own. */
  async close(place: ShardPlace): Promise<Closed> {
    const kept = this.#store.read("closed");
    if (kept !== null) return kept;
    const standing = await this.#find(place);
    if (standing === null || standing.after === null) throw new Error("nothing follows this shard");
    if (!(await this.open(place))) throw new Error("this shard is another one");
    const { epoch, after } = standing;
    const target = `${epoch}/${place.shards}-${epoch + 1}/${after}`;
    const entry = { type: "closed", capability: "ledger.epoch", target } as const;
    const isClosed = (): boolean => this.#store.read("closed") !== null;
    await this.#own.tell(() => (isClosed() ? null : entry), { kind: "closes" }, Date.now());
    const closed = this.#store.read("closed");
    if (closed === null) throw new Error("this shard did not close");
    return closed;
  }

  /** Rejects while the shard is open: what it says could change. */
  async headsOf(streams: readonly string[]): Promise<StreamRow[]> {
    if (this.#store.read("closed") === null) throw new Error("this shard is open");
    const known = streams.map((stream) => this.#store.readStream(stream)).filter((row) => row !== null);
    const before = this.#store.read("before");
    const left = streams.filter((stream) => !known.some((row) => row.stream === stream));
    if (before === null || left.length === 0) return known;
    return [...known, ...(await this.#parts.other.headsOf(before, left))];
  }

  async #find(place: ShardPlace): Promise<Standing | null> {
    const first = this.#parts.first();
    const known = await withinTime(first.epochs(), APPEND_TIMEOUT_MS);
    const begin = (): Promise<Epochs> => withinTime(first.agree(place.shards), APPEND_TIMEOUT_MS);
    return findShard(known.length > 0 ? known : await begin(), place);
  }
}
