/** What is searched: every combination of what a route can say about a crash, about probes, and of where two clients' attempts run. */
import type { Terms } from "../../src/core/record.ts";
import { type Case, UNIT } from "./place.ts";

const EXECUTORS = ["object", "worker"] as const;

export const CASES: readonly Case[] = (["hold", "retry"] as const).flatMap((onCrash) =>
  (["seal", "observe", "none"] as const).flatMap((probe) =>
    EXECUTORS.flatMap((first) =>
      EXECUTORS.map((second): Case => {
        const terms: Terms = {
          fingerprint: "rule",
          executor: first,
          onCrash,
          probeDelayMs: probe === "none" ? null : UNIT.delay,
          windowMs: UNIT.window,
          quarantineMs: UNIT.quarantine,
          leaseMs: UNIT.lease,
          executionMsMax: UNIT.execution,
        };
        // The second client comes by a route whose settings have changed since.
        const changed: Terms = { ...terms, executor: second, windowMs: UNIT.window + 1 };
        return { name: `${onCrash}, ${probe}, ${first} then ${second}`, probe, terms: [terms, changed] };
      }),
    ),
  ),
);
