/**
 * The catalogue of refusals: the only home of HTTP status and problem text (RFC 9457). The order of
 * the first part is the order of checks and part of the contract. Text is fixed per slug: nothing from a
 * request, an exception or the origin is ever put into it. A slug is never renamed or reused.
 */
import { effectProblems } from "./effect/problems.ts";
import type { ReportField } from "./effect/report.ts";
import { operatorProblems } from "./operator/problems.ts";
import type { OperatorField } from "./operator/requests.ts";
import { reconcileProblems } from "./reconcile/problems.ts";

export type Retry = "same-key" | "same-key-later" | "new-key" | "fix-request" | "never";

/** What `Idempotency-Status` says beside a problem. */
export type ProblemMark = "unprotected" | "refused" | "mismatch" | "expired" | "in-flight" | "unknown";

export type Row = {
  status: number;
  retry: Retry;
  mark: ProblemMark;
  title: string;
  detail: string;
};

const guarded = {
  misconfigured: {
    status: 500,
    retry: "same-key-later",
    mark: "refused",
    title: "The gateway is not configured",
    detail:
      "Its settings have a mistake, so it forwards nothing. Its log names each mistake. Nothing was sent.",
  },
  "target-refused": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The target has two readings",
    detail:
      "Dot segments, a backslash, an encoded slash in a matched part, a second host or user information make a target that two servers read differently. Nothing was sent.",
  },
  "key-missing": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The idempotency key is missing",
    detail:
      "This route needs an idempotency key. Make one for the operation, keep it, and send it with every try.",
  },
  "key-invalid": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The idempotency key is not valid",
    detail:
      "Send one field with one key: a quoted string or bare text of visible ASCII characters without comma or space, within the allowed length. Nothing was sent.",
  },
  "principal-missing": {
    status: 401,
    retry: "fix-request",
    mark: "refused",
    title: "The caller is not known",
    detail:
      "A key belongs to a caller, and this request carries no valid credential to tell whose it is. Nothing was sent.",
  },
  "request-too-large": {
    status: 413,
    retry: "fix-request",
    mark: "refused",
    title: "The request body is too large",
    detail: "The body is over this route's limit. The key stays unused.",
  },
  "request-incomplete": {
    status: 400,
    retry: "same-key",
    mark: "refused",
    title: "The request body ended early",
    detail: "Not all of the body arrived, or it could not be decoded. The key stays unused.",
  },
  "quota-exceeded": {
    status: 429,
    retry: "same-key-later",
    mark: "refused",
    title: "Too many new keys",
    detail:
      "This caller has used its quota of new keys for now. Known keys still get their answers. Nothing was sent.",
  },
  "store-unavailable": {
    status: 503,
    retry: "same-key-later",
    mark: "refused",
    title: "The key could not be claimed",
    detail: "The store did not take the claim, or holds a record this version can't read. Nothing was sent.",
  },
  "key-reused": {
    status: 422,
    retry: "new-key",
    mark: "mismatch",
    title: "The key belongs to another request",
    detail: "This key was first used with a different request. A new operation needs a new key.",
  },
  "not-authorized": {
    status: 403,
    retry: "fix-request",
    mark: "refused",
    title: "The caller may not see this answer",
    detail: "The key is known, but the caller is not allowed to have its answer now.",
  },
  "key-expired": {
    status: 409,
    retry: "new-key",
    mark: "expired",
    title: "The key has expired",
    detail:
      "The answer to this key is no longer kept and the operation is not run again. A new operation needs a new key.",
  },
  "in-flight": {
    status: 409,
    retry: "same-key-later",
    mark: "in-flight",
    title: "The first request is still running",
    detail: "A request with this key has not ended yet. Retry with the same key to get its answer.",
  },
  "outcome-unknown": {
    status: 409,
    retry: "same-key-later",
    mark: "unknown",
    title: "The outcome is not known",
    detail:
      "An earlier try may have had its effect, and its answer was lost. It is not run again. Retry with the same key: it gets the answer once that is known.",
  },
  "answer-not-kept": {
    status: 409,
    retry: "never",
    mark: "refused",
    title: "The answer was not kept",
    detail: "The operation ended and was not run again, but its answer could not be kept for replay.",
  },
  "claim-lost": {
    status: 503,
    retry: "same-key-later",
    mark: "unknown",
    title: "This try lost its claim",
    detail: "Before this try could store its answer another one took over. Retry with the same key.",
  },
} as const satisfies Record<string, Row>;

