import { describe, expect, it } from "vitest";
import {
  CHECK_ORDER,
  explainProblem,
  isSlug,
  lostAnswer,
  problem,
  problemBody,
  SLUGS,
} from "../../src/core/problem.ts";

/** The contract's table, in its order. */
const TABLE = [
  ["misconfigured", 500],
  ["target-refused", 400],
  ["key-missing", 400],
  ["key-invalid", 400],
  ["principal-missing", 401],
  ["request-too-large", 413],
  ["request-incomplete", 400],
  ["quota-exceeded", 429],
  ["store-unavailable", 503],
  ["key-reused", 422],
  ["not-authorized", 403],
  ["key-expired", 409],
  ["in-flight", 409],
  ["outcome-unknown", 409],
  ["answer-not-kept", 409],
  ["claim-lost", 503],
] as const;

const RETRIES = ["same-key", "same-key-later", "new-key", "fix-request", "never"];

describe("the catalogue of problems", () => {
  it("has the contract's slugs in the order of the checks", () => {
    expect(CHECK_ORDER).toEqual(TABLE.map(([slug]) => slug));
  });

  it.each(TABLE)("gives %s the status %i", (slug, status) => {
    expect(problem(slug).status).toBe(status);
  });

  it.each(SLUGS)("says in %s what a person needs and nothing that varies", (slug) => {
    const { title, detail, status, retry } = explainProblem(slug);
    expect(slug).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(title).toMatch(/^[A-Z][^.]+$/);
    expect(detail).toMatch(/^[A-Z].+\.$/);
    expect(`${title} ${detail}`).not.toMatch(/[{}<>$%\d\n]|undefined|null|\[object/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(RETRIES).toContain(retry);
  });

  it("has a text of its own for every slug", () => {
    expect(new Set(SLUGS.map((slug) => explainProblem(slug).title)).size).toBe(SLUGS.length);
    expect(new Set(SLUGS.map((slug) => explainProblem(slug).detail)).size).toBe(SLUGS.length);
  });

  it.each([
    ["key-reused", "mismatch"],
    ["key-expired", "expired"],
    ["in-flight", "in-flight"],
    ["outcome-unknown", "unknown"],
    ["claim-lost", "unknown"],
    ["key-missing", "refused"],
    ["store-unavailable", "refused"],
  ] as const)("marks %s as %s", (slug, mark) => {
    expect(problem(slug).mark).toBe(mark);
  });

  it.each([
    ["key-reused", "new-key"],
    ["key-expired", "new-key"],
    ["in-flight", "same-key-later"],
    ["outcome-unknown", "same-key-later"],
    ["claim-lost", "same-key-later"],
    ["store-unavailable", "same-key-later"],
    ["quota-exceeded", "same-key-later"],
    ["request-incomplete", "same-key"],
    ["key-missing", "fix-request"],
    ["answer-not-kept", "never"],
  ] as const)("tells after %s to retry: %s", (slug, retry) => {
    expect(explainProblem(slug).retry).toBe(retry);
  });
});

describe("the body of a problem", () => {
  it.each(SLUGS)("of %s has the five members and no other", (slug) => {
    const body = problemBody(problem(slug, 3), "/_gate");
    expect(body).toEqual({ type: `/_gate/problems/${slug}`, ...explainProblem(slug) });
    expect(Object.keys(body)).toEqual(["type", "title", "status", "detail", "retry"]);
  });

  it("carries what the gateway knows of an answer that was not kept", () => {
    const extras = { answer_status: 201, answer_size: 9_000_000, answer_digest: "d".repeat(64) };
    expect(problemBody(problem("answer-not-kept", null, extras), "/p")).toMatchObject(extras);
  });
});

describe("an answer lost by the very call that ran", () => {
  it.each([
    [true, 504],
    [false, 502],
  ])("after silence %s is an unknown outcome of status %i", (timedOut, status) => {
    const lost = lostAnswer(timedOut, 30);
    expect(lost).toMatchObject({ slug: "outcome-unknown", mark: "unknown", status });
    expect(problemBody(lost, "/p")).toMatchObject({ type: "/p/problems/outcome-unknown", status });
  });
});

describe("a slug", () => {
  it.each(["toString", "constructor", "__proto__", "", "IN-FLIGHT", "in-flight "])("is not %j", (text) => {
    expect(isSlug(text)).toBe(false);
  });

  it.each(SLUGS)("is %s", (slug) => {
    expect(isSlug(slug)).toBe(true);
  });
});
