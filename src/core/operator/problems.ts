/** Refusals of operators' requests, as part of the catalogue in `problem.ts`. */
import type { Row } from "../problem.ts";

export const operatorProblems = {
  "operator-request-refused": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The request has a bad member",
    detail:
      "The body has to be one JSON object with the members that this endpoint takes and no others. The one that is wrong is named here. Nothing was changed.",
  },
  "operator-request-too-large": {
    status: 413,
    retry: "fix-request",
    mark: "refused",
    title: "The request is too large",
    detail: "The body is over the limit of the operators' endpoints. Nothing was changed.",
  },
  "effect-not-open": {
    status: 409,
    retry: "never",
    mark: "refused",
    title: "There is nothing to resolve",
    detail:
      "The effect is not the one of the newest attempt, or its outcome is not unknown, or not any more. Look the operation up again.",
  },
  "resolution-unavailable": {
    status: 503,
    retry: "same-key-later",
    mark: "refused",
    title: "The resolution could not be recorded",
    detail:
      "The store did not take it, or has no room until the ledger has taken what was told before. Sending the same again is harmless.",
  },
} as const satisfies Record<string, Row>;
