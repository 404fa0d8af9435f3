/** Faults in who may change a record. */
export const FENCING = [
  {
    name: "a settle is not fenced",
    by: ["I3", "I11"],
    changes: [
      {
        file: "src/core/close.ts",
        from: `if (!isSameToken(event.token, record)) return stay(late(record, event, t), { kind: "fenced" });`,
        to: "",
      },
    ],
  },
  {
    name: "a lapsed lease grants again",
    by: ["I1"],
    changes: [
      {
        file: "src/core/step.ts",
        from: `record.state === "released" || (record.state === "unknown" && record.terms.onCrash === "retry")`,
        to: `record.state === "released" || record.state === "unknown"`,
      },
    ],
  },
];
