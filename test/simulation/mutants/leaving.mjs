/** Faults in how time ends things: windows, quarantine, alarms, what a later build wrote. */
const RECORD = "src/core/record.ts";
const STEP = "src/core/step.ts";
const STORE = "src/key/storage/store.ts";

export const LEAVING = [
  {
    name: "quarantine is skipped",
    layer: "core",
    changes: [
      {
        file: RECORD,
        from: "return windowEnd(record) + record.terms.quarantineMs;",
        to: "return windowEnd(record);",
      },
    ],
  },
  {
    name: "time ends an unknown outcome",
    layer: "core",
    changes: [
      {
        file: RECORD,
        from: `    case "in-flight":\n    case "unknown":\n      return null;\n  }\n}`,
        to: `    case "in-flight":\n      return null;\n    case "unknown":\n      return record.since + record.terms.windowMs + record.terms.quarantineMs;\n  }\n}`,
      },
      {
        file: STEP,
        from: `    case "unknown":\n      return probeDueOf(record, now);`,
        to: `    case "unknown":\n      return purgeAt(record);`,
      },
    ],
  },
  {
    name: "a window counts from the request",
    layer: "core",
    changes: [
      {
        file: RECORD,
        from: "return record.settledAt + record.terms.windowMs;",
        to: "return record.bornAt + record.terms.windowMs;",
      },
    ],
  },
  {
    name: "no alarm is armed while the outcome is unknown",
    layer: "core",
    changes: [
      {
        file: STEP,
        from: `    case "unknown":\n      return probeDueOf(record, now);`,
        to: `    case "unknown":\n      return null;`,
      },
    ],
  },
  {
    name: "no alarm is armed after one has rung",
    layer: "key",
    changes: [
      {
        file: STORE,
        from: "until: notBefore };\n    this.armAgain(notBefore);",
        to: "until: notBefore };\n    if (notBefore < 0) this.armAgain(notBefore);",
      },
    ],
  },
  {
    name: "a lost alarm is not armed again",
    layer: "key",
    changes: [
      {
        file: STORE,
        from: "    this.#armed = await this.#storage.getAlarm();\n    this.armAgain(0);",
        to: "    this.#armed = await this.#storage.getAlarm();",
      },
    ],
  },
  {
    name: "an outcome that a probe could not learn is not asked for again",
    layer: "core",
    changes: [
      {
        file: "src/core/close.ts",
        from: `    case "silent":\n      return stay(probeLater(record, jitter, t, now), { kind: "done" });`,
        to: `    case "silent":\n      return stay({ ...record, t, probeDue: null }, { kind: "done" });`,
      },
    ],
  },
  {
    name: "a record of a later build is read as one of this",
    layer: "key",
    changes: [
      { file: "src/key/storage/codec.ts", from: "value.v === RECORD_VERSION &&", to: "value.v !== null &&" },
    ],
  },
  {
    name: "a record that can't be read counts as none",
    layer: "key",
    changes: [
      {
        file: "src/key/storage/codec.ts",
        from: `isRecord(read) ? { kind: "record", record: read } : { kind: "unreadable" }`,
        to: `isRecord(read) ? { kind: "record", record: read } : { kind: "absent" }`,
      },
    ],
  },
  {
    name: "storage is wiped without another look",
    layer: "key",
    changes: [
      {
        file: "src/key/keeper.ts",
        from: `if (again.kind === "stepped" && again.step.record.state === "absent") await this.store.wipe();`,
        to: `if (again.kind === "stepped") await this.store.wipe();`,
      },
    ],
  },
];
