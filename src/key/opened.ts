/**
 * The answer this object has opened last, for the next replay. Small answers only, in memory only, and never where opening needs
 * the client's own key.
 */
import { INLINE_BYTES_MAX } from "../core/limits.ts";
import type { Given } from "../core/ports.ts";
import { isSameToken, type Token, tokenOf } from "../core/record.ts";

export class OpenedAnswer {
  #kept: { token: Token; given: Given } | null = null;

  find(record: Token): Given | null {
    return this.#kept !== null && isSameToken(this.#kept.token, record) ? this.#kept.given : null;
  }

  keep(record: Token, given: Given): void {
    if (given.body instanceof Uint8Array && given.body.byteLength <= INLINE_BYTES_MAX) {
      this.#kept = { token: tokenOf(record), given };
    }
  }
}
