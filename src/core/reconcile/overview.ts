/** What is known of a reconciliation from outside it. Times in milliseconds since the epoch. */
import type { Cursor, Finding } from "./finding.ts";
import type { Ended } from "./ports.ts";

export type Overview = {
  /** Null: nobody runs. Of the holder's token nothing is known here. */
  lease: { owner: string; until: number } | null;
  /** Where the next page begins; null: at the start. */
  cursor: Cursor | null;
  /** Open dispatches by the age of their last change. */
  open: {
    total: number;
    oldestAt: number | null;
    underFiveMinutes: number;
    underAnHour: number;
    underADay: number;
    older: number;
  };
  /** Newest first. `ended` null: it runs, or it died. */
  runs: readonly RunRow[];
  /** Those that are due next first. */
  quarantined: readonly QuarantinedRow[];
};

export type RunRow = {
  id: number;
  owner: string;
  started_by: string;
  started_at: number;
  ended_at: number | null;
  ended: Ended | null;
  pages: number;
  scanned: number;
  handled: number;
  failed: number;
};

export type QuarantinedRow = Pick<Finding, "id" | "kind" | "operation" | "failures"> & {
  code: string;
  due_at: number;
  first_at: number;
  last_at: number;
};
