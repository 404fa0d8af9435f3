/** Refusals of reconciliation, as part of the catalogue in `problem.ts`. */
import type { Row } from "../problem.ts";

export const reconcileProblems = {
  "reconciliation-running": {
    status: 409,
    retry: "same-key-later",
    mark: "refused",
    title: "Another run is under way",
    detail:
      "One run at a time holds the lease. Its progress is shown where the last runs are. Nothing was done.",
  },
} as const satisfies Record<string, Row>;
