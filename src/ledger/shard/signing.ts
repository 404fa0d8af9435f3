/** Whose key signs: the configured one, or one that the first shard makes for the whole ledger and keeps. */
import { generateSigningKey, makeSigner, type Signer } from "../note.ts";
import type { ShardStore } from "./store.ts";

export class SigningDesk {
  readonly #store: ShardStore;
  #signer: Signer | null = null;

  constructor(store: ShardStore) {
    this.#store = store;
  }

  /** `ask` gives the private key. */
  async signer(name: string, ask: () => Promise<Uint8Array>): Promise<Signer> {
    this.#signer ??= await makeSigner(name, await ask());
    return this.#signer;
  }

  /** In the first shard: the ledger's own key, made now if there is none. */
  async ownKey(): Promise<Uint8Array> {
    const kept = this.#store.read("signing");
    if (kept !== null) return kept;
    const made = await generateSigningKey();
    // Another call may have made one meanwhile: the first one stays.
    const first = this.#store.read("signing") ?? made;
    if (first === made) this.#store.write("signing", made);
    return first;
  }
}
