/** Refusals of reported effects, as part of the catalogue in `problem.ts`. */
import type { Row } from "../problem.ts";

export const effectProblems = {
  "effect-token-refused": {
    status: 401,
    retry: "never",
    mark: "refused",
    title: "The effect token is not taken",
    detail:
      "Send the token that came with the request as a bearer token, within a day, while the operation is kept. Another attempt may have followed the one it was made for. Nothing was recorded.",
  },
  "effects-refused": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The report has a bad entry",
    detail:
      "One entry of the report is not as it has to be: its index, from zero, and the member that is wrong are named here. Nothing of the report was recorded.",
  },
  "effects-too-large": {
    status: 413,
    retry: "fix-request",
    mark: "refused",
    title: "The report is too large",
    detail: "Send the effects in several reports. Nothing of this one was recorded.",
  },
  "effects-unavailable": {
    status: 503,
    retry: "same-key-later",
    mark: "refused",
    title: "The report could not be recorded",
    detail:
      "The store did not take the report, or has no room until the ledger has taken what was reported before. Nothing may be lost by sending the same report again.",
  },
} as const satisfies Record<string, Row>;
