/** Faults in who may change a record, and in what a later life may know of an earlier one. */
const CLOSE = "src/core/close.ts";

export const FENCING = [
  {
    name: "a settle is not fenced",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: `if (!isSameToken(event.token, record)) return stay(late(record, event, t), { kind: "fenced" });`,
        to: "",
      },
    ],
  },
  {
    name: "a report is not fenced",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: `  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
      return stay(toUnknown(record, reason, t, now), { kind: "done" });`,
        to: `  if (record.state === "absent" || token.n < 1) return stay(record, { kind: "fenced" });
  switch (record.state) {
    case "in-flight":
      return stay(toUnknown(record, reason, t, now), { kind: "done" });`,
      },
    ],
  },
  {
    name: "an old probe's answer is believed",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: `  if (record.state === "absent" || !isSameToken(token, record)) return stay(record, { kind: "fenced" });
  if (record.state !== "unknown")`,
        to: `  if (record.state === "absent" || token.n < 1) return stay(record, { kind: "fenced" });
  if (record.state !== "unknown")`,
      },
    ],
  },
  {
    name: "a repeated call runs beside its twin",
    layer: "key",
    changes: [
      {
        file: "src/key/local-claim.ts",
        from: "answer.repeated && this.#keeper.running.has(answer.grant.token)",
        to: "answer.repeated && answer.grant.token.n < 1",
      },
    ],
  },
  {
    name: "a grant that comes after its lease still dispatches",
    layer: "key",
    changes: [
      {
        file: "src/key/remote.ts",
        from: `const isInTime = tookMs < this.#leaseMs && this.#leaseMs <= begun.grant.leaseMs;`,
        to: `const isInTime = true;`,
      },
    ],
  },
  {
    name: "a lease's length is another machine's time",
    layer: "key",
    changes: [
      {
        file: "src/key/local-claim.ts",
        from: `return { kind: "run", grant: answer.grant };`,
        to: `return { kind: "run", grant: this.#terms.executor === "object" ? answer.grant : { ...answer.grant, leaseMs: answer.grant.leaseMs + Date.now(), executionMs: answer.grant.executionMs + Date.now() } };`,
      },
      {
        file: "src/key/remote.ts",
        from: "    const begun = called.result;",
        to: `    const begun = called.result;
    if (begun.kind === "run") begun.grant = { ...begun.grant, leaseMs: begun.grant.leaseMs - Date.now(), executionMs: begun.grant.executionMs - Date.now() };`,
      },
    ],
  },
  {
    name: "who has waited for a twin speaks for it",
    layer: "key",
    changes: [
      {
        file: "src/key/local-claim.ts",
        from: "for (let hasAsked = false; ; ) {",
        to: "for (let hasAsked = false, wasWoken = false; ; ) {",
      },
      {
        file: "src/key/local-claim.ts",
        from: "      const { nonce, fp, authorized, owner, route } = operation;",
        to: `      const { fp, authorized, owner, route } = operation;
      const met = this.#keeper.store.load();
      const nonce = wasWoken && met.kind === "readable" && met.record.state !== "absent" ? met.record.nonce : operation.nonce;`,
      },
      {
        file: "src/key/local-claim.ts",
        from: `      if ((await this.#keeper.waiters.wait(left)) === "over") left = 0;`,
        to: `      if ((await this.#keeper.waiters.wait(left)) === "over") left = 0;\n      wasWoken = true;`,
      },
    ],
  },
  {
    name: "tokens start again after a purge",
    layer: "key",
    changes: [
      {
        file: "src/key/local-claim.ts",
        from: "{ inc: randomHex(), effect: randomHex()",
        to: `{ inc: "0".repeat(32), effect: randomHex()`,
      },
    ],
  },
  {
    name: "a later attempt keeps the effect's id",
    layer: "core",
    changes: [
      {
        file: "src/core/transition.ts",
        from: "  const { effect } = fresh;\n  const left",
        to: "  const { effect } = record;\n  const left",
      },
    ],
  },
  {
    name: "the nonce of another caller gets the grant",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: `if (record.state === "in-flight" && record.nonce === nonce) return repeat(record, t);`,
        to: `if (record.state === "in-flight") return repeat(record, t);`,
      },
    ],
  },
  {
    name: "a record's time follows a clock that is turned back",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: "const t = timeOf(found, now);",
        to: "const t = now;",
      },
    ],
  },
  {
    name: "a lease lasts until a clock that was turned back has caught up",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: "{ ...record, ahead: t - now }",
        to: "record",
      },
    ],
  },
  {
    name: "a lease is renewed without limit",
    layer: "core",
    changes: [
      {
        file: "src/core/step.ts",
        from: "const leaseUntil = leaseEnd(record, t);",
        to: "const leaseUntil = t + record.terms.leaseMs;",
      },
    ],
  },
];

/** Faults in what people and the cron may do. */
export const OVERSEEING = [
  {
    name: "one operator is enough",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: "if (operators.length < event.operatorsRequired) {",
        to: "if (operators.length < 1) {",
      },
    ],
  },
  {
    name: "an operator who says it twice counts as two",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: "const isRepeat = agreed?.operators.includes(event.operator) ?? false;",
        to: "const isRepeat = false;",
      },
    ],
  },
  {
    name: "an operator's word on an old effect is taken for the current one",
    layer: "core",
    changes: [
      {
        file: CLOSE,
        from: `if (record.state === "absent" || record.effect !== event.effect) return`,
        to: `if (record.state === "absent") return`,
      },
      {
        file: "src/key/operator/resolve.ts",
        from: `if (record.effect !== effect) return { kind: "stale" };`,
        to: "",
      },
    ],
  },
  {
    name: "a reconciliation takes the lease of another",
    layer: "ledger",
    changes: [{ file: "src/ledger/d1-lease.ts", from: "WHERE until <= ?5 OR", to: "WHERE ?5 > 0 OR" }],
  },
  {
    name: "a reconciliation that has lost its lease goes on writing",
    layer: "ledger",
    changes: [
      {
        file: "src/ledger/d1-lease.ts",
        from: `cursor_id = ?5 WHERE name = ?1 AND token = ?2 RETURNING name`,
        to: `cursor_id = ?5 WHERE name = ?1 AND token <> ?2 || ' ' RETURNING name`,
      },
    ],
  },
];
