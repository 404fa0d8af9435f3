/** Faults in what is stored, in what order, and who is given it. */
const STEP = "src/core/step.ts";

export const ANSWERING = [
  {
    name: "the answer is given before it is stored",
    layer: "key",
    changes: [
      {
        file: "src/key/execute.ts",
        from: "  const settling = await executor.claim.settle(grant, await copyAnswer(given, policy), operation);",
        to: `  const kept = await copyAnswer(given, policy);
  setTimeout(() => void executor.claim.settle(grant, kept, operation).catch(() => undefined), 5);
  const settling = { kind: "settled", createdAt: Date.now(), expiresAt: Date.now() + policy.windowMs } as Awaited<ReturnType<typeof executor.claim.settle>>;`,
      },
    ],
  },
  {
    name: "a reply leaves before the record is written",
    layer: "key",
    changes: [
      {
        file: "src/key/storage/store.ts",
        from: "      this.#storage.kv.put(RECORD, encodeRecord(record));",
        to: "      const later = encodeRecord(record);\n      setTimeout(() => this.#storage.kv.put(RECORD, later), 20);",
      },
    ],
  },
  {
    name: "an answer that was not stored is given all the same",
    layer: "key",
    changes: [
      {
        file: "src/key/execute.ts",
        from: `      return reportLost(run, "store-failed");\n  }\n}`,
        to: `      return { kind: "executed", given, createdAt: Date.now(), expiresAt: Date.now() + policy.windowMs };\n  }\n}`,
      },
    ],
  },
  {
    name: "a replay does not look at the fingerprint",
    layer: "core",
    changes: [
      {
        file: STEP,
        from: "  if (record.fp !== fp) {",
        to: `  if (record.fp !== fp && record.state !== "settled") {`,
      },
    ],
  },
  {
    name: "another request is told that its twin still runs",
    layer: "core",
    changes: [
      {
        file: STEP,
        from: "  if (record.fp !== fp) {",
        to: `  if (record.fp !== fp && record.state !== "in-flight") {`,
      },
    ],
  },
  {
    name: "the isolate's memory does not look at the fingerprint",
    layer: "gateway",
    changes: [
      {
        file: "src/gateway/cache.ts",
        from: "entry === undefined || entry.fp !== fp",
        to: 'entry === undefined || fp === ""',
      },
    ],
  },
  {
    name: "the isolate's memory outlives the window",
    layer: "gateway",
    changes: [
      {
        file: "src/gateway/cache.ts",
        from: "if (entry.answer.expiresAt <= now) {",
        to: "if (entry.answer.expiresAt + 60_000 <= now) {",
      },
    ],
  },
  {
    name: "a window's end is another machine's time",
    layer: "gateway",
    changes: [
      { file: "src/gateway/handle.ts", from: "askedAt + submitted.leftMs", to: "submitted.expiresAt" },
    ],
  },
  {
    name: "a stored answer is given to whoever knows the key",
    layer: "core",
    changes: [
      { file: STEP, from: `if (!event.authorized) return stay(record, { kind: "authorize" });`, to: "" },
    ],
  },
  {
    name: "the isolate's memory asks nobody",
    layer: "gateway",
    changes: [
      {
        file: "src/gateway/handle.ts",
        from: `if (!(await mayHaveAnswer(visit))) return reply(visit, await denyAnswer(visit), askedAt, told);`,
        to: "",
      },
    ],
  },
  {
    name: "an expired answer is given",
    layer: "core",
    changes: [
      {
        file: STEP,
        from: `isExpired(record, t) ? { kind: "expired" }`,
        to: `isExpired(record, t - 3_600_000) ? { kind: "expired" }`,
      },
    ],
  },
  {
    name: "a replay carries the first caller's cookies",
    layer: "key",
    changes: [
      {
        file: "src/key/storage/copy.ts",
        from: "{ cookies: policy.replayCookies }",
        to: "{ cookies: true }",
      },
    ],
  },
  {
    name: "an answer opens under another attempt's seal",
    layer: "key",
    changes: [
      {
        file: "src/key/opened.ts",
        from: "this.#kept !== null && isSameToken(this.#kept.token, record) ? this.#kept.given : null",
        to: "this.#kept !== null && record.n > 0 ? this.#kept.given : null",
      },
    ],
  },
];
