/**
 * The Durable Object of one shard: the only writer of its log. What `append` has answered is durable here; the alarm brings it on. After a
 * stop at any point storage says what is true, and the next append or alarm goes on from there.
 */
import { DurableObject } from "cloudflare:workers";
import { fromHex } from "../../core/bytes.ts";
import { EMPTY_ROOT } from "../../core/log/tree.ts";
import { nameOf } from "../../report.ts";
import { CHECKPOINT_PAUSE_MS, PUBLISH_PAUSE_MS, SINK_RETRY_MS_MAX } from "../bounds.ts";
import type { Epochs, ShardPlace } from "../epochs.ts";
import { checkpointText, type Signer } from "../note.ts";
import { agreeOn, EpochDesk, keptEpochs } from "./epoch-desk.ts";
import { OwnStream } from "./own-stream.ts";
import type { LedgerParts } from "./parts.ts";
import { Rounds } from "./rounds.ts";
import { type Delivered, type Delivery, Sequencer } from "./sequencer.ts";
import { SigningDesk } from "./signing.ts";
import { ShardStore, type StreamRow } from "./store.ts";

/** `misplaced`: the ledger's streams are spread in another way; nothing was taken. */
export type Appended = Delivered | { kind: "misplaced" };

/** What belongs to one shard's name, made when the shard is first told it. */
type Crew = { sequencer: Sequencer; own: OwnStream; epochs: EpochDesk };

export abstract class LedgerObjectShell<Env> extends DurableObject<Env> {
  readonly #store = new ShardStore(this.ctx.storage);
  readonly #desk = new SigningDesk(this.#store);
  readonly #rounds = new Rounds();
  #crew: Crew | null = null;
  /** When the alarm stands; null: none. Undefined until this life of the object has asked. */
  #armed: number | null | undefined;
  #isRinging = false;

  /** The parts, made once an isolate; rejects while the deployment is misconfigured. */
  protected abstract parts(): Promise<LedgerParts>;

  /** Takes entries of one stream. Repeating it changes nothing. Never rejects for a fault of storage. */
  async append(place: ShardPlace, delivery: Delivery): Promise<Appended> {
    const parts = await this.parts();
    const { sequencer, epochs } = this.#crewOf(place, parts);
    if (!(await epochs.open(place))) return { kind: "misplaced" };
    const appended = await sequencer.append(delivery);
    if (appended.kind === "held" && !this.#isAwaited(sequencer)) await this.#arm(parts);
    return appended;
  }

  /** See `OtherShard`. */
  async open(place: ShardPlace): Promise<void> {
    const parts = await this.parts();
    if (!(await this.#crewOf(place, parts).epochs.open(place))) throw new Error("no such shard");
    await this.#arm(parts);
  }

  /** See `OtherShard`. */
  async close(place: ShardPlace): Promise<string> {
    const parts = await this.parts();
    const { root } = await this.#crewOf(place, parts).epochs.close(place);
    await this.#arm(parts);
    return root;
  }

  /** See `OtherShard`. */
  async headsOf(place: ShardPlace, streams: readonly string[]): Promise<StreamRow[]> {
    return this.#crewOf(place, await this.parts()).epochs.headsOf(streams);
  }

  /** See `OtherShard`. */
  async isEndShown(): Promise<boolean> {
    await this.#arm(await this.parts());
    const closed = this.#store.read("closed");
    return closed !== null && (this.#store.read("published")?.size ?? 0) > closed.index;
  }

  /** See `FirstShard`. */
  epochs(): Epochs {
    return keptEpochs(this.#store);
  }

  /** See `FirstShard`. */
  async agree(shard: string, shards: number): Promise<Epochs> {
    const epochs = agreeOn(this.#store, shard, shards);
    // Stopping between the two leaves an epoch that nobody goes through until the next one asks; its shards open all the same.
    if (epochs.length > 1) await this.#arm(await this.parts());
    return epochs;
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
      parts?.report("defect", { where: "ledger object", error: nameOf(error) });
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
      own: this.#crewOf(place, parts).own,
      signer: () => this.#signer(parts),
    });
  }

  #signer(parts: LedgerParts): Promise<Signer> {
    const { name, signingKey } = parts;
    return this.#desk.signer(name, async () => signingKey ?? (await parts.first().ownKey()));
  }

  #crewOf({ shard }: ShardPlace, parts: LedgerParts): Crew {
    if (this.#crew !== null) return this.#crew;
    const onFork = (stream: string): void => parts.report("ledger-fork", { shard, stream });
    const sequencer = new Sequencer(this.#store, shard, parts.other.headsOf, onFork);
    const own = new OwnStream(this.#store, shard, sequencer);
    this.#crew = { sequencer, own, epochs: new EpochDesk(this.#store, own, parts) };
    return this.#crew;
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

  /**
   * What is appended is due when the pause between rounds is over, and sooner only where it fills a bundle: with an alarm that stands until then
   * there is nothing to find out, which takes several reads.
   */
  #isAwaited({ size }: Sequencer): boolean {
    if (this.#armed === null || this.#armed === undefined || size === null) return false;
    return this.#armed <= Date.now() + PUBLISH_PAUSE_MS && !this.#rounds.isBundleFull(size);
  }

  #setAlarm(due: number): void {
    this.#armed = due;
    this.#store.setAlarm(due).catch(() => {
      this.#armed = undefined;
    });
  }
}
