/**
 * What the ledger has acknowledged and storage doesn't show yet. It is written along with the next change, and for its own sake only where it
 * ends an earlier life's stream: a row costs more than a repeated delivery, which the ledger drops. Memory only.
 */
import { acknowledge } from "../../core/close.ts";
import type { KeyRecord } from "../../core/record.ts";

type StreamHead = { inc: string; seq: number; head: string };

export class Acknowledgements {
  /** By the life whose entries they are of. A key whose lives follow one another without a wipe would else keep one of each. */
  readonly #byLife = new Map<string, StreamHead>();

  note(inc: string, seq: number, head: string): void {
    this.#byLife.set(inc, { inc, seq, head });
  }

  /** The record as it was read, with all of it in. What is no news to it is forgotten: storage shows it, or has no such stream any more. */
  applyTo(record: KeyRecord, t: number): KeyRecord {
    let told = record;
    for (const [inc, acknowledged] of this.#byLife) {
      const next = acknowledge(told, { do: "acknowledge", ...acknowledged }, t);
      if (next === told) this.#byLife.delete(inc);
      told = next;
    }
    return told;
  }

  clear(): void {
    this.#byLife.clear();
  }
}
