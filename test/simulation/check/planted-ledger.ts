/** The same for what the ledger shows. */
import { hash } from "node:crypto";
import type { Datum, History, LedgerView, Pruned } from "./history.ts";
import { historyOf, more, SOUND } from "./planted.ts";

/** A line of stream `s` as the ledger would hold it; `index` and `seq` from 0 and 1. */
function line(index: number, seq: number, type: string, changes: Record<string, unknown> = {}): string {
  const prev = "0".repeat(64);
  return JSON.stringify({
    v: 1,
    shard: "1:0",
    index,
    at: 1,
    type,
    stream: "s",
    seq,
    prev,
    effect_id: "e1",
    attempt: 1,
    ...changes,
  });
}

function linesOf(texts: readonly string[]): NonNullable<LedgerView["lines"]> {
  return [{ shard: "1:0", texts, ats: texts.map(() => 100) }];
}

function withLines(...texts: string[]): History {
  return historyOf(SOUND, {
    ledger: { lines: linesOf(texts), database: null, shown: [], retentionMs: 1_000 },
  });
}

/** A log of which the first entry is deleted at a time, as the second one says; a checkpoint over both was shown at another. */
function pruned(changes: { at?: number; shownAt?: number; prunes?: Pruned[]; digest?: string }): History {
  const { at = 5_000, shownAt = 4_000, prunes = [{ shard: "1:0", until: 1, entry: 1, at: 5_000 }] } = changes;
  const first = line(0, 1, "granted");
  const root = hash("sha256", Buffer.concat([Uint8Array.of(0), Buffer.from(first)]), "hex");
  const told = { stream: "own", target: "1", digest: changes.digest ?? root };
  const texts = [first, line(1, 1, "prune", told)];
  const row: [number, Datum] = [at, { do: "pruned", shard: "1:0", until: 1 }];
  return historyOf([...SOUND, row], {
    ledger: {
      lines: linesOf(texts),
      database: {
        lines: [{ shard: "1:0", first: 1, texts: texts.slice(1) }],
        prunes,
        checkpoints: [],
        effects: [],
      },
      shown: [{ shard: "1:0", size: 2, root: "", at: shownAt, published: 2 }],
      retentionMs: 1_000,
    },
  });
}

/** Deleted as it should be, as far as I18 goes. */
export const PRUNED = pruned({});

export const PLANTED_LEDGERS: readonly [invariant: string, what: string, history: History][] = [
  [
    "I4",
    "an attempt that ends twice",
    withLines(line(0, 1, "granted"), line(1, 2, "settled"), line(2, 3, "settled")),
  ],
  ["I5", "an index that is missing", withLines(line(1, 1, "granted"))],
  ["I5", "a number that is missing", withLines(line(0, 2, "settled"))],
  ["I5 whole", "an entry that was never delivered", withLines()],
  [
    "I15",
    "a second grant while the outcome is unknown",
    withLines(line(0, 1, "granted"), line(1, 2, "granted", { attempt: 2 })),
  ],
  ["I16", "a secret in a log line", more([200, { do: "log", text: "canary-key-k0" }])],
  [
    "I20",
    "a write without the lease",
    more([200, { do: "lease", isTaking: false, isHeld: false, isEarly: false, isChanged: true }]),
  ],
  [
    "I20",
    "a lease that is taken while somebody has it",
    more([200, { do: "lease", isTaking: true, isHeld: false, isEarly: true, isChanged: true }]),
  ],
  ["I18", "bodies that are gone without a word", pruned({ prunes: [] })],
  ["I18", "a word on other bodies than those that are gone", pruned({ digest: "0".repeat(64) })],
  ["I18", "bodies that are gone before the word on it is shown", pruned({ shownAt: 6_000 })],
  ["I18 age", "bodies that are gone too early", pruned({ at: 900, shownAt: 500 })],
];
