/**
 * The Durable Object of one shard: the only writer of its log. What `append` has answered is durable here; the alarm brings it on. After a
 * stop at any point storage says what is true, and the next append or alarm goes on from there.
 */
import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../../core/bytes.ts";
import { EMPTY_ROOT } from "../../core/log/tree.ts";
import { CHECKPOINT_PAUSE_MS, SINK_RETRY_MS_MAX } from "../bounds.ts";
import { checkpointText, type Signer } from "../note.ts";
import type { LedgerParts } from "./parts.ts";
import { Rounds } from "./rounds.ts";
import { type Delivered, type Delivery, Sequencer } from "./sequencer.ts";
import { SigningDesk } from "./signing.ts";
import { type ShardPlace, ShardStore } from "./store.ts";

/** `misplaced`: the ledger's streams are spread over another number of shards; nothing was taken. */
export type Appended = Delivered | { kind: "misplaced"; shards: number };

export abstract class LedgerObjectShell<Env> extends DurableObject<Env> {
  readonly #store = new ShardStore(this.ctx.storage);
  readonly #desk = new SigningDesk(this.#store);
  readonly #rounds = new Rounds();
  #sequencer: Sequencer | null = null;
  /** When the alarm stands; null: none. Undefined until this life of the object has asked. */
  #armed: number | null | undefined;
  #isRinging = false;

  /** The parts, made once an isolate; rejects while the deployment is misconfigured. */
  protected abstract parts(): Promise<LedgerParts>;

  /** Takes entries of one stream. Repeating it changes nothing. Never rejects for a fault of storage. */
  async append(place: ShardPlace, delivery: Delivery): Promise<Appended> {
    const parts = await this.parts();
    const agreed = this.#store.read("place") ?? (await this.#agreeOn(place, parts));
    if (agreed.shards !== place.shards) {
      parts.report("ledger-shards-changed", { shard: place.shard, from: agreed.shards, to: place.shards });
      return { kind: "misplaced", shards: agreed.shards };
    }
    const appended = await this.#sequencerOf(agreed, parts).append(delivery);
    if (appended.kind === "held") await this.#arm(parts);
    return appended;
  }

  /** The first shard remembers for all: a number that was changed later is never mixed with the first one. */
  async #agreeOn(place: ShardPlace, parts: LedgerParts): Promise<ShardPlace> {
    const shards = await parts.first().agree(place.shards);
    const agreed = { shard: place.shard, shards };
    if (shards === place.shards) this.#store.write("place", agreed);
    return agreed;
  }

  /** See `FirstShard`. */
  agree(shard: string, shards: number): number {
    const kept = this.#store.read("place");
    if (kept !== null) return kept.shards;
    this.#store.write("place", { shard, shards });
    return shards;
  }

  /** See `FirstShard`. */
  ownKey(): Promise<Uint8Array> {
    return this.#desk.ownKey();
  }

  /** The verifier key in the text form of C2SP signed-note. */
  async verifierKey(): Promise<{ vkey: string; isSelfHeld: boolean }> {
    const parts = await this.parts();
    return { vkey: (await this.#signer(parts)).vkey, isSelfHeld: parts.signingKey === null };
  }

  /** The newest checkpoint that everything under it is published. A shard that was never used has one of size 0. */
  async checkpoint(shard: string): Promise<{ size: number; note: string }> {
    const parts = await this.parts();
    const published = this.#store.read("published");
    if (this.#store.readLog().size > 0) await this.#arm(parts);
    if (published !== null) return { size: published.size, note: published.note };
    const empty = fromHex(EMPTY_ROOT) ?? new Uint8Array();
    const text = checkpointText(`${parts.name}/${shard}`, 0, empty);
    return { size: 0, note: await (await this.#signer(parts)).sign(text) };
  }

  /** One round of all that is due. Never rejects, so that the platform never gives up on it. */
  override async alarm(): Promise<void> {
    this.#armed = null;
    this.#isRinging = true;
    let parts: LedgerParts | null = null;
    try {
      parts = await this.parts();
      await this.#round(parts);
    } catch (error) {
      parts?.report("defect", {
        where: "ledger object",
        error: error instanceof Error ? error.name : "unknown",
      });
    }
    this.#isRinging = false;
    if (parts === null) this.#setAlarm(Date.now() + SINK_RETRY_MS_MAX);
    else await this.#arm(parts);
  }

  async #round(parts: LedgerParts): Promise<void> {
    const place = this.#store.read("place");
    if (place === null) return;
    await this.#rounds.run({
      store: this.#store,
      place,
      parts,
      sequencer: this.#sequencerOf(place, parts),
      signer: () => this.#signer(parts),
    });
  }

  #signer(parts: LedgerParts): Promise<Signer> {
    const { name, signingKey } = parts;
    return this.#desk.signer(name, async () => signingKey ?? (await parts.first().ownKey()));
  }

  #sequencerOf({ shard }: ShardPlace, parts: LedgerParts): Sequencer {
    this.#sequencer ??= new Sequencer(this.#store, shard, (stream) =>
      parts.report("ledger-fork", { shard, stream }),
    );
    return this.#sequencer;
  }

  /** Arms the alarm for what is due. One that stands earlier is left: it looks again when it rings. */
  async #arm(parts: LedgerParts): Promise<void> {
    if (this.#isRinging) return;
    if (this.#armed === undefined) this.#armed = await this.#store.readAlarm();
    const now = Date.now();
    // Nothing is due sooner than this after an append, so there is nothing to find out.
    if (this.#armed !== null && this.#armed <= now + CHECKPOINT_PAUSE_MS) return;
    const due = this.#rounds.due(this.#store, parts, now);
    if (due !== null && (this.#armed === null || this.#armed > due)) this.#setAlarm(due);
  }

  #setAlarm(due: number): void {
    this.#armed = due;
    this.#store.setAlarm(due).catch(() => {
      this.#armed = undefined;
    });
  }
}
