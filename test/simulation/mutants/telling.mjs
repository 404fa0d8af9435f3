/** Faults between a key's outbox and what the database shows. */
const SEQUENCER = "src/ledger/shard/sequencer.ts";
const PUBLISHER = "src/ledger/shard/publisher.ts";

export const TELLING = [
  {
    name: "a purge forgets what is not delivered",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: "const carried = note(record.outbox, record.inc, purgedEntry(record));",
        to: "const carried: typeof record.outbox = [];",
      },
    ],
  },
  {
    name: "a record goes before its last word is held",
    layer: "key",
    changes: [{ file: "src/key/keeper.ts", from: `if (held.kind === "failed") return false;`, to: "" }],
  },
  {
    name: "the outbox forgets where its stream was",
    layer: "key",
    changes: [
      {
        file: "src/key/storage/outbox.ts",
        from: "this.#store.noteAcknowledged(stream.inc, answer.seq, answer.head);",
        to: "this.#store.noteAcknowledged(stream.inc, answer.seq, stream.head);",
      },
    ],
  },
  {
    name: "a log that is ahead is never believed",
    layer: "ledger",
    changes: [
      {
        file: "src/ledger/port.ts",
        from: `// that entry again, is compared with what is there.
        return { kind: "held", ...endOf(delivery) };`,
        to: `return { kind: "failed" };`,
      },
    ],
  },
  {
    name: "the ledger acknowledges what it could not store",
    layer: "ledger",
    changes: [
      {
        file: SEQUENCER,
        from: `        return [];\n      });`,
        to: `        return batch.map(({ delivery }): Delivered => ({ kind: "held", seq: delivery.first + delivery.lines.length - 1, hash: delivery.lines.at(-1)?.hash ?? "" }));\n      });`,
      },
    ],
  },
  {
    name: "the ledger acknowledges before it has stored",
    layer: "ledger",
    changes: [
      {
        file: SEQUENCER,
        from: "      this.#store.commit({ from, to, placed, streams: [...streams.values()], mark });",
        to: "      const store = this.#store;\n      const batch = { from, to, placed, streams: [...streams.values()], mark };\n      setTimeout(() => store.commit(batch), 3);",
      },
    ],
  },
  {
    name: "a repeated delivery is taken twice",
    layer: "ledger",
    changes: [
      {
        file: SEQUENCER,
        from: `last === seq ? { kind: "held", seq, hash } : { kind: "new", skip: seq + 1 - first }`,
        to: `{ kind: "new", skip: 0 }`,
      },
    ],
  },
  {
    name: "a gap in a stream is accepted",
    layer: "ledger",
    changes: [
      {
        file: SEQUENCER,
        from: `if (first > seq + 1) return { kind: "gap", seq, hash };`,
        to: `if (first > seq + 1) return { kind: "new", skip: 0 };`,
      },
    ],
  },
  {
    name: "another history of a stream is accepted",
    layer: "ledger",
    changes: [{ file: SEQUENCER, from: `if (told !== hash) return { kind: "fork" };`, to: "" }],
  },
  {
    name: "a checkpoint is shown again when a newer one was",
    layer: "ledger",
    changes: [
      {
        file: PUBLISHER,
        from: `  store.write("published", checkpoint);`,
        to: `  store.write("published", checkpoint);\n  setTimeout(() => store.write("published", checkpoint), 20_000);`,
      },
    ],
  },
  {
    name: "an older write to D1 wins over a newer",
    layer: "ledger",
    changes: [{ file: "src/ledger/d1-effects.ts", from: "  WHERE excluded.version > version`;", to: "`;" }],
  },
  {
    name: "how far D1 has come is noted before it is there",
    layer: "ledger",
    changes: [
      {
        file: PUBLISHER,
        from: "    const made = await makeBundles(first, lines, leaves);",
        to: `    const made = await makeBundles(first, lines, leaves);\n    store.write("d1", to);`,
      },
    ],
  },
  {
    name: "a checkpoint is shown before what it covers",
    layer: "ledger",
    changes: [
      {
        file: PUBLISHER,
        from: `  if (checkpoint === null) return { kind: "published" };`,
        to: `  if (checkpoint === null) return { kind: "published" };\n  store.write("published", checkpoint);`,
      },
    ],
  },
  {
    name: "lines are let go of while a bundle still grows",
    layer: "ledger",
    changes: [
      {
        file: "src/ledger/shard/rounds.ts",
        from: "return Math.min(written - (written % BUNDLE_LINES), push);",
        to: "return Math.min(written, push);",
      },
    ],
  },
  {
    name: "a log line holds the client's key",
    layer: "key",
    changes: [
      {
        file: "src/key/execute.ts",
        from: "const begun = await executor.claim.begin(operation);",
        to: `const begun = await executor.claim.begin(operation);\n    if (begun.kind === "refused") executor.report("refused", { key: operation.rawKey });`,
      },
    ],
  },
];
