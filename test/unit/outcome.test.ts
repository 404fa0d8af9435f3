import { describe, expect, it } from "vitest";
import { isBodiless, isReplayable, judgeAnswer } from "../../src/core/http/outcome.ts";
import type { ProbeRule } from "../../src/core/policy.ts";

const PROBE: ProbeRule = {
  url: "/effects/{effect_id}",
  sealUrl: null,
  notFound: "none",
  originDelayMsMax: 60_000,
};
const DEFAULT_LIST = [401, 421, 425, 429];

const plain = { releaseStatuses: DEFAULT_LIST, probe: null };
const asked = { releaseStatuses: DEFAULT_LIST, probe: PROBE };
const empty = { releaseStatuses: [], probe: null };
const generous = { releaseStatuses: [400, 409, 500, 502, 503, 520, 521], probe: PROBE };

const keep = { kind: "keep" };
const pathSpeaks = { kind: "unknown", reason: "path-status", isOrigins: false };
const askFirst = { kind: "unknown", reason: "server-error", isOrigins: true };
const freeBy = (evidence: string) => ({ kind: "release", evidence });

describe("an origin's answer", () => {
  it.each([
    200, 201, 202, 204, 205, 206, 301, 303, 304, 307, 308, 400, 403, 404, 408, 409, 410, 422, 451, 499,
  ])("of status %i is kept on every route", (status) => {
    for (const policy of [plain, asked, empty]) expect(judgeAnswer(status, policy, null)).toEqual(keep);
  });

  it.each([502, 504, 520, 522, 524, 527, 530])(
    "of status %i is the path speaking: unknown on every route, listed or not",
    (status) => {
      for (const policy of [plain, asked, empty, generous]) {
        expect(judgeAnswer(status, policy, null)).toEqual(pathSpeaks);
      }
    },
  );

  it.each([521, 523, 525, 526])(
    "of status %i is the path saying that it never reached the origin: free on every route, listed or not",
    (status) => {
      for (const policy of [plain, asked, empty, generous]) {
        expect(judgeAnswer(status, policy, null)).toEqual(freeBy("never-dispatched"));
      }
    },
  );

  it.each([500, 501, 503, 505, 507, 508, 511, 519, 528, 529, 531, 599])(
    "of status %i is kept where nobody can be asked, unknown where the origin can",
    (status) => {
      expect(judgeAnswer(status, plain, null)).toEqual(keep);
      expect(judgeAnswer(status, asked, null)).toEqual(askFirst);
    },
  );

  it.each([
    [401, "status-list"],
    [421, "protocol-none"],
    [425, "protocol-none"],
    [429, "status-list"],
  ])("of status %i frees the key by the default list, as %s", (status, evidence) => {
    for (const policy of [plain, asked]) expect(judgeAnswer(status, policy, null)).toEqual(freeBy(evidence));
  });

  it.each([421, 425])("of status %i frees the key even where no list names it", (status) => {
    for (const policy of [empty, generous]) {
      expect(judgeAnswer(status, policy, null)).toEqual(freeBy("protocol-none"));
    }
  });

  it.each([401, 429])("of status %i is kept where no list names it", (status) => {
    expect(judgeAnswer(status, empty, null)).toEqual(keep);
  });

  it.each([400, 409, 500, 503])("of status %i frees the key where the route's owner lists it", (status) => {
    expect(judgeAnswer(status, generous, null)).toEqual(freeBy("status-list"));
  });

  it.each([200, 201, 307, 401, 404, 425, 500, 502, 503, 521])(
    "of status %i with checked evidence of no effect frees the key by that",
    (status) => {
      for (const policy of [plain, asked, empty, generous]) {
        expect(judgeAnswer(status, policy, "signed-none")).toEqual(freeBy("signed-none"));
      }
    },
  );
});

describe("a status", () => {
  it.each([
    [100, false],
    [101, false],
    [199, false],
    [200, true],
    [599, true],
    [600, false],
    [200.5, false],
    [Number.NaN, false],
  ])("%d can be given again: %s", (status, expected) => {
    expect(isReplayable(status)).toBe(expected);
  });

  it("has no body by definition only where it is 204, 205 or 304", () => {
    const all = Array.from({ length: 400 }, (_, i) => 200 + i);
    expect(all.filter(isBodiless)).toEqual([204, 205, 304]);
  });
});
