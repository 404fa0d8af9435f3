/** Runs the ledger's own verifier again and again over one run, with the pin of the time before. */
import { openDatabase, verifyLedger } from "../../src/verify/verify.mjs";
import { findDatabaseFile } from "../support/ledger-log.ts";
import type { FactOf } from "./history.ts";

type Checked = Awaited<ReturnType<typeof verifyLedger>>;

export class LedgerWatch {
  readonly #store: string;
  #pin: Checked["pin"] = null;

  constructor(store: string) {
    this.#store = store;
  }

  /** After this kill. The gateway may be writing. */
  async check(kill: number): Promise<FactOf<"verified">> {
    const source = await openDatabase(findDatabaseFile(this.#store));
    try {
      const { verdict, pin } = await verifyLedger(source, { pin: this.#pin });
      this.#pin = pin ?? this.#pin;
      const shards = verdict.verdict === "not-checked" ? [] : verdict.shards;
      const sizes = Object.fromEntries(shards.map(({ shard, covered }) => [shard, covered]));
      return { kind: "verified", kill, verdict: describe(verdict), sizes };
    } finally {
      await source.close();
    }
  }
}

function describe(verdict: Checked["verdict"]): string {
  if (verdict.verdict === "sound") return "sound";
  if (verdict.verdict === "not-checked") return `not checked: ${verdict.reason}`;
  const { shard, index, detail } = verdict.first;
  return `${verdict.first.class} at ${shard} ${index}: ${detail}`;
}
