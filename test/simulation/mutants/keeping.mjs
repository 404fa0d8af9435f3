/** Faults in what is kept for how long, what is counted, and what work goes on when all is over. */
const EXECUTE = "src/key/execute.ts";
const PRUNER = "src/ledger/shard/pruner.ts";
const QUOTA = "src/quota/quota-object.ts";
const CLAIM = "src/key/local-claim.ts";

export const KEEPING = [
  {
    name: "a new key is counted after it was granted",
    layer: "key",
    changes: [
      {
        file: CLAIM,
        from: "      if (refused !== null) return refused;\n      const { nonce",
        to: "      const { nonce",
      },
      {
        file: CLAIM,
        from: `      const answer = done.step.answer;`,
        to: `      const answer = done.step.answer;\n      if (answer.kind === "run" && refused !== null) return refused;`,
      },
    ],
  },
  {
    name: "a quota that can't be asked is none",
    layer: "key",
    changes: [
      {
        file: CLAIM,
        from: `return taken === "unavailable" ? refuseStore() : null;`,
        to: "return null;",
      },
    ],
  },
  {
    name: "an alarm that rings early empties the count of new keys",
    layer: "quota",
    changes: [{ file: QUOTA, from: "dueAt > Date.now()", to: "dueAt < 0" }],
  },
  {
    name: "who counts new keys never forgets",
    layer: "quota",
    changes: [{ file: QUOTA, from: ": storage.deleteAll());", to: ": undefined);" }],
  },
  {
    name: "a lease is renewed for ever",
    layer: "key",
    changes: [
      {
        file: EXECUTE,
        from: `    else if (renewal !== "lapsed" && !isEnded) renewLater();`,
        to: `    if (!isEnded || renewal !== "renewed") renewLater();`,
      },
    ],
  },
  {
    name: "the end of an attempt is told to nobody",
    layer: "key",
    changes: [
      {
        file: EXECUTE,
        from: "      lease.end();\n      executor.ended(grant.token);",
        to: "      lease.end();",
      },
    ],
  },
  {
    name: "an answer that is passed on is read ahead of its caller",
    layer: "origin",
    changes: [{ file: "src/origin/clock.ts", from: "{ highWaterMark: 0 }", to: "{ highWaterMark: 1 }" }],
  },
  {
    name: "bodies are deleted before anybody was told",
    layer: "ledger",
    changes: [
      {
        file: PRUNER,
        from: "  return { ...state, checkAt, pending: { until, entry } };",
        to: "  await pruneBundles(how.database, how.shard, { until, entry, at: now });\n  return { ...state, checkAt, pending: { until, entry } };",
      },
    ],
  },
  {
    name: "bodies are deleted without a word",
    layer: "ledger",
    changes: [
      { file: PRUNER, from: "const entry = await appendPrune(how, until, now);", to: "const entry = 0;" },
    ],
  },
  {
    name: "bodies are deleted before they are old",
    layer: "ledger",
    changes: [
      {
        file: PRUNER,
        from: "{ before: now - retentionMs, now }",
        to: "{ before: now + 0 * retentionMs, now }",
      },
    ],
  },
  {
    name: "lines that are published are kept all the same",
    layer: "ledger",
    changes: [
      {
        file: "src/ledger/shard/rounds.ts",
        from: "    store.dropStaged(neededFrom(store, parts));",
        to: "    store.dropStaged(Math.min(neededFrom(store, parts), 0));",
      },
    ],
  },
];
