/** What the public contract promises of every answer. The figures are written out here, not taken from the code. */
import { expect } from "vitest";
import type { Answer } from "./client.ts";
import type { HeaderPair } from "./wire.ts";

type Promised = { status: readonly number[]; mark: string | null; retryAfter: boolean };

/** Status, `Idempotency-Status` (null: the contract names none) and `Retry-After` of every refusal of guarded requests. */
const PROMISED = {
  misconfigured: { status: [500], mark: "refused", retryAfter: false },
  "target-refused": { status: [400], mark: "refused", retryAfter: false },
  "header-refused": { status: [400], mark: "refused", retryAfter: false },
  "key-missing": { status: [400], mark: "refused", retryAfter: false },
  "key-invalid": { status: [400], mark: "refused", retryAfter: false },
  "principal-missing": { status: [401], mark: "refused", retryAfter: false },
  "request-too-large": { status: [413], mark: "refused", retryAfter: false },
  "request-incomplete": { status: [400], mark: "refused", retryAfter: false },
  "quota-exceeded": { status: [429], mark: "refused", retryAfter: true },
  "store-unavailable": { status: [503], mark: "refused", retryAfter: true },
  "key-reused": { status: [422], mark: "mismatch", retryAfter: false },
  "not-authorized": { status: [403], mark: "refused", retryAfter: false },
  "key-expired": { status: [409], mark: "expired", retryAfter: false },
  "in-flight": { status: [409], mark: "in-flight", retryAfter: true },
  "outcome-unknown": { status: [409], mark: "unknown", retryAfter: true },
  "outcome-lost": { status: [502, 504], mark: "unknown", retryAfter: false },
  "answer-not-kept": { status: [409], mark: null, retryAfter: false },
} as const satisfies Record<string, Promised>;

/** A slug, or `outcome-lost`: `outcome-unknown` as the caller meets it whose own call lost its answer. */
export type Refusal = keyof typeof PROMISED;

const RETRIES = ["same-key", "same-key-later", "new-key", "fix-request", "never"];

/** The answer is the gateway's own refusal, in every member and field that the contract fixes. */
export function expectProblem(answer: Answer, refusal: Refusal, prefix = "/_oncegate"): void {
  const promised: Promised = PROMISED[refusal];
  const slug = refusal === "outcome-lost" ? "outcome-unknown" : refusal;
  const body = readObject(answer);
  expect({ slug: body.type, status: answer.status, whole: answer.whole }).toEqual({
    slug: `${prefix}/problems/${slug}`,
    status: promised.status.find((status) => status === answer.status) ?? promised.status[0],
    whole: true,
  });
  expect(answer.header("Content-Type")).toBe("application/problem+json");
  expect(answer.headerValues("Cache-Control")).toEqual(["no-store"]);
  const marks = answer.headerValues("Idempotency-Status");
  expect(marks).toEqual(promised.mark === null ? [expect.any(String)] : [promised.mark]);
  expect(answer.header("Idempotency-Replayed")).toBeNull();
  expect(body).toMatchObject({
    title: expect.stringMatching(/\S/),
    status: answer.status,
    detail: expect.stringMatching(/\S/),
    retry: expect.stringMatching(new RegExp(`^(${RETRIES.join("|")})$`)),
  });
  if (promised.retryAfter) expect(answer.header("Retry-After")).toMatch(/^[1-9]\d*$/);
}

function readObject(answer: Answer): Record<string, unknown> {
  try {
    const value = answer.json();
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return { type: `not a problem: ${answer.status} ${answer.text().slice(0, 200)}` };
  }
}

/** The answer is the origin's own, just made. */
export function expectExecuted(answer: Answer, status = 201): void {
  expect({ status: answer.status, mark: answer.header("Idempotency-Status"), whole: answer.whole }).toEqual({
    status,
    mark: "executed",
    whole: true,
  });
  expect(answer.header("Idempotency-Replayed")).toBeNull();
}

/** Fields that belong to one exchange, so that a replay need not repeat them. */
const EXCHANGE_FIELDS = new Set([
  "date",
  "cache-control",
  "connection",
  "keep-alive",
  "set-cookie",
  "retry-after",
  "age",
  "link",
  "transfer-encoding",
  "content-length",
]);

/** Fields of the answer itself: names in lower case and in order, several of one name in their own order. */
export function listEndToEnd(answer: Answer): HeaderPair[] {
  return answer.headers
    .map(([name, value]): HeaderPair => [name.toLowerCase(), value])
    .filter(([name]) => !EXCHANGE_FIELDS.has(name) && !name.startsWith("idempotency-"))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** The second answer is the first one again: status, bytes, fields, and the marks of a replay. */
export function expectReplay(replay: Answer, first: Answer): void {
  const { status } = first;
  expect({ status: replay.status, mark: replay.header("Idempotency-Status"), whole: replay.whole }).toEqual({
    status,
    mark: "replayed",
    whole: true,
  });
  expect(replay.body.equals(first.body), "the replay has the same bytes").toBe(true);
  expect(listEndToEnd(replay)).toEqual(listEndToEnd(first));
  expect(replay.headerValues("Idempotency-Replayed")).toEqual(["true"]);
  expect(replay.headerValues("Cache-Control")).toEqual(["no-store"]);
  expect(Date.parse(replay.header("Idempotency-Created") ?? "")).not.toBeNaN();
  expect(Date.parse(replay.header("Idempotency-Expires") ?? "")).not.toBeNaN();
}
