/** Carries a record's entries to the ledger. At least once; a delivery that fails changes nothing and is made again later. */
import type { LedgerPort } from "../../core/ports.ts";
import { isPurgeable, type LiveRecord, type Stream, timeOf } from "../../core/record.ts";
import type { KeyStore } from "./store.ts";

/** What a life that is over has still to tell, and can't, must not hold up its end or the life that follows. */
function isOver(record: LiveRecord, { inc }: Stream): boolean {
  return inc !== record.inc || isPurgeable(record, timeOf(record, Date.now()));
}

export class OutboxCarrier {
  readonly #store: KeyStore;
  readonly #ledger: LedgerPort;
  readonly #name: string;
  #running: Promise<boolean> | null = null;

  constructor(store: KeyStore, ledger: LedgerPort, name: string) {
    this.#store = store;
    this.#ledger = ledger;
    this.#name = name;
  }

  /** True when nothing was left undelivered. Callers that come while a delivery runs share it and see its result. */
  flush(): Promise<boolean> {
    this.#running ??= this.#deliverAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /**
   * Stopping after the ledger took the entries and before it said so leaves them in the outbox: they are sent again, with the same
   * sequence numbers and hashes, and dropped there.
   */
  async #deliverAll(): Promise<boolean> {
    for (;;) {
      const loaded = this.#store.recall();
      if (loaded.kind === "unreadable") return false;
      if (loaded.record.state === "absent") return true;
      const stream = loaded.record.outbox.find((candidate) => candidate.entries.length > 0);
      if (stream === undefined) return true;
      const answer = await this.#ledger.append(this.#name, stream);
      if (answer.kind === "failed" || answer.seq <= stream.acked) return false;
      if (answer.kind === "gap" && !isOver(loaded.record, stream)) return false;
      this.#store.noteAcknowledged(stream.inc, answer.seq, answer.head);
      // Once the ledger has forgotten an ended stream it would take all of it for new.
      if (stream.inc !== loaded.record.inc) this.#store.writeAcknowledged();
    }
  }
}
