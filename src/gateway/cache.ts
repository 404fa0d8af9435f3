/**
 * Settled answers in the isolate's memory: with the counters the only state here that requests write. It saves the call to the key object and
 * never decides a claim: an answer is looked up only when key, principal and fingerprint are known, on an exact match, and
 * what is settled does not change until its window ends.
 */

import type { Pairs } from "../core/http/headers.ts";
import { CACHE_BYTES_MAX, CACHED_ANSWER_BYTES_MAX } from "../core/limits.ts";

/** A replay ready to be given: `fields` are all but its date. */
export type CachedAnswer = {
  status: number;
  fields: Pairs;
  body: Uint8Array;
  expiresAt: number;
};

/** What an entry costs beside its body and fields: a guess at keys and the map's own. */
const ENTRY_OVERHEAD_BYTES = 1_024;

type Cached = { fp: string; answer: CachedAnswer };

export class AnswerCache {
  readonly #entries = new Map<string, Cached>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** The answer of one operation, if its window has not ended. Another fingerprint under the same name is not a match. */
  find(name: string, fp: string, now: number): CachedAnswer | null {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.fp !== fp) return null;
    if (entry.answer.expiresAt <= now) {
      this.#drop(name, entry);
      return null;
    }
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry.answer;
  }

  /** Keeps an answer that is small enough; the ones used longest ago make room. */
  keep(name: string, fp: string, answer: CachedAnswer): void {
    if (answer.body.byteLength > CACHED_ANSWER_BYTES_MAX) return;
    const earlier = this.#entries.get(name);
    if (earlier !== undefined) this.#drop(name, earlier);
    this.#entries.set(name, { fp, answer });
    this.#bytes += sizeOf(answer);
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= CACHE_BYTES_MAX) break;
      this.#drop(oldest, entry);
    }
  }

  #drop(name: string, entry: Cached): void {
    this.#entries.delete(name);
    this.#bytes -= sizeOf(entry.answer);
  }
}

function sizeOf(answer: CachedAnswer): number {
  const fields = answer.fields.reduce((size, [name, value]) => size + name.length + value.length, 0);
  return answer.body.byteLength + fields + ENTRY_OVERHEAD_BYTES;
}
