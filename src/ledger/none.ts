/** The ledger of a deployment that keeps none: it acknowledges everything and holds nothing. */
import type { LedgerPort } from "../core/ports.ts";

export const noLedger: LedgerPort = {
  isKept: false,
  append: async (_name, stream) => ({
    kind: "held",
    seq: stream.acked + stream.entries.length,
    head: stream.head,
  }),
};