/** Problems outside the order of checks: the gateway's own endpoints, and defects. */
const others = {
  "not-found": {
    status: 404,
    retry: "never",
    mark: "refused",
    title: "Nothing here",
    detail: "The gateway has no such endpoint, or nothing by that name for this caller.",
  },
  "header-refused": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "A header field can't be forwarded",
    detail:
      "The Connection field names a field that the request depends on, a field holds a control character, or the body has a transfer coding other than chunked. Nothing was sent.",
  },
  "method-not-allowed": {
    status: 405,
    retry: "fix-request",
    mark: "refused",
    title: "Not with this method",
    detail: "The endpoint exists, but not for this method.",
  },
  "operator-unauthorized": {
    status: 401,
    retry: "fix-request",
    mark: "refused",
    title: "An operator token is needed",
    detail: "Send a configured operator token as a bearer token.",
  },
  "operator-forbidden": {
    status: 403,
    retry: "never",
    mark: "refused",
    title: "The operator lacks the role",
    detail: "The token is known, but it has not the role that this endpoint needs.",
  },
  ...effectProblems,
  ...operatorProblems,
  ...reconcileProblems,
  "query-invalid": {
    status: 400,
    retry: "fix-request",
    mark: "refused",
    title: "The query is not valid",
    detail: "A parameter is missing, or is not what this endpoint takes.",
  },
  unsupported: {
    status: 501,
    retry: "never",
    mark: "refused",
    title: "Not with these sinks",
    detail:
      "The ledger's entries are kept where this deployment can't read them: only its database can be read, proven and pruned.",
  },
  "ledger-unavailable": {
    status: 503,
    retry: "same-key-later",
    mark: "refused",
    title: "The ledger did not answer",
    detail: "The ledger's object or its database did not answer. Guarded requests go on without it.",
  },
  "origin-unreachable": {
    status: 502,
    retry: "never",
    mark: "unprotected",
    title: "The origin did not answer",
    detail:
      "This request is not guarded by a key, and the origin gave no answer that could be passed on. It may have had its effect.",
  },
  internal: {
    status: 500,
    retry: "same-key-later",
    mark: "refused",
    title: "The gateway failed",
    detail:
      "A defect in the gateway ended this request. The incident id names its log line. Retry with the same key.",
  },
} as const satisfies Record<string, Row>;

export type GuardedSlug = keyof typeof guarded;
export type Slug = GuardedSlug | keyof typeof others;

const catalogue: Record<Slug, Row> = { ...guarded, ...others };

/** The slugs of the checks, in the order in which they are made. */
export const CHECK_ORDER = Object.keys(guarded) as readonly GuardedSlug[];

export const SLUGS = Object.keys(catalogue) as readonly Slug[];

/** True for a text that names a problem: the last part of a problem's `type`. */
export function isSlug(text: string): text is Slug {
  return Object.hasOwn(catalogue, text);
}

/** Members that a problem may carry beside the five fixed ones. All are numbers, methods, words of the settings or ids made by the gateway. */
export type ProblemExtras = {
  answer_status?: number;
  answer_size?: number;
  answer_digest?: string;
  incident?: string;
  sinks?: string;
  allow?: readonly string[];
  index?: number;
  field?: ReportField | OperatorField;
};

export type Problem = {
  slug: Slug;
  status: number;
  mark: ProblemMark;
  retryAfterS: number | null;
  extras: ProblemExtras;
};

/** The problem a slug stands for. `retryAfterS` is whole seconds, at least 1, for the slugs whose answer carries it. */
export function problem(slug: Slug, retryAfterS: number | null = null, extras: ProblemExtras = {}): Problem {
  const row = catalogue[slug];
  return { slug, status: row.status, mark: row.mark, retryAfterS, extras };
}

/** The same unknown outcome as its own first caller is told it: 504 after silence, 502 otherwise. */
export function lostAnswer(timedOut: boolean, retryAfterS: number): Problem {
  return { ...problem("outcome-unknown", retryAfterS), status: timedOut ? 504 : 502 };
}

export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  retry: Retry;
} & ProblemExtras;

/** The JSON members of a problem (RFC 9457 section 3.1). `prefix` is where the gateway serves its problem pages. */
export function problemBody(problem: Problem, prefix: string): ProblemBody {
  const row = catalogue[problem.slug];
  return {
    type: `${prefix}/problems/${problem.slug}`,
    title: row.title,
    status: problem.status,
    detail: row.detail,
    retry: row.retry,
    ...problem.extras,
  };
}

/** What the page of a problem shows. */
export function explainProblem(slug: Slug): { title: string; status: number; detail: string; retry: Retry } {
  const { title, status, detail, retry } = catalogue[slug];
  return { title, status, detail, retry };
}
